/* What the rules about a loader's workers share. */
#ifndef GPUPROF_ADVICE_OUTCOME_LOADER_H
#define GPUPROF_ADVICE_OUTCOME_LOADER_H

#include "analyzer/advice/outcome.h"
#include "analyzer/queries/input/loader.h"

/* Does the GPU wait for workers of the loader? Where not, the outcome says why. */
bool outcome_awaited_loader(const struct facts *f, struct arena *arena, struct outcome *o,
                            struct query_loader *l);
/* What the rules about them begin with: how long it waits, for how many. */
void outcome_awaited_evidence(const struct facts *f, struct outcome *o,
                              const struct query_loader *l);

#endif
