/* What makes the host wait for the GPU, told by the framework's operators around the waiting calls.
 */
#ifndef GPUPROF_QUERIES_LOOK_WAITS_H
#define GPUPROF_QUERIES_LOOK_WAITS_H

#include "analyzer/queries/look.h"

enum wait_cause {
    WAIT_OTHER,    /* no operator says why */
    WAIT_SCALAR,   /* .item(), bool(tensor): one number is read */
    WAIT_MASK,     /* a result whose size only the GPU knows: x[mask], nonzero, unique */
    WAIT_READ,     /* .cpu(), .numpy(), print: a tensor is read */
    WAIT_EXPLICIT, /* torch.cuda.synchronize(), cudaDeviceSynchronize */
    WAIT_CAUSES
};

struct look_waits { /* in used steps */
    int64_t count[WAIT_CAUSES], ns[WAIT_CAUSES];
    enum wait_cause most; /* the host is blocked longest for this */
};

typedef bool look_is_wait(const struct timeline *t, const struct api *c);
void look_waits(const struct facts *f, look_is_wait *is_wait, struct look_waits *w);

#endif
