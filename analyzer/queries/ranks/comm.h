/* Collectives as several rules see them. */
#ifndef GPUPROF_QUERIES_RANKS_COMM_H
#define GPUPROF_QUERIES_RANKS_COMM_H

#include "analyzer/queries/query.h"

/* *ops: collectives of gradients on the analysed device. True if there are so many that launching
 * them one by one costs time; then ops->idle_ns is the idle time before them and before the copies
 * that fill their buffers. */
/* True for a broadcast, recognised by its kernel or its recorded call. */
bool query_is_broadcast(const struct facts *f, uint32_t op);
/* True for a copy within the device that fills the buffer of the collective directly after
 * it (one per parameter if gradients are not bucketed), or that fills or empties the
 * buffer of a broadcast. */
bool query_fills_buffer(const struct facts *f, uint32_t op);
bool query_collectives_scattered(const struct facts *f, struct query_ops *ops);

/* The collectives of one kind on the analysed device. */
struct query_comm {
    struct query_ops ops;
    int64_t exposed_ns; /* time per step without a compute kernel beside them; includes waits for
                           other ranks, but not for a late rank */
    int64_t late_ns;    /* time per step that they wait for a late rank */
};
struct query_comm query_comm(const struct facts *f, enum comm_kind kind);

/* Kernels in which all ranks send to all (embeddings, experts), or whose communication partners
 * were not recorded: sends and receives of a pipeline look the same. */
struct query_ops query_all_with_all(const struct facts *f);
bool query_sends_to_ranks(const struct facts *f, uint32_t op);

/* Time per step in NCCL's send and receive kernels of unknown purpose: no call was recorded with
 * them, and no name shows all-to-all. */
int64_t query_unnamed_sends(const struct facts *f, struct arena *arena);

/* The analysed device among the ranks; NULL if it is the only one. */
const struct rank_facts *query_own_rank(const struct facts *f);

/* The gradient collectives of one ordinary step on the analysed device whose call and kernel were
 * both recorded, in the order of the calls. */
struct query_exchange {
    uint32_t step; /* index of the step; TL_NONE: no such collective */
    uint32_t *at;  /* indices in timeline.collectives */
    size_t count;
    int64_t bytes, largest_bytes;
    int64_t least_bytes; /* smaller messages are no gradients, but a loss or a
                            norm sent once per step */
    int64_t fastest_ns;  /* shortest collective of all: the fixed cost of one message */
    int64_t transfer_ns; /* cost of the step's messages: for each the shortest time of
                            its size in the recording */
    bool own_stream;     /* no compute kernel runs on the collectives' stream */
};
struct query_exchange query_exchange(const struct facts *f, struct arena *arena);

/* How often the step's collectives repeat together with the computing around them: k backward
 * passes that each exchange all gradients. 1 = no repetition. */
size_t query_repeats(const struct facts *f, struct arena *arena, const struct query_exchange *x);

/* Whether the messages have bad sizes. */
enum query_buckets { BUCKETS_FINE, BUCKETS_SMALL, BUCKETS_ONE };
enum query_buckets query_buckets(const struct facts *f, const struct query_exchange *x);

/* Time per step in which the analysed device exchanges gradients without computing. Waits for late
 * ranks are not included: the straggler rule reports those. */
int64_t query_exposed_comm(const struct facts *f);

/* Number of GPUs that the analysed process drives by itself, sending the weights to all of them in
 * each step; 0 = it does not. */
size_t query_replicated(const struct facts *f, struct arena *arena);

#endif
