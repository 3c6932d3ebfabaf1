/* Private to verdict*.c. Texts belong to the arena. */
#ifndef GPUPROF_ADVICE_VERDICT_H
#define GPUPROF_ADVICE_VERDICT_H

#include "analyzer/advice/advice.h"

void verdict_not_enough(struct advice *a, const char *verdict, const char *why, const char *next);
/* " The largest saving: TITLE, so much.", "What to change first" in its place where another finding
 * may save more, or "" without a finding; and that finding's remedy, or what to record:
 * verdict_next.c. */
const char *verdict_saving(struct advice *a);
const char *verdict_next(struct advice *a);
/* " One kernel takes 7.00 ms (70 %): NAME, in 'OPERATOR'.", where that is more than half, or "". */
const char *verdict_one_kernel(struct advice *a);
/* Where start-up is most of a window: the same of the second finding, or "". */
const char *verdict_rest(struct advice *a);
/* Kernels were launched but not recorded, or nothing was launched at all. */
void verdict_no_gpu_work(struct advice *a);
/* The virtual GPU saw no call, or stopped the program at one that it lacks: why, and what to do. */
bool verdict_unreached(struct advice *a);
/* Too many launches in the steps have no record of the GPU's work. */
bool verdict_launches_failed(struct advice *a); /* most of what it launches never runs */
bool verdict_launches_lost(struct advice *a);
/* Most of what seems idle time between queued kernels lies amid graphs; and that is most of what is
 * lost. */
bool verdict_graphs_lost(struct advice *a);
/* What of the evidence is missing, as a sentence behind the reason, or "". */
const char *verdict_missing(struct advice *a);
/* Records are missing (health_kinds.h): the verdict of a recording that shows nothing else; and the
 * reason with a sentence about it, as it is where none are missing. */
bool verdict_records_missing(struct advice *a);
const char *verdict_with_records(struct advice *a, const char *why);
/* " 41.0 ms of 62.0 ms per step: memory_map() train.py:9, ...", the line that takes most of the
 * step besides the model's own computing, or "". A tenth at least. */
const char *verdict_line(struct advice *a);
const char *verdict_other_line(struct advice *a); /* of the steps that do not count; or "" */
/* verdict_cpu.c: of a program that computes without a GPU; the same where no step was found. */
void verdict_cpu(struct advice *a);
void verdict_cpu_no_steps(struct advice *a);

#endif
