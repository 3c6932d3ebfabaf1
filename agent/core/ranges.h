/* Ranges of the program: open ones are kept in the target, a record is written when one ends.
 * One push and pop cost two clock reads and one 48-byte record. */
#ifndef GPUPROF_AGENT_CORE_RANGES_H
#define GPUPROF_AGENT_CORE_RANGES_H

#include "agent/core/spool.h"

void ranges_push(struct thread *t, const struct open_range *r);
void ranges_pop(struct thread *t, uint32_t domain); /* the innermost open one of that domain */
/* 0: table full, dropped. `given`: the id that the program will end it by; 0 = one of ours. */
uint64_t ranges_start(struct thread *t, const struct open_range *r, uint64_t given);
void ranges_end(struct thread *t, uint64_t id); /* on any thread */
void ranges_mark(struct thread *t, struct open_range *r);

/* ---- NCCL's ranges (nccl.c) ---- */

struct nvtx_payload { /* as nvToolsExtPayload.h lays it out */
    uint64_t schema;
    size_t size;
    const void *data;
};

/* Fills payload (bytes) and comm of a range in NCCL's domain, where the schema is known. */
void nccl_payload(struct open_range *r, const struct nvtx_payload *p);
/* Such a range begins: the rank has come to its next collective. */
void nccl_begin(const struct open_range *r);
/* Writes the CALL record of a collective that has ended. */
void nccl_record(struct thread *t, const struct open_range *r, int64_t end_ns);

/* ---- NCCL's calls as a hook sees them (preload_nccl.c) ---- */

struct nccl_call {
    uint8_t type; /* enum spool_dtype */
    int64_t bytes;
    int rank, ranks, root; /* -1 = not known, or none */
    uint64_t comm;         /* 0 = not known */
};

/* Around a call of this thread: a range inside it takes what the hook knows. */
void nccl_call_begin(const struct nccl_call *about);
bool nccl_call_end(void); /* true: a range has written the record */
void nccl_call_fill(struct spool_rec_call *rec, const struct nccl_call *about, uint64_t comm,
                    int64_t bytes);

#endif
