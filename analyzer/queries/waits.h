/* Which calls make the host wait for the GPU, and why: told by the framework's operators around the
 * waiting calls. */
#ifndef GPUPROF_QUERIES_WAITS_H
#define GPUPROF_QUERIES_WAITS_H

#include "analyzer/queries/query.h"

/* What a call waits for before it returns, told by its kind and by the memory that its copy reads
 * and writes: the one answer, for rules, queries and the replay. How long it waited is another
 * question. */
enum call_wait {
    CALL_GOES_ON,
    CALL_AWAITS_COPY, /* to or within the GPU, or one that was not recorded: its own data */
    CALL_AWAITS_GPU   /* what was queued before it: explicitly, or because it reads a result */
};
enum call_wait query_call_wait(const struct timeline *t, const struct api *c);
bool query_reads_back(const struct timeline *t, const struct api *c); /* copies to the host */
/* No capture of a CUDA graph survives the call: it waits for the GPU, memory comes or goes, or the
 * host takes part in a copy. */
bool query_stops_capture(const struct timeline *t, const struct api *c);

enum wait_cause {
    WAIT_OTHER,    /* no operator says why */
    WAIT_SCALAR,   /* .item(), bool(tensor): one number is read */
    WAIT_MASK,     /* a result whose size only the GPU knows: x[mask], nonzero, unique */
    WAIT_READ,     /* .cpu(), .numpy(), print: a tensor is read */
    WAIT_EXPLICIT, /* torch.cuda.synchronize(), cudaDeviceSynchronize */
    WAIT_UPLOAD,   /* x.to("cuda") without non_blocking: behind a copy to the GPU */
    WAIT_CAUSES
};

struct query_waits { /* calls that await the GPU, in used steps */
    int64_t count[WAIT_CAUSES], ns[WAIT_CAUSES];
    enum wait_cause most; /* the host is blocked longest for this */
};

void query_waits(const struct facts *f, struct query_waits *w);
/* The operators that a call may be part of which waits for the GPU, told by the last few kernels
 * launched before it: "nonzero"; NULL: they tell nothing. *launch: of the
 * kernel that tells, else of the last one; TL_NONE: there is none. */
const char *query_wait_operator(const struct timeline *t, uint32_t sync, uint32_t *launch);

#endif
