/* Gradients of all ranks become their mean, bucket by bucket, while backward still runs.
 *
 * A bucket is a stretch of a parameter group, in the order in which backward makes gradients: last
 * layers first. It is closed when it reaches bucket_mb, as PyTorch's DistributedDataParallel does,
 * and its all-reduce is queued, in place, when the work behind all its tensors has been queued, but
 * never before that of the bucket before it: all ranks must call in the same order. */
#ifndef DDP_REDUCER_H
#define DDP_REDUCER_H

#include "reference_workloads/conv/model.h"
#include "reference_workloads/ddp/config.h"

#include <nccl.h>

enum { MAX_BUCKETS = MAX_TENSORS };

struct bucket {
    enum group_id group;
    size_t offset, count; /* elements of the group */
    int tensors, missing;
};

struct reducer {
    const struct ddp_config *config;
    struct model *model;
    ncclComm_t comm;
    cudaStream_t stream; /* of the all-reduces */
    cudaEvent_t ready, reduced;
    struct bucket buckets[MAX_BUCKETS];
    int bucket_count, next; /* the one to be reduced next */
    int bucket_of[MAX_TENSORS];
    int on; /* this backward pass reduces */
};

/* Takes the model's gradient_ready hook. */
void reducer_open(struct reducer *r, struct model *m, const struct ddp_config *c, ncclComm_t comm);
void reducer_close(struct reducer *r);
/* Before a backward pass: will its gradients be reduced? */
void reducer_begin(struct reducer *r, int on);
/* After it: the model's stream goes on when all buckets are reduced. */
void reducer_finish(struct reducer *r);

ncclDataType_t nccl_type(enum dtype t);

#endif
