/* What DeepSpeed's ZeRO 3 does on the host around each module: it gathers the weights before, and
 * lets them go behind it. Told by the NVTX ranges of these hooks. Cost: one pass over ranges, one
 * over gaps; sorting the ranges found. */
#ifndef GPUPROF_QUERIES_TRAINING_SHARDING_H
#define GPUPROF_QUERIES_TRAINING_SHARDING_H

#include "analyzer/facts/facts.h"

/* Over the used steps; a hook inside another counts once. */
struct query_sharding {
    int64_t host_ns;      /* the host in the hooks */
    int64_t idle_ns;      /* of that, the GPU waits for the host */
    int64_t *host_of_gap; /* of each of f->gaps: its part of idle_ns that is other work */
};
/* -1: out of memory. */
int query_sharding(const struct facts *f, struct arena *arena, struct query_sharding *s);
/* It is worth a finding of its own. */
bool query_shards(const struct facts *f, const struct query_sharding *s);

/* A range that waits for weights or gradients which are shared out. */
bool query_waits_for_shards(const char *range);
/* What shares out the weights, "ZeRO 3", "DeepSpeed" or "FSDP", as the hook tells; NULL. With it
 * weights do not stay in place, or the host reads norms and flags: no one graph holds the step. */
const char *query_sharding_engine(const struct facts *f);

#endif
