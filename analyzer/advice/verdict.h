/* Private to verdict*.c. All texts belong to the arena of the advice. */
#ifndef GPUPROF_ADVICE_VERDICT_H
#define GPUPROF_ADVICE_VERDICT_H

#include "analyzer/advice/advice.h"

/* The time of these parts of the step (bits of enum part), in ns; the share of a time in the step,
 * in percent. */
int64_t verdict_parts_ns(const struct advice *a, uint32_t parts);
double verdict_share(const struct advice *a, int64_t ns);
/* For parts in which the GPU waits for the host: what the host does then, if that is one thing, else
 * NULL; and its parts, " (launches 62 %, other work 22 %)", or "". */
const char *verdict_host_clause(const struct advice *a, uint32_t parts);
const char *verdict_host_parts(struct advice *a, uint32_t parts);
void verdict_not_enough(struct advice *a, const char *verdict, const char *why, const char *next);
/* verdict_saving returns " The largest saving: TITLE, TIME.", with "What to change first" instead
 * if another finding may save more, or "" without a finding. verdict_next returns that finding's
 * remedy, or what to record. Both in verdict_next.c. */
const char *verdict_saving(struct advice *a);
const char *verdict_next(struct advice *a);
/* Returns " One kernel takes 7.00 ms (70 %): NAME, in 'OPERATOR'." if it takes more than half of
 * the step, or "". */
const char *verdict_one_kernel(struct advice *a);
/* For windows that are mostly start-up: returns the saving of the second finding, or "". */
const char *verdict_rest(struct advice *a);
/* Writes the verdict if kernels were launched but not recorded, or if nothing was launched. */
void verdict_no_gpu_work(struct advice *a);
/* For recordings that show little: if how the program ended is the cause, says so as the reason,
 * whatever else the recording looks like. */
void verdict_ended(struct advice *a);
/* Writes the verdict and returns true if the virtual GPU saw no call, or stopped the program at a
 * call that it lacks. */
bool verdict_unreached(struct advice *a);
/* Each writes the verdict and returns true if more than ADVICE_LOST_RECORDS_PCT % of the launches
 * failed (so that the GPU never ran them), or of the GPU's records of launches are missing. */
bool verdict_launches_failed(struct advice *a);
bool verdict_launches_lost(struct advice *a);
/* The same if most of the idle time between queued kernels lies within launched graphs and takes
 * more than that share of the step: then records of the graphs' kernels are missing. */
bool verdict_graphs_lost(struct advice *a);
/* Returns a sentence about missing evidence, to follow the reason, or "". */
const char *verdict_missing(struct advice *a);
/* For a window: a sentence about what the host does before it, if that takes longer than the window,
 * or "". */
const char *verdict_before(struct advice *a);
/* verdict_records_missing writes the verdict and returns true if records are missing
 * (health_kinds.h) and the recording shows nothing else. verdict_with_records returns the reason,
 * with a sentence about missing records if there are any. */
bool verdict_records_missing(struct advice *a);
const char *verdict_with_records(struct advice *a, const char *why);
/* Returns " 41.0 ms of 62.0 ms per step: memory_map() train.py:9, ...", the line that takes most of
 * the step besides the model's own computing, or "". It needs at least a tenth of the step. */
const char *verdict_line(struct advice *a);
/* " By line: 54 % train.py:8, in torch.Sequential.forward (computes); ...", the lines that take a tenth of the step and more; "":
 * none. */
const char *verdict_computing_lines(struct advice *a);
const char *verdict_other_line(struct advice *a); /* the same in steps that do not count */
/* For programs that compute without a GPU: with steps, and without (verdict_cpu.c). */
void verdict_cpu(struct advice *a);
void verdict_cpu_no_steps(struct advice *a);

#endif
