/* The summary of a recording: those of its rows with which a job's ranks are compared. It contains
 * its collectives and the calls that launched them, computing beside them, step marks, batches, its
 * processes and devices, and names of its kernels. It takes a few KB per step. Read as a recording,
 * it yields the same facts about ranks as all rows do. Cost: one pass over the rows. */
#ifndef GPUPROF_REDUCE_SUMMARY_H
#define GPUPROF_REDUCE_SUMMARY_H

#include "analyzer/timeline/timeline.h"

/* False if a summary is not enough: without GPU work ranks are compared by all
 * ranges of their threads. */
bool summary_suffices(const struct timeline *t);
/* Pours the summary into `out`. -1 with *e set. */
int summary_write(const struct timeline *t, struct sink *out, struct err *e);
/* GPU time of the process with the most. It decides which rank is analysed if
 * no rank marks its steps. */
int64_t summary_work_ns(const struct timeline *t);

#endif
