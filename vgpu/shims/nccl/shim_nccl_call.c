/* NCCL's calls that move data, and its allocation and registration of memory. */
#include "shims/nccl/shim_nccl.h"

#define TWIN(name) extern __typeof__(name) p##name __attribute__((alias(#name)));

static ncclResult_t call(const char *name, struct operation *o, size_t count)
{
    size_t size = type_bytes(o->type);
    ncclResult_t rc = comm_check(o->comm);
    if (rc)
        return rc;
    if (!size)
        return meet_fail(o->comm, ncclInvalidArgument, "%s: there is no type %d", name,
                         (int)o->type);
    if (o->peer < 0 || o->peer >= o->comm->ranks)
        return meet_fail(o->comm, ncclInvalidArgument, "%s: there is no rank %d", name, o->peer);
    o->bytes = count * size;
    mark_push(name, o);
    rc = launch(o);
    mark_pop();
    return rc;
}

ncclResult_t ncclAllReduce(const void *in, void *out, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    struct operation o = {KIND_ALL_REDUCE, comm, stream, in, out, 0, type, op, 0};
    return call("ncclAllReduce", &o, count);
}
TWIN(ncclAllReduce)

ncclResult_t ncclReduceScatter(const void *in, void *out, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    struct operation o = {KIND_REDUCE_SCATTER, comm, stream, in, out, 0, type, op, 0};
    return call("ncclReduceScatter", &o, count);
}
TWIN(ncclReduceScatter)

ncclResult_t ncclAllGather(const void *in, void *out, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream)
{
    struct operation o = {KIND_ALL_GATHER, comm, stream, in, out, 0, type, ncclSum, 0};
    return call("ncclAllGather", &o, count);
}
TWIN(ncclAllGather)

ncclResult_t ncclBroadcast(const void *in, void *out, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream)
{
    struct operation o = {KIND_BROADCAST, comm, stream, in, out, 0, type, ncclSum, root};
    return call("ncclBroadcast", &o, count);
}
TWIN(ncclBroadcast)

ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream)
{
    return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}
TWIN(ncclBcast)

ncclResult_t ncclReduce(const void *in, void *out, size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
    struct operation o = {KIND_REDUCE, comm, stream, in, out, 0, type, op, root};
    return call("ncclReduce", &o, count);
}
TWIN(ncclReduce)

ncclResult_t ncclAlltoAll(const void *in, void *out, size_t count, ncclDataType_t type,
                          ncclComm_t comm, cudaStream_t stream)
{
    struct operation o = {KIND_ALL_TO_ALL, comm, stream, in, out, 0, type, ncclSum, 0};
    return call("ncclAlltoAll", &o, count);
}
TWIN(ncclAlltoAll)

ncclResult_t ncclSend(const void *in, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    struct operation o = {KIND_SEND, comm, stream, in, NULL, 0, type, ncclSum, peer};
    return call("ncclSend", &o, count);
}
TWIN(ncclSend)

ncclResult_t ncclRecv(void *out, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    struct operation o = {KIND_RECV, comm, stream, NULL, out, 0, type, ncclSum, peer};
    return call("ncclRecv", &o, count);
}
TWIN(ncclRecv)

/* One rank sends to all ranks or receives from all, itself included. It is done with sends and
 * receives in one group, as in the real library. `of_root` is the root's buffer with the parts of
 * all ranks, `of_each` a rank's own part. */
static ncclResult_t root_and_each(const char *name, struct operation o, size_t count,
                                  const char *of_root, const char *of_each, bool gathers)
{
    bool there = comm_check(o.comm) == ncclSuccess, root = there && o.comm->rank == o.peer;
    size_t bytes = count * type_bytes(o.type);
    enum nccl_kind at_root = gathers ? KIND_RECV : KIND_SEND;
    ncclResult_t rc = ncclGroupStart(), ended;
    o.kind = gathers ? KIND_SEND : KIND_RECV;
    o.in = gathers ? of_each : NULL;
    o.out = gathers ? NULL : (void *)(uintptr_t)of_each;
    if (rc == ncclSuccess)
        rc = call(name, &o, count);
    for (int rank = 0; root && rc == ncclSuccess && rank < o.comm->ranks; rank++) {
        const char *part = of_root ? of_root + (size_t)rank * bytes : NULL;
        o.kind = at_root;
        o.peer = rank;
        o.in = gathers ? NULL : part;
        o.out = gathers ? (void *)(uintptr_t)part : NULL;
        rc = call(name, &o, count);
    }
    ended = ncclGroupEnd();
    return rc ? rc : ended;
}

ncclResult_t ncclGather(const void *in, void *out, size_t count, ncclDataType_t type, int root,
                        ncclComm_t comm, cudaStream_t stream)
{
    struct operation o = {KIND_SEND, comm, stream, NULL, NULL, 0, type, ncclSum, root};
    return root_and_each("ncclGather", o, count, out, in, true);
}
TWIN(ncclGather)

ncclResult_t ncclScatter(const void *in, void *out, size_t count, ncclDataType_t type, int root,
                         ncclComm_t comm, cudaStream_t stream)
{
    struct operation o = {KIND_SEND, comm, stream, NULL, NULL, 0, type, ncclSum, root};
    return root_and_each("ncclScatter", o, count, in, out, false);
}
TWIN(ncclScatter)

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm)
{
    (void)scalar, (void)residence;
    ncclResult_t bad = comm_check(comm);
    if (bad || !op || !type_bytes(type))
        return bad ? bad : meet_fail(comm, ncclInvalidArgument, "ncclRedOpCreatePreMulSum");
    /* The model does no arithmetic with it, so every custom operation gets this number. */
    *op = ncclNumOps;
    return ncclSuccess;
}
TWIN(ncclRedOpCreatePreMulSum)

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm)
{
    (void)op;
    return comm_check(comm);
}
TWIN(ncclRedOpDestroy)

ncclResult_t ncclMemAlloc(void **p, size_t bytes)
{
    return vg_start() == 0 && vg_library_malloc(p, bytes) == 0 ? ncclSuccess
                                                               : ncclUnhandledCudaError;
}
TWIN(ncclMemAlloc)

ncclResult_t ncclMemFree(void *p)
{
    return vg_library_free(p) == 0 ? ncclSuccess : ncclUnhandledCudaError;
}
TWIN(ncclMemFree)

ncclResult_t ncclCommRegister(const ncclComm_t comm, void *buffer, size_t bytes, void **handle)
{
    (void)bytes;
    if (handle)
        *handle = buffer; /* the model has no faster path for registered buffers */
    return comm_check(comm);
}
TWIN(ncclCommRegister)

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle)
{
    (void)handle;
    return comm_check(comm);
}
TWIN(ncclCommDeregister)
