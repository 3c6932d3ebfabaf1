/* NCCL's calls, seen in two ways: by the NVTX ranges that NCCL itself opens (instrument_nccl.c),
 * and by hooks on its functions (preload_nccl.c). */
#ifndef GPUPROF_AGENT_LIBS_NCCL_H
#define GPUPROF_AGENT_LIBS_NCCL_H

#include "agent/core/spool.h"

struct nvtx_payload { /* layout as in nvToolsExtPayload.h */
    uint64_t schema;
    size_t size;
    const void *data;
};

/* Fills r->payload (bytes) and r->comm of a range in NCCL's domain, if the payload's schema is
 * known. */
void nccl_payload(struct open_range *r, const struct nvtx_payload *p);

/* What a hook knows about a call. */
struct nccl_call {
    uint8_t type; /* enum spool_dtype */
    int64_t bytes;
    int rank, ranks, root; /* -1: unknown, or none */
    uint64_t comm;         /* 0: unknown */
};

/* Around a hooked call of this thread: the range that NCCL opens within it uses what the hook
 * knows. */
void nccl_call_begin(const struct nccl_call *about);
bool nccl_call_end(void); /* true: a range has written the record */
void nccl_call_fill(struct spool_rec_call *rec, const struct nccl_call *about, uint64_t comm,
                    int64_t bytes);

#endif
