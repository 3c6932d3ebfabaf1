/* See reducer.h. */
#include "reference_workloads/ddp/reducer.h"

#include "reference_workloads/common/nvtx.h"
#include "reference_workloads/ddp/nccl_check.h"

#include <stdio.h>

ncclDataType_t nccl_type(enum dtype t)
{
    static const ncclDataType_t types[] = {
        [DTYPE_F32] = ncclFloat32, [DTYPE_F16] = ncclFloat16, [DTYPE_BF16] = ncclBfloat16};
    return types[t];
}

/* ---- buckets ---- */

/* Groups are laid out in the order of forward: from their ends on is the order of backward. */
static void fill_buckets(struct reducer *r, enum group_id group, double first_mb)
{
    const struct model *m = r->model;
    const struct group *g = &m->groups[group];
    size_t end = g->count;
    struct bucket *b = NULL;
    double limit = first_mb * 1048576;
    for (int i = m->tensor_count - 1; i >= 0; i--) {
        const struct tensor *t = &m->tensors[i];
        if (t->group != group)
            continue;
        if (!b) {
            b = &r->buckets[r->bucket_count++];
            *b = (struct bucket){.group = group};
        }
        b->offset = t->offset;
        b->count = end - t->offset;
        b->tensors++;
        r->bucket_of[i] = r->bucket_count - 1;
        if ((double)(b->count * dtype_bytes(g->type)) >= limit) {
            end = t->offset;
            b = NULL;
            limit = (double)r->config->bucket_mb * 1048576;
        }
    }
}

static void reduce_bucket(struct reducer *r, const struct bucket *b)
{
    const struct group *g = &r->model->groups[b->group];
    cudaStream_t stream = r->config->overlap ? r->stream : r->model->stream;
    char *at = (char *)g->gradient + b->offset * dtype_bytes(g->type);
    if (r->config->overlap) {
        cudaCheck(cudaEventRecord(r->ready, r->model->stream));
        cudaCheck(cudaStreamWaitEvent(stream, r->ready, 0));
    }
    ncclCheck(ncclAllReduce(at, at, b->count, nccl_type(g->type), ncclAvg, r->comm, stream));
}

static void gradient_ready(void *arg, int tensor)
{
    struct reducer *r = arg;
    if (!r->on)
        return;
    r->buckets[r->bucket_of[tensor]].missing--;
    while (r->config->overlap && r->next < r->bucket_count && r->buckets[r->next].missing == 0)
        reduce_bucket(r, &r->buckets[r->next++]);
}

/* ---- life ---- */

void reducer_open(struct reducer *r, struct model *m, const struct ddp_config *c, ncclComm_t comm)
{
    *r = (struct reducer){.config = c, .model = m, .comm = comm};
    fill_buckets(r, GROUP_WEIGHTS, (double)c->first_bucket_mb);
    fill_buckets(r, GROUP_SCALARS, (double)c->bucket_mb);
    cudaCheck(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking));
    cudaCheck(cudaEventCreateWithFlags(&r->ready, cudaEventDisableTiming));
    cudaCheck(cudaEventCreateWithFlags(&r->reduced, cudaEventDisableTiming));
    m->gradient_ready = gradient_ready;
    m->gradient_arg = r;
}

void reducer_close(struct reducer *r)
{
    cudaCheck(cudaEventDestroy(r->ready));
    cudaCheck(cudaEventDestroy(r->reduced));
    cudaCheck(cudaStreamDestroy(r->stream));
}

void reducer_begin(struct reducer *r, int on)
{
    r->on = on;
    r->next = 0;
    for (int i = 0; i < r->bucket_count; i++)
        r->buckets[i].missing = r->buckets[i].tensors;
}

void reducer_finish(struct reducer *r)
{
    if (!r->on)
        return;
    if (!r->config->overlap)
        nvtx_push("all_reduce");
    while (r->next < r->bucket_count)
        reduce_bucket(r, &r->buckets[r->next++]);
    if (!r->config->overlap) {
        nvtx_pop();
        return;
    }
    cudaCheck(cudaEventRecord(r->reduced, r->stream));
    cudaCheck(cudaStreamWaitEvent(r->model->stream, r->reduced, 0));
}
