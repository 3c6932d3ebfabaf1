/* Which calls make the host wait for the GPU, and why. The reason comes from the framework's
 * operators around the waiting calls. */
#ifndef GPUPROF_QUERIES_WAITS_H
#define GPUPROF_QUERIES_WAITS_H

#include "analyzer/queries/query.h"

/* What a call waits for before it returns, by its kind and the memory that its copy
 * uses. Rules, queries and the replay all ask query_call_wait. How long the call waits
 * is a separate question. */
enum call_wait {
    /* does not wait for the GPU */
    CALL_GOES_ON,
    CALL_AWAITS_COPY, /* waits for its own data: a copy to or within the GPU, or one whose
                         GPU side was not recorded */
    CALL_AWAITS_GPU   /* waits for all work queued before it: explicitly, or
                         because it reads a result */
};
enum call_wait query_call_wait(const struct timeline *t, const struct api *c);
bool query_reads_back(const struct timeline *t, const struct api *c); /* it copies to the host */
/* True if the call would break the capture of a CUDA graph: it waits for the GPU, allocates or
 * frees memory, or the host takes part in a copy. */
bool query_stops_capture(const struct timeline *t, const struct api *c);

enum wait_cause {
    WAIT_OTHER,    /* no operator gives a reason */
    WAIT_SCALAR,   /* .item(), bool(tensor): the program reads one number */
    WAIT_MASK,     /* a result whose size only the GPU knows: x[mask], nonzero, unique */
    WAIT_READ,     /* .cpu(), .numpy(), print: the program reads a tensor */
    WAIT_EXPLICIT, /* torch.cuda.synchronize(), cudaDeviceSynchronize */
    WAIT_UPLOAD,   /* x.to("cuda") without non_blocking: waits for a copy to the GPU */
    WAIT_CAUSES
};

struct query_waits { /* calls in used steps that wait for the GPU */
    int64_t count[WAIT_CAUSES], ns[WAIT_CAUSES];
    enum wait_cause most; /* the cause for which the host is blocked longest */
};

void query_waits(const struct facts *f, struct query_waits *w);
/* The operator that this waiting call may belong to, judged by the last few kernels launched before
 * it: "nonzero"; NULL: none of them shows it. *launch: index of the call that launched the deciding
 * kernel, otherwise of the last launch; TL_NONE: no launch. */
const char *query_wait_operator(const struct timeline *t, uint32_t sync, uint32_t *launch);

#endif
