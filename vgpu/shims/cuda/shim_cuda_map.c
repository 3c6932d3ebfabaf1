/* The driver's virtual memory management: physical allocations without an address, reserved address
 * ranges without memory, and mapping one to the other. */
#include "core/core_map.h"
#include "shims/cuda/shim_cuda.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SHARE_MAGIC = 0x76676678 };

_Static_assert(sizeof(CUmemAllocationProp) <= VG_MAP_NOTES, "an allocation keeps its properties");

static void *at(CUdeviceptr p)
{
    return (void *)(uintptr_t)p; /* NOLINT: device pointers are addresses here */
}

static struct vg_physical *physical_of(CUmemGenericAllocationHandle h)
{
    return vg_physical_check((struct vg_physical *)(uintptr_t)h); /* NOLINT */
}

/* Physical allocations in host memory are not modelled. */
static int known_place(const CUmemAllocationProp *p)
{
    if (!p || p->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (p->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_NOT_SUPPORTED;
    return device_known(p->location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuMemGetAllocationGranularity(size_t *out, const CUmemAllocationProp *p,
                                       CUmemAllocationGranularity_flags option)
{
    (void)option;
    OPEN(api, cuMemGetAllocationGranularity);
    int bad = out ? known_place(p) : (int)CUDA_ERROR_INVALID_VALUE;
    if (!bad)
        *out = VG_MAP_GRAIN;
    CLOSE(api, bad);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t bytes, const CUmemAllocationProp *p,
                     unsigned long long flags)
{
    OPEN(api, cuMemCreate);
    api.host_ns = (int64_t)here()->malloc_ns;
    struct vg_physical *made = NULL;
    int bad = !out || flags ? (int)CUDA_ERROR_INVALID_VALUE : known_place(p);
    if (!bad)
        bad = vg_physical_new(p->location.id, bytes, &made);
    if (!bad) {
        memcpy(made->notes, p, sizeof *p);
        *out = (CUmemGenericAllocationHandle)(uintptr_t)made;
    }
    CLOSE(api, bad);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle h)
{
    OPEN(api, cuMemRelease);
    struct vg_physical *p = physical_of(h);
    CLOSE(api, p ? vg_physical_release(p) : (int)CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *address)
{
    OPEN(api, cuMemRetainAllocationHandle);
    struct vg_physical *p = out ? vg_mapped(address) : NULL;
    if (p)
        *out = (CUmemGenericAllocationHandle)(uintptr_t)p;
    CLOSE(api, p ? vg_physical_hold(p) : (int)CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *out,
                                                CUmemGenericAllocationHandle h)
{
    OPEN(api, cuMemGetAllocationPropertiesFromHandle);
    struct vg_physical *p = out ? physical_of(h) : NULL;
    if (p)
        memcpy(out, p->notes, sizeof *out);
    CLOSE(api, p ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemAddressReserve(CUdeviceptr *out, size_t bytes, size_t align, CUdeviceptr wish,
                             unsigned long long flags)
{
    (void)wish; /* the wanted address is only a hint */
    OPEN(api, cuMemAddressReserve);
    void *base = NULL;
    int bad = !out || flags ? (int)CUDA_ERROR_INVALID_VALUE : vg_reserve(&base, bytes, align);
    if (!bad)
        *out = (CUdeviceptr)(uintptr_t)base;
    CLOSE(api, bad);
}

ROW(cuMemAddressFree, , (CUdeviceptr p, size_t bytes), vg_unreserve(at(p), bytes))

CUresult cuMemMap(CUdeviceptr p, size_t bytes, size_t offset, CUmemGenericAllocationHandle h,
                  unsigned long long flags)
{
    OPEN(api, cuMemMap);
    api.host_ns = (int64_t)here()->map_ns;
    struct vg_physical *memory = physical_of(h);
    /* today's driver refuses any offset and any flag. */
    bool right = memory && offset == 0 && !flags;
    CLOSE(api, right ? vg_map(at(p), bytes, memory) : (int)CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemUnmap(CUdeviceptr p, size_t bytes)
{
    OPEN(api, cuMemUnmap);
    vg_sleep_until(vg_device_tail(vg_current_device()));
    CLOSE(api, vg_unmap(at(p), bytes));
}

CUresult cuMemSetAccess(CUdeviceptr p, size_t bytes, const CUmemAccessDesc *access, size_t count)
{
    OPEN(api, cuMemSetAccess);
    api.host_ns = (int64_t)here()->map_access_ns;
    bool right = access && count && vg_all_mapped(at(p), bytes);
    for (size_t i = 0; right && i < count; i++)
        right = access[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
                device_known(access[i].location.id);
    CLOSE(api, right ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* All devices may always read and write mapped memory. */
CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *where, CUdeviceptr p)
{
    OPEN(api, cuMemGetAccess);
    if (!flags || !where || !vg_mapped(at(p)))
        CLOSE(api, CUDA_ERROR_INVALID_VALUE);
    *flags = where->type == CU_MEM_LOCATION_TYPE_DEVICE && device_known(where->id)
                 ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                 : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    CLOSE(api, CUDA_SUCCESS);
}

/* ---- memory shared between processes: a file carries its size and properties, not its contents
 * ---- */

struct share {
    uint32_t magic;
    uint64_t bytes;
    CUmemAllocationProp properties;
};

static int export_file(struct vg_physical *p, int *out)
{
    struct share share = {.magic = SHARE_MAGIC, .bytes = p->bytes};
    memcpy(&share.properties, p->notes, sizeof share.properties);
    int fd = memfd_create("virtual GPU's memory", MFD_CLOEXEC);
    if (fd < 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    if (write(fd, &share, sizeof share) != (ssize_t)sizeof share) {
        close(fd);
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    *out = fd;
    return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle h,
                                      CUmemAllocationHandleType type, unsigned long long flags)
{
    OPEN(api, cuMemExportToShareableHandle);
    struct vg_physical *p = out && !flags ? physical_of(h) : NULL;
    if (p && type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        CLOSE(api, CUDA_ERROR_NOT_SUPPORTED);
    CLOSE(api, p ? export_file(p, out) : (int)CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out, void *handle,
                                        CUmemAllocationHandleType type)
{
    OPEN(api, cuMemImportFromShareableHandle);
    struct share share;
    struct vg_physical *made = NULL;
    int fd = (int)(intptr_t)handle;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        CLOSE(api, CUDA_ERROR_NOT_SUPPORTED);
    if (!out || pread(fd, &share, sizeof share, 0) != (ssize_t)sizeof share ||
        share.magic != SHARE_MAGIC || known_place(&share.properties))
        CLOSE(api, CUDA_ERROR_INVALID_VALUE);
    int bad = vg_physical_new(share.properties.location.id, share.bytes, &made);
    if (!bad) {
        memcpy(made->notes, &share.properties, sizeof share.properties);
        *out = (CUmemGenericAllocationHandle)(uintptr_t)made;
    }
    CLOSE(api, bad);
}
