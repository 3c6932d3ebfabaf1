/* Memory and events of other processes, and several devices beside one another. What another
 * process shares has an address and a size here; its contents stay there, as no kernel reads them.
 */
#include "shims/cudart/shim_cudart.h"

#include <string.h>
#include <unistd.h>

enum { SHARE_MAGIC = 0x76677368 };

/* What travels in the 64 bytes of a handle. */
struct share {
    uint32_t magic;
    int pid, device;
    void *at;
    uint64_t bytes;
};
_Static_assert(sizeof(struct share) <= sizeof(cudaIpcMemHandle_t), "a handle holds it");
_Static_assert(sizeof(struct share) <= sizeof(struct cudaMemPoolPtrExportData), "so does this");

static int export_memory(void *handle, size_t size, void *ptr)
{
    struct vg_pointer p = vg_pointer(ptr);
    if (p.kind != VG_MEM_DEVICE)
        return cudaErrorInvalidValue;
    struct share share = {SHARE_MAGIC, (int)getpid(), p.device, ptr, vg_block_bytes(ptr)};
    memset(handle, 0, size);
    memcpy(handle, &share, sizeof share);
    return share.bytes ? VG_OK : (int)cudaErrorInvalidValue;
}

/* Memory of this process is itself; that of another gets an address here. */
static int import_memory(const void *handle, void **out)
{
    struct share share;
    memcpy(&share, handle, sizeof share);
    if (share.magic != SHARE_MAGIC || share.device < 0 || share.device >= vg_device_count())
        return cudaErrorInvalidValue;
    if (share.pid != (int)getpid())
        return vg_malloc(share.device, out, share.bytes);
    *out = share.at;
    return VG_OK;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *ptr)
{
    OPEN(api, cudaIpcGetMemHandle_v4010);
    CLOSE(api, export_memory(handle, sizeof *handle, ptr));
}

cudaError_t cudaIpcOpenMemHandle(void **out, cudaIpcMemHandle_t handle, unsigned flags)
{
    (void)flags;
    OPEN(api, cudaIpcOpenMemHandle_v4010);
    api.host_ns = (int64_t)here()->malloc_ns;
    CLOSE(api, import_memory(&handle, out));
}

cudaError_t cudaIpcCloseMemHandle(void *ptr)
{
    OPEN(api, cudaIpcCloseMemHandle_v4010);
    CLOSE(api, vg_free(ptr));
}

cudaError_t cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *out, void *ptr)
{
    OPEN(api, cudaMemPoolExportPointer_v11020);
    CLOSE(api, export_memory(out, sizeof *out, ptr));
}

cudaError_t cudaMemPoolImportPointer(void **out, cudaMemPool_t pool,
                                     struct cudaMemPoolPtrExportData *data)
{
    (void)pool;
    OPEN(api, cudaMemPoolImportPointer_v11020);
    CLOSE(api, import_memory(data, out));
}

/* An event of another process is one that has been reached. */
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
    OPEN(api, cudaIpcGetEventHandle_v4010);
    int bad = vg_event_check((struct vg_event *)event);
    struct share share = {SHARE_MAGIC, (int)getpid(), 0, event, 0};
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &share, sizeof share);
    CLOSE(api, bad);
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *out, cudaIpcEventHandle_t handle)
{
    OPEN(api, cudaIpcOpenEventHandle_v4010);
    struct share share;
    memcpy(&share, &handle, sizeof share);
    CLOSE(api, share.magic == SHARE_MAGIC
                   ? vg_event_create((struct vg_event **)out, cudaEventDisableTiming)
                   : (int)cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attr, int from, int to)
{
    OPEN(api, cudaDeviceGetP2PAttribute_v8000);
    int n = vg_device_count();
    if (from < 0 || from >= n || to < 0 || to >= n)
        CLOSE(api, cudaErrorInvalidDevice);
    *value = from != to && attr != cudaDevP2PAttrPerformanceRank;
    CLOSE(api, from != to ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(enum cudaFlushGPUDirectRDMAWritesTarget target,
                                               enum cudaFlushGPUDirectRDMAWritesScope scope)
{
    (void)target, (void)scope;
    OPEN(api, cudaDeviceFlushGPUDirectRDMAWrites_v11030);
    CLOSE(api, cudaSuccess);
}

/* All devices are alike: the first is as near to what is wanted as any. */
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted)
{
    (void)wanted;
    OPEN(api, cudaChooseDevice_v3020);
    *device = 0;
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaSetValidDevices(int *list, int n)
{
    (void)list, (void)n;
    OPEN(api, cudaSetValidDevices_v3020);
    CLOSE(api, cudaSuccess);
}
