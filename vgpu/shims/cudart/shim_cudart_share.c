/* Memory and events of other processes (IPC), and choices among devices. Memory that another
 * process shares gets an address and a size here, but its contents are not shared, because no
 * kernel reads them. */
#include "shims/cudart/shim_cudart.h"

#include <string.h>
#include <unistd.h>

enum { SHARE_MAGIC = 0x76677368 };

/* What the 64 bytes of an IPC handle carry. */
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

/* A handle of this process gives the original address; one of another process gives newly allocated
 * memory of the same size. */
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

ROW(cudaIpcGetMemHandle, v4010, (cudaIpcMemHandle_t * handle, void *ptr),
    export_memory(handle, sizeof *handle, ptr))
ROW(cudaIpcOpenMemHandle, v4010, (void **out, cudaIpcMemHandle_t handle, unsigned flags UNUSED),
    (api.host_ns = (int64_t)here()->malloc_ns, import_memory(&handle, out)))
ROW(cudaIpcCloseMemHandle, v4010, (void *ptr), vg_free(ptr))
ROW(cudaMemPoolExportPointer, v11020, (struct cudaMemPoolPtrExportData * out, void *ptr),
    export_memory(out, sizeof *out, ptr))
ROW(cudaMemPoolImportPointer, v11020,
    (void **out, cudaMemPool_t pool UNUSED, struct cudaMemPoolPtrExportData *data),
    import_memory(data, out))

/* An event of another process counts as reached. */
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

ROW(cudaDeviceFlushGPUDirectRDMAWrites, v11030,
    (enum cudaFlushGPUDirectRDMAWritesTarget target UNUSED,
     enum cudaFlushGPUDirectRDMAWritesScope scope UNUSED),
    cudaSuccess)

/* All virtual devices are alike, so the first one fits any wish. */
ROW(cudaChooseDevice, v3020, (int *device, const struct cudaDeviceProp *wanted UNUSED),
    (*device = 0, cudaSuccess))
ROW(cudaSetValidDevices, v3020, (int *list UNUSED, int n UNUSED), cudaSuccess)
