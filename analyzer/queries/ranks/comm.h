/* Collectives as several rules see them. */
#ifndef GPUPROF_QUERIES_RANKS_COMM_H
#define GPUPROF_QUERIES_RANKS_COMM_H

#include "analyzer/queries/query.h"

/* Collectives of the analysed device. True when they are so many that launching them one by one
 * costs: the idle time before them, and before the copies that fill their buffers, is ops->idle_ns.
 */
/* A collective that hands out what one rank has, told by its kernel or its recorded call. */
bool query_is_broadcast(const struct facts *f, uint32_t op);
/* A copy within the device that fills the buffer of the collective right behind it (one for each
 * parameter where gradients are not bucketed), or that fills or empties that of a broadcast. */
bool query_fills_buffer(const struct facts *f, uint32_t op);
bool query_collectives_scattered(const struct facts *f, struct query_ops *ops);

/* The collectives of one kind on the analysed device. */
struct query_comm {
    struct query_ops ops;
    int64_t exposed_ns; /* per step: with no compute kernel beside them; with the waiting for each
                           other, without that for a late rank */
    int64_t late_ns;    /* per step: for a late rank */
};
struct query_comm query_comm(const struct facts *f, enum comm_kind kind);

/* Kernels in which all ranks send to all (embeddings, experts), or of which nothing says for whom:
 * sends and receives of a pipeline look alike. */
struct query_ops query_all_with_all(const struct facts *f);
bool query_sends_to_ranks(const struct facts *f, uint32_t op);

/* Time per step in kernels that send and receive, of which nothing says for whom: no call that was
 * recorded with them, and no operator of the program. */
int64_t query_unnamed_sends(const struct facts *f, struct arena *arena);

/* The analysed device among the ranks, NULL when it is alone. */
const struct rank_facts *query_own_rank(const struct facts *f);

/* The collectives of one ordinary step of the analysed device whose call and kernel were both
 * recorded, in the order of the calls. */
struct query_exchange {
    uint32_t step; /* index, TL_NONE: none recorded */
    uint32_t *at;  /* indices into the timeline's collectives */
    size_t count;
    int64_t bytes, largest_bytes;
    int64_t least_bytes; /* smaller ones are no gradients: a loss or a norm, once a step */
    int64_t fastest_ns;  /* shortest of all: what one costs however small */
    int64_t transfer_ns; /* of the step: for each the shortest of its size in the recording */
    bool own_stream;     /* no compute kernel runs on the stream of the collectives */
};
struct query_exchange query_exchange(const struct facts *f, struct arena *arena);

/* How often the step's collectives repeat with the computing around them: k backward passes that
 * each exchange all gradients. 1 = they do not. */
size_t query_repeats(const struct facts *f, struct arena *arena, const struct query_exchange *x);

/* What is wrong with the sizes of the messages. */
enum query_buckets { BUCKETS_FINE, BUCKETS_SMALL, BUCKETS_ONE };
enum query_buckets query_buckets(const struct facts *f, const struct query_exchange *x);

/* Time per step in which the analysed device exchanges gradients and computes nothing, without the
 * waiting for late ranks that is another rule's. */
int64_t query_exposed_comm(const struct facts *f);

/* GPUs that the analysed process drives by itself, sending the weights to all in each step; 0 = it
 * does not. */
size_t query_replicated(const struct facts *f, struct arena *arena);

#endif
