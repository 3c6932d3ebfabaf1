/* Work that cuDNN does on its own while it searches for an algorithm: its calls, waits and kernels.
 * Cost: one pass over library calls, operations and gaps. */
#ifndef GPUPROF_QUERIES_SEARCH_H
#define GPUPROF_QUERIES_SEARCH_H

#include "analyzer/queries/query.h"

/* True for a call of cudnnFind... (not cudnnGet..., the heuristic), or for a plan that
 * runs only to be timed. */
bool query_searches(const struct timeline *t, const struct call *c);

struct query_search {
    /* by call, by op: made by a search. NULL: out of memory, or no search */
    const bool *call_marks, *op_marks;
    int64_t sync_ns, alloc_ns; /* idle time of the device in used steps, after waits
                                  inside searches, and while they allocate or free memory */
};
struct query_search query_search(const struct facts *f, struct arena *arena);

/* Operators of a convolution that time plans, where only operators and CUDA's calls were recorded: they
 * ask how long the time between two events was. Indices of ranges, in the order of their threads. */
struct query_operators {
    const uint32_t *at;
    size_t count;
};
bool query_operators_search(const struct facts *f); /* there is one */
struct query_operators query_search_operators(const struct facts *f, struct arena *arena);
/* Marks the CUDA calls inside them. */
void query_mark_operators(const struct facts *f, const struct query_operators *searches,
                          bool *calls);

/* Searches by measuring. Each ran the candidates once, so the profile contains their kernels. */
struct query_trials { /* pointers to calls of the timeline, in its order; the
                         array is from the arena */
    const struct call **at;
    size_t count;
};
/* Per cent of the used steps, after the first few, that contain a convolution with sizes that
 * no earlier step had; 0 if sizes were not recorded. If sizes keep changing, measuring
 * algorithms does not pay. */
double query_new_sizes_pct(const struct facts *f);

/* count 0 if out of memory. */
struct query_trials query_trials(const struct facts *f, struct arena *arena);
/* Duration in ns of the shortest tensor-core kernel that a search ran for the same convolution:
 * same pass, type and sizes. 0: none. */
double query_tried_ns(const struct facts *f, const struct query_trials *x,
                      const struct call *convolution);

#endif
