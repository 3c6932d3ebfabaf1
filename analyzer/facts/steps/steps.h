/* The passes that find the steps, their lengths, and which of them are used. Each returns 0, or -1
 * with *e set; if it takes no e, -1 means out of memory. Private to facts/. */
#ifndef GPUPROF_FACTS_STEPS_STEPS_H
#define GPUPROF_FACTS_STEPS_STEPS_H

#include "analyzer/facts/passes.h"
#include "analyzer/facts/steps/step_marks.h"

int steps_find(struct facts *f,
               struct err *e); /* steps.c; calls all passes below but the two explain functions */
/* steps_focus.c. Chooses the process, the device and the training thread: those of the rank that the
 * user asked for, otherwise those of the marks. */
int steps_focus(struct facts *f, struct mark_group *marks, struct err *e);
int steps_drop_after_rank_death(struct facts *f); /* steps_deserted.c */
int steps_drop_profiled(struct facts *f);         /* steps_profiled.c */
int steps_lengths(struct facts *f);               /* steps_length.c */
/* steps_choose.c. Chooses which steps are used, and computes their statistics. on_cpu: the
 * program ran without a GPU. */
int steps_choose(struct steps *s, bool on_cpu);
/* steps_long.c; called by steps_choose once it has chosen */
int steps_find_long(struct steps *s, bool on_cpu);
/* *median: the median step of the detected steps, chosen by the same rules; 0 = none. */
int steps_median_detected(const struct detected *d, int64_t *median);
/* steps_batches.c. If no step is marked and no GPU worked: steps from one batch of a loader to the
 * next. count stays 0 if there are too few. */
int steps_from_batches(struct facts *f);
/* steps_passes.c. If there are none of these either: steps from one backward pass to the next. count stays 0 if there are too
 * few. */
int steps_from_passes(struct facts *f);
/* steps_window.c. If no step repeats: one step that covers the window. count
 * stays 0 if no GPU worked. */
int steps_from_window(struct facts *f);
/* The time from the GPU's first work to its last, extended by set-up calls that belong to it. */
struct span steps_window(const struct facts *f);
void steps_explain_other(struct facts *f); /* steps_choose.c */
void steps_explain_long(struct facts *f);  /* steps_long.c; call after the gaps are charged */

#endif
