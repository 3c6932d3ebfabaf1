/* What frameworks do once, beside calls that are long because they are first: CUDA graphs are
 * captured, kernels are compiled when they are first used. */
#ifndef GPUPROF_QUERIES_ONCE_H
#define GPUPROF_QUERIES_ONCE_H

#include "analyzer/measure/spans.h"
#include "analyzer/queries/query.h"

/* Captures of the steps' process, each from its begin to the end of its graph's instantiation, by
 * start. */
struct query_captures {
    struct span *at; /* free() it */
    size_t n;
};
/* Cost: one pass over the calls. -1: out of memory. */
int query_captures(const struct facts *f, struct query_captures *c);

/* How many of them begin in used steps. */
size_t query_captures_seen(const struct facts *f);

/* By the string id of a kernel's name: its first operation, if a framework compiles kernels of that
 * name when they are first used, and the host kept the GPU waiting before no other of them; else
 * TL_NONE. free() it; NULL: out of memory. Cost: one pass over operations, one over gaps. */
uint32_t *query_first_compiled(const struct facts *f, int64_t long_ns);

#endif
