/* Work of DeepSpeed's ZeRO 3 on the host around each module: it gathers the weights before, and
 * frees them after. Recognised by the NVTX ranges of its hooks. Cost: one pass over ranges, one
 * over gaps; a sort of the ranges found. */
#ifndef GPUPROF_QUERIES_TRAINING_SHARDING_H
#define GPUPROF_QUERIES_TRAINING_SHARDING_H

#include "analyzer/facts/facts.h"

/* Sums over the used steps; nested hooks count once. */
struct query_sharding {
    int64_t host_ns;      /* time of the host in the hooks */
    int64_t idle_ns;      /* the part of host_ns in which the GPU waits for the host */
    int64_t *host_of_gap; /* for each of f->gaps: the share of idle_ns that is other host work */
};
/* -1: out of memory. */
int query_sharding(const struct facts *f, struct arena *arena, struct query_sharding *s);
/* True if the hooks take enough time for a finding of their own. */
bool query_shards(const struct facts *f, const struct query_sharding *s);

/* True for a range that waits for sharded weights or gradients. */
bool query_waits_for_shards(const char *range);
/* The library that shards the weights, "ZeRO 3", "DeepSpeed" or "FSDP", as recorded by the hook;
 * NULL: none. With it one CUDA graph cannot hold the step, because weights move in memory, or the
 * host reads norms and flags. */
const char *query_sharding_engine(const struct facts *f);

#endif
