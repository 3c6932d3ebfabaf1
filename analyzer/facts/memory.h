/* What PyTorch's allocator says of the GPU's memory, in bytes, as the hook recorded it
 * (FACT_TORCH_MEMORY, FACT_TORCH_MEMORY_FAILED). Gauges (query_gpu) also see what other libraries
 * take, but not how much of the allocator's memory is in use. */
#ifndef GPUPROF_FACTS_MEMORY_H
#define GPUPROF_FACTS_MEMORY_H

#include "analyzer/facts/facts.h"

struct memory_use {
    bool known;          /* false: the members up to `optimizer` say nothing */
    int64_t peak;        /* largest sum of what was in use at once */
    int64_t reserved;    /* the most that the allocator held, with what was free in it */
    int64_t available;   /* that the process has and can get */
    int64_t total;       /* of the GPU; the rest belongs to the driver and to other processes */
    int64_t weights;     /* with buffers */
    int64_t gradients;   /* of all weights that learn */
    int64_t optimizer;   /* its state */
    int64_t activations; /* what the forward pass keeps for the backward pass */
    /* The largest batch that fits, relative to the recorded one. Likely: all bytes but weights and the
     * optimizer's state grow with it. High: only the activations do. Low: as likely, and as large a
     * share of what the allocator holds lies free as recorded. 0: not known. */
    double times_low, times_likely, times_high;
    int64_t batch; /* samples in a batch of the first loader; 0: not known */
};
struct memory_use facts_memory(const struct facts *f);
/* Samples in a batch, by the settings of the first loader; 0: not known. */
int64_t facts_batch_samples(const struct facts *f);

/* The last allocation that failed; all 0: none did. */
struct memory_failed {
    int64_t asked;     /* size of the allocation */
    int64_t in_use;    /* by tensors */
    int64_t held;      /* by the allocator, with what is free in it */
    int64_t available; /* that the process had and could get */
    int64_t total;     /* of the GPU */
    int64_t times;     /* how many allocations failed */
    const char *where; /* "in layers.3 (Block) at model.py:12"; "": not known */
};
struct memory_failed facts_memory_failed(const struct facts *f);
/* True if the program ended by a signal, or with another status than 0. */
bool facts_failed(const struct facts *f);

#endif
