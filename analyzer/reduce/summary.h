/* The summary of a recording: of all its rows those that a job's other ranks are compared with.
 * Its collectives with the calls that launched them, when it computes beside them, its marks of
 * steps, its batches, where it ran, and what its kernels are called. A few KB per step; read as a
 * recording, it gives the same facts about ranks as all rows do. Cost: one pass over the rows. */
#ifndef GPUPROF_REDUCE_SUMMARY_H
#define GPUPROF_REDUCE_SUMMARY_H

#include "analyzer/timeline/timeline.h"

/* Whether a summary says all: without work of a GPU the ranks are compared by every range of their
 * threads. */
bool summary_suffices(const struct timeline *t);
/* Pours it into `out`. -1 with *e set. */
int summary_write(const struct timeline *t, struct sink *out, struct err *e);
/* GPU time of the process that has most of it: who is analysed where no rank marks its steps. */
int64_t summary_work_ns(const struct timeline *t);

#endif
