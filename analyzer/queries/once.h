/* Work that frameworks do once, other than calls that are slow the first time: capturing CUDA
 * graphs, and compiling kernels when they are first used. */
#ifndef GPUPROF_QUERIES_ONCE_H
#define GPUPROF_QUERIES_ONCE_H

#include "analyzer/measure/spans.h"
#include "analyzer/queries/query.h"

/* Captures in the steps' process, sorted by start. Each lasts from its begin to the end of its
 * graph's instantiation. */
struct query_captures {
    struct span *at; /* the caller frees it */
    size_t n;
};
/* Cost: one pass over the calls. -1: out of memory. */
int query_captures(const struct facts *f, struct query_captures *c);

/* Number of captures that begin in used steps. */
size_t query_captures_seen(const struct facts *f);

/* By string id of a kernel's name: index of its first operation if the kernel seems to be compiled
 * on first use. That is, a framework compiles kernels of that name, and the host kept the GPU
 * waiting for long_ns before no later operation of that name. Otherwise TL_NONE. The caller frees
 * it; NULL: out of memory. Cost: one pass over operations, one over gaps. */
uint32_t *query_first_compiled(const struct facts *f, int64_t long_ns);

#endif
