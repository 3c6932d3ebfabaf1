/* What cuDNN does by itself while it searches for an algorithm: its calls, its waits, its work.
 * Cost: one pass over library calls, operations and gaps. */
#ifndef GPUPROF_QUERIES_SEARCH_H
#define GPUPROF_QUERIES_SEARCH_H

#include "analyzer/queries/query.h"

/* A call of cudnnFind... (not Get...: the heuristic), or a plan that is executed to be timed. */
bool query_searches(const struct timeline *t, const struct call *c);

struct query_search {
    const bool *call_marks, *op_marks; /* by call, by operation: made by a search. NULL: no memory,
                                          or no searches */
    int64_t sync_ns, alloc_ns;         /* idle time of the device after waits inside, and while
                                          memory comes and goes; used steps */
};
struct query_search query_search(const struct facts *f, struct arena *arena);

/* Searches by measuring: each ran the candidates once, so the profile has their
 * kernels. */
struct query_trials { /* calls of the timeline's, in its order; the array is the arena's */
    const struct call **at;
    size_t count;
};
/* How many of the used steps behind the first few bring a convolution of sizes that no step before
 * had, in per cent; 0 where sizes were not recorded. Measuring algorithms does not pay then. */
double query_new_sizes_pct(const struct facts *f);

/* None without memory. */
struct query_trials query_trials(const struct facts *f, struct arena *arena);
/* ns of the shortest kernel on tensor cores that one of them ran for the same convolution: the same
 * pass, type and sizes. 0: none did. */
double query_tried_ns(const struct facts *f, const struct query_trials *x,
                      const struct call *convolution);

#endif
