/* Memory pools, memory of other processes, and hints on the virtual GPU: settings are stored,
 * handles lead to memory of the right size, wrong pointers are refused. */
#include "tests/unit/vgpu_program.h"

#include <cuda.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *test_vgpu_share_suite(void);

static struct cudaMemPoolProps on_device(int device)
{
    return (struct cudaMemPoolProps){.allocType = cudaMemAllocationTypePinned,
                                     .location = {.type = cudaMemLocationTypeDevice, .id = device}};
}

START_TEST(pools_keep_their_settings)
{
    choose("t4,devices=2");
    cudaMemPool_t pool, found;
    struct cudaMemPoolProps props = on_device(1);
    OK(cudaMemPoolCreate(&pool, &props));
    uint64_t threshold = 12345, got = 0;
    int reuse = 0;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got));
    ck_assert_uint_eq(got, threshold);
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &reuse));
    ck_assert_int_eq(reuse, 1);
    enum cudaMemAccessFlags flags;
    struct cudaMemLocation other = {.type = cudaMemLocationTypeDevice, .id = 0};
    OK(cudaMemPoolGetAccess(&flags, pool, &other));
    ck_assert_int_eq(flags, cudaMemAccessFlagsProtNone);
    struct cudaMemAccessDesc both = {other, cudaMemAccessFlagsProtReadWrite};
    OK(cudaMemPoolSetAccess(pool, &both, 1));
    OK(cudaMemPoolGetAccess(&flags, pool, &other));
    ck_assert_int_eq(flags, cudaMemAccessFlagsProtReadWrite);
    OK(cudaDeviceSetMemPool(1, pool));
    OK(cudaDeviceGetMemPool(&found, 1));
    ck_assert_ptr_eq(found, pool);
    char *p;
    struct cudaPointerAttributes at;
    OK(cudaMallocFromPoolAsync((void **)&p, 4096, pool, NULL));
    OK(cudaPointerGetAttributes(&at, p));
    ck_assert_int_eq(at.device, 1);
    OK(cudaFreeAsync(p, NULL));
    OK(cudaMemPoolDestroy(pool));
    OK(cudaDeviceGetMemPool(&found, 1));
    OK(cudaDeviceGetDefaultMemPool(&pool, 1));
    ck_assert_ptr_eq(found, pool);
    ck_assert_int_eq(cudaMemPoolDestroy(pool), cudaErrorInvalidValue);
}
END_TEST

START_TEST(handles_lead_to_memory)
{
    choose("t4");
    char *p, *again;
    int host, ends[2];
    cudaIpcMemHandle_t handle;
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) { /* another process, with a device of its own */
        size_t before, after, total;
        if (read(ends[0], &handle, sizeof handle) != sizeof handle)
            _exit(1);
        cudaMemGetInfo(&before, &total);
        if (cudaIpcOpenMemHandle((void **)&again, handle, cudaIpcMemLazyEnablePeerAccess))
            _exit(2);
        cudaMemGetInfo(&after, &total);
        _exit(before - after == 1 << 20 && cudaIpcCloseMemHandle(again) == cudaSuccess ? 7 : 3);
    }
    OK(cudaMalloc((void **)&p, 1 << 20));
    OK(cudaIpcGetMemHandle(&handle, p));
    ck_assert_int_eq(write(ends[1], &handle, sizeof handle), sizeof handle);
    int status;
    waitpid(pid, &status, 0);
    ck_assert_int_eq(WEXITSTATUS(status), 7);
    ck_assert_int_eq(cudaIpcGetMemHandle(&handle, &host), cudaErrorInvalidValue);
    memset(&handle, 0, sizeof handle);
    ck_assert_int_eq(cudaIpcOpenMemHandle((void **)&again, handle, 0), cudaErrorInvalidValue);
}
END_TEST

START_TEST(hints_are_checked)
{
    choose("h100");
    char *managed;
    int host, location;
    OK(cudaMallocManaged((void **)&managed, 1 << 20, cudaMemAttachGlobal));
    OK(cudaStreamAttachMemAsync(NULL, managed, 0, cudaMemAttachSingle));
    ck_assert_int_eq(cudaStreamAttachMemAsync(NULL, &host, 0, cudaMemAttachSingle),
                     cudaErrorInvalidValue);
    OK(cudaMemRangeGetAttribute(&location, sizeof location, cudaMemRangeAttributePreferredLocation,
                                managed, 1 << 20));
    ck_assert_int_eq(location, cudaInvalidDeviceId);
    char *to[2], *from[2];
    size_t sizes[2] = {16, 32};
    char in[32], out[32];
    memset(in, 9, sizeof in);
    OK(cudaMalloc((void **)&to[0], 64));
    to[1] = to[0] + 16;
    from[0] = from[1] = in;
    OK(cudaMemcpyBatchAsync((void *const *)to, (const void *const *)from, sizes, 2, NULL, NULL, 0,
                            stream(cudaStreamNonBlocking)));
    OK(cudaMemcpy(out, to[1], sizeof out, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(out[31], 9);
}
END_TEST

/* Taichi and cuda.core take them from the driver. */
START_TEST(pools_are_objects)
{
    CUmemoryPool first, pool;
    CUdeviceptr p;
    CUcontext c;
    cuuint64_t threshold = 1 << 20, used;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemLocation here = props.location;
    CUmemAccess_flags flags;
    choose("a100-80");
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&c, 0));
    OK(cuCtxSetCurrent(c));
    OK(cuDeviceGetDefaultMemPool(&first, 0));
    OK(cuDeviceGetMemPool(&pool, 0));
    ck_assert_ptr_eq(pool, first);
    ck_assert_int_eq(cuMemPoolDestroy(first), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolCreate(&pool, &props));
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    threshold = 0;
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    ck_assert_uint_eq(threshold, 1 << 20);
    OK(cuMemPoolGetAccess(&flags, pool, &here));
    ck_assert_int_eq(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuDeviceSetMemPool(0, pool));
    OK(cuMemAllocFromPoolAsync(&p, 1 << 22, pool, NULL));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    ck_assert_uint_ge(used, 1 << 22);
    OK(cuMemFreeAsync(p, NULL));
    OK(cuMemPoolTrimTo(pool, 0));
    OK(cuMemPoolDestroy(pool));
    OK(cuDeviceGetMemPool(&pool, 0));
    ck_assert_ptr_eq(pool, first);
}
END_TEST

Suite *test_vgpu_share_suite(void)
{
    Suite *suite = suite_create("vgpu_share");
    TCase *t = tcase_create("vgpu_share");
    tcase_add_test(t, pools_keep_their_settings);
    tcase_add_test(t, pools_are_objects);
    tcase_add_test(t, handles_lead_to_memory);
    tcase_add_test(t, hints_are_checked);
    suite_add_tcase(suite, t);
    return suite;
}
