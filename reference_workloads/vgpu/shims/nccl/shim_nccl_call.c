/* The library's calls that move data, and memory that suits it. */
#include "reference_workloads/vgpu/shims/nccl/shim_nccl.h"

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

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm)
{
    (void)scalar, (void)residence;
    ncclResult_t bad = comm_check(comm);
    if (bad || !op || !type_bytes(type))
        return bad ? bad : meet_fail(comm, ncclInvalidArgument, "ncclRedOpCreatePreMulSum");
    *op = ncclNumOps; /* no arithmetic is done: one is as good as another */
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
        *handle = buffer; /* the model knows no faster way for registered buffers */
    return comm_check(comm);
}
TWIN(ncclCommRegister)

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle)
{
    (void)handle;
    return comm_check(comm);
}
TWIN(ncclCommDeregister)
