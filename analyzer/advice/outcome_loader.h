/* Shared by rules about a loader's workers, and about libraries that have a training loop of their
 * own. */
#ifndef GPUPROF_ADVICE_OUTCOME_LOADER_H
#define GPUPROF_ADVICE_OUTCOME_LOADER_H

#include "analyzer/advice/outcome.h"
#include "analyzer/queries/input/feed.h"
#include "analyzer/queries/input/loader.h"

/* Returns true and fills *l if the GPU waits for workers of a loader; otherwise sets o->why. */
bool outcome_awaited_loader(const struct facts *f, struct arena *arena, struct outcome *o,
                            struct query_loader *l);
/* Adds the evidence that these rules share: how long the GPU waits, and for how many workers. */
void outcome_awaited_evidence(const struct facts *f, struct outcome *o,
                              const struct query_loader *l);

/* Fills the remedy with what is known of the loader: which library makes it, and its conditions. */
void outcome_of_loader(const struct facts *f, struct arena *arena, struct outcome *o,
                       const struct feed *feed);
/* Makes the remedy "use n workers". `feed`: NULL if no hook recorded the loader. */
void outcome_set_workers(const struct facts *f, struct arena *arena, struct outcome *o,
                         const struct feed *feed, int n);
/* Returns the library that makes the loader if that library never starts workers on the CPU,
 * whatever the settings; else NULL. */
const char *outcome_refuses_workers(const struct facts *f, struct arena *arena,
                                    const struct feed *feed);
/* Call it if the code of `package` waits at `place`, e.g. "transformers/trainer.py:1919". If that
 * is the package's own training loop, the remedy becomes the package's settings. */
void outcome_waits_in(struct outcome *o, const char *place, const char *package);

#endif
