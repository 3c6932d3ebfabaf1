/* The passes about steps: which there are, how long each is, which count. Each returns 0, or -1
 * with *e set; without an e -1 means out of memory. Private to facts/. */
#ifndef GPUPROF_FACTS_STEPS_STEPS_H
#define GPUPROF_FACTS_STEPS_STEPS_H

#include "analyzer/facts/passes.h"

int steps_find(struct facts *f,
               struct err *e);            /* steps.c: runs those below, but for the last two */
int steps_drop_deserted(struct facts *f); /* steps_deserted.c; -1: out of memory */
int steps_drop_profiled(struct facts *f); /* steps_profiled.c; -1: out of memory */
int steps_lengths(struct facts *f);       /* -1: out of memory; steps_length.c */
/* steps_choose.c, -1: out of memory. Which steps count, and their statistics; the median that
 * detection alone would give, by the same rules. */
int steps_choose(struct steps *s, bool on_cpu);
int steps_find_long(struct steps *s, bool on_cpu); /* steps_long.c, after what counts is chosen */
int steps_median_detected(const struct detected *d, int64_t *median);
/* steps_batches.c, -1: out of memory. From one batch of a loader to the next, where no step is
 * marked and no GPU was at work; count stays 0 where there are too few. */
int steps_from_batches(struct facts *f);
/* steps_window.c, -1: out of memory. No step repeats: the window takes its place; count stays 0
 * where no GPU was at work. */
int steps_from_window(struct facts *f);
/* The window: from the GPU's first work to its last, and wider if setting up belongs to it. */
struct span steps_window(const struct facts *f);
void steps_explain_other(struct facts *f); /* steps_choose.c */
void steps_explain_long(struct facts *f);  /* steps_long.c, once gaps are charged */

#endif
