/* Keeps recent rows in memory, beside a sink that gets all of them, to answer questions about a
 * running program. Rows without a time (facts, warnings) stay; the others are dropped at each new
 * interval. If they fill most_bytes, the rest of the interval is left out. Texts are those of the
 * inner sink. Cost: a copy of each row. */
#ifndef GPUPROF_COLLECTOR_RECENT_H
#define GPUPROF_COLLECTOR_RECENT_H

#include "analyzer/profile/rows.h"

struct recent;

struct recent *recent_open(struct sink inner, size_t most_bytes, struct err *e);
struct sink recent_sink(struct recent *r);
/* From now on rows are kept, without a limit, and not passed on. For a forked copy of the process,
 * which adds the rows that the original puts only at the end. */
void recent_keep_only(struct recent *r);
void recent_next(struct recent *r);          /* begins a new interval */
size_t recent_bytes(const struct recent *r); /* size of the interval's rows */
/* Puts all kept rows into `to`: those without a time, then the others, each in the order in which
 * they came. -1 with *e set. */
int recent_pour(const struct recent *r, struct sink *to, struct err *e);
void recent_close(struct recent *r);

#endif
