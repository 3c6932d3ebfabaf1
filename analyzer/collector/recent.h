/* The rows of the last while, kept in memory beside a sink that gets all of them: for what one
 * wants to know of a run that goes on. Rows without a time (facts, warnings) stay; the others go
 * with each interval, and when they fill their room the rest of the interval is left out. Texts are
 * those of the inner sink. Cost: a copy of each row. */
#ifndef GPUPROF_COLLECTOR_RECENT_H
#define GPUPROF_COLLECTOR_RECENT_H

#include "analyzer/profile/rows.h"

struct recent;

struct recent *recent_open(struct sink inner, size_t most_bytes, struct err *e);
struct sink recent_sink(struct recent *r);
/* From here on rows are kept, however many, and not passed on: in a copy of the process, to add
 * what the real one puts only at the end. */
void recent_keep_only(struct recent *r);
void recent_next(struct recent *r);          /* a new interval begins */
size_t recent_bytes(const struct recent *r); /* of the interval's rows */
/* All that is kept, in the order in which it came. -1 with *e set. */
int recent_pour(const struct recent *r, struct sink *to, struct err *e);
void recent_close(struct recent *r);

#endif
