/* What the rules share about a loader's workers, and about libraries that have a loop of their own. */
#ifndef GPUPROF_ADVICE_OUTCOME_LOADER_H
#define GPUPROF_ADVICE_OUTCOME_LOADER_H

#include "analyzer/advice/outcome.h"
#include "analyzer/queries/input/feed.h"
#include "analyzer/queries/input/loader.h"

/* Does the GPU wait for workers of the loader? Where not, the outcome says why. */
bool outcome_awaited_loader(const struct facts *f, struct arena *arena, struct outcome *o,
                            struct query_loader *l);
/* What the rules about them begin with: how long it waits, for how many. */
void outcome_awaited_evidence(const struct facts *f, struct outcome *o,
                              const struct query_loader *l);

/* The remedy is about this loader: who makes it, and what is so of it. */
void outcome_of_loader(const struct facts *f, struct arena *arena, struct outcome *o,
                       const struct feed *feed);
/* It is to have n workers. `feed`: NULL where no hook told of the loader. */
void outcome_set_workers(const struct facts *f, struct arena *arena, struct outcome *o,
                         const struct feed *feed, int n);
/* The library that makes the loader, if it starts no workers on the CPU whatever it is told; NULL.
 */
const char *outcome_refuses_workers(const struct facts *f, struct arena *arena,
                                    const struct feed *feed);
/* A package waits at this place, "transformers/trainer.py:1919". Where that is the package's own loop
 * its settings are the remedy. */
void outcome_waits_in(struct outcome *o, const char *place, const char *package);

#endif
