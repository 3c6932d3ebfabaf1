/* Virtual memory management, as used by allocators that grow in place: they reserve addresses first
 * and map memory there later. Also the answers to questions about a device's properties. */
#include "tests/unit/vgpu_program.h"

#include <cuda.h>
#include <string.h>
#include <unistd.h>

Suite *test_vgpu_map_suite(void);

static const CUmemAllocationProp on_device = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED,
    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
};
static const CUmemAccessDesc by_device = {
    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
};

static size_t grain(void)
{
    size_t bytes = 0;
    OK(cuInit(0));
    OK(cudaSetDevice(0));
    OK(cuMemGetAllocationGranularity(&bytes, &on_device, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    ck_assert_uint_eq(bytes, 2 << 20);
    return bytes;
}

static size_t free_bytes(void)
{
    size_t now = 0, total;
    OK(cudaMemGetInfo(&now, &total));
    return now;
}

static void *host_address(CUdeviceptr p)
{
    return (void *)(uintptr_t)p; /* NOLINT */
}

START_TEST(a_range_grows_in_place)
{
    choose("h100");
    size_t unit = grain(), before = free_bytes();
    CUdeviceptr base;
    CUmemGenericAllocationHandle a, b;
    char out[4096], in[4096];
    struct cudaPointerAttributes where;
    OK(cuMemAddressReserve(&base, 8 * unit, 0, 0, 0));
    ck_assert_uint_eq(base % unit, 0);
    ck_assert_uint_eq(free_bytes(), before);
    OK(cuMemCreate(&a, unit, &on_device, 0));
    OK(cuMemCreate(&b, unit, &on_device, 0));
    ck_assert_uint_eq(free_bytes(), before - 2 * unit);
    OK(cuMemMap(base, unit, 0, a, 0));
    ck_assert_int_eq(cuMemSetAccess(base, 2 * unit, &by_device, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemMap(base + unit, unit, 0, b, 0));
    ck_assert_int_eq(cuMemMap(base + unit, unit, 0, a, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemSetAccess(base, 2 * unit, &by_device, 1));
    memset(out, 7, sizeof out);
    OK(cudaMemcpy(host_address(base + unit - 2048), out, sizeof out, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(in, host_address(base + unit - 2048), sizeof in, cudaMemcpyDeviceToHost));
    ck_assert_mem_eq(in, out, sizeof in);
    OK(cudaPointerGetAttributes(&where, host_address(base + unit)));
    ck_assert_int_eq(where.type, cudaMemoryTypeDevice);
    ck_assert_int_eq(where.device, 0);
}
END_TEST

START_TEST(memory_lives_as_long_as_it_is_held_or_mapped)
{
    choose("h100");
    size_t unit = grain(), before = free_bytes();
    CUdeviceptr base;
    CUmemGenericAllocationHandle a, again;
    CUmemAllocationProp properties;
    OK(cuMemAddressReserve(&base, 2 * unit, 0, 0, 0));
    OK(cuMemCreate(&a, 2 * unit, &on_device, 0));
    OK(cuMemMap(base, 2 * unit, 0, a, 0));
    OK(cuMemRelease(a));
    ck_assert_uint_eq(free_bytes(), before - 2 * unit);
    OK(cuMemRetainAllocationHandle(&again, host_address(base + unit)));
    ck_assert_uint_eq(again, a);
    OK(cuMemGetAllocationPropertiesFromHandle(&properties, again));
    ck_assert_int_eq(properties.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
    ck_assert_int_eq(cuMemAddressFree(base, 2 * unit), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemUnmap(base, 2 * unit));
    ck_assert_uint_eq(free_bytes(), before - 2 * unit);
    OK(cuMemRelease(again));
    ck_assert_uint_eq(free_bytes(), before);
    OK(cuMemAddressFree(base, 2 * unit));
    ck_assert_int_eq(cuMemUnmap(base, 2 * unit), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(it_is_the_same_memory_that_cudaMalloc_gives)
{
    choose("h100");
    size_t unit = grain(), most = free_bytes() / unit * unit;
    CUmemGenericAllocationHandle a, b;
    void *p;
    OK(cuMemCreate(&a, most - unit, &on_device, 0));
    ck_assert_int_eq(cudaMalloc(&p, 2 * unit + unit), cudaErrorMemoryAllocation);
    ck_assert_int_eq(cuMemCreate(&b, 2 * unit, &on_device, 0), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cudaMalloc(&p, unit));
    OK(cuMemRelease(a));
    OK(cuMemCreate(&b, 2 * unit, &on_device, 0));
    ck_assert_int_eq(cuMemCreate(&b, 1000, &on_device, 0), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(a_file_takes_memory_to_another_process)
{
    choose("h100");
    size_t unit = grain(), before;
    CUmemGenericAllocationHandle a, b;
    int fd = -1, nothing[2];
    OK(cuMemCreate(&a, unit, &on_device, 0));
    OK(cuMemExportToShareableHandle(&fd, a, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    ck_assert_int_ge(fd, 0);
    before = free_bytes();
    OK(cuMemImportFromShareableHandle(&b, (void *)(intptr_t)fd,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    ck_assert_uint_eq(free_bytes(), before - unit);
    close(fd);
    ck_assert_int_eq(pipe(nothing), 0);
    ck_assert_int_eq(cuMemImportFromShareableHandle(&b, (void *)(intptr_t)nothing[0],
                                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                     CUDA_ERROR_INVALID_VALUE);
}
END_TEST

/* Programs choose what they do by these, and refuse to run where one is missing. */
START_TEST(a_device_has_the_properties_of_its_kind)
{
    choose("h100");
    int can = 0;
    struct cudaDeviceProp p;
    OK(cuInit(0));
    OK(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    ck_assert_int_eq(can, 1);
    OK(cudaGetDeviceProperties(&p, 0));
    ck_assert_int_eq(p.maxThreadsDim[2], 64);
    ck_assert_int_ge(p.maxTexture2D[1], 65000);
    ck_assert_int_gt(p.persistingL2CacheMaxSize, 0);
    ck_assert_int_lt(p.persistingL2CacheMaxSize, p.l2CacheSize);
    ck_assert_int_eq(p.clusterLaunch, 1);
    ck_assert_uint_eq(p.memoryPoolSupportedHandleTypes, 0); /* pools cannot be exported here */
    OK(cudaDeviceGetAttribute(&can, cudaDevAttrClusterLaunch, 0));
    ck_assert_int_eq(can, 1);
}
END_TEST

Suite *test_vgpu_map_suite(void)
{
    Suite *s = suite_create("vgpu_map");
    TCase *t = tcase_create("map");
    tcase_add_test(t, a_range_grows_in_place);
    tcase_add_test(t, memory_lives_as_long_as_it_is_held_or_mapped);
    tcase_add_test(t, it_is_the_same_memory_that_cudaMalloc_gives);
    tcase_add_test(t, a_file_takes_memory_to_another_process);
    tcase_add_test(t, a_device_has_the_properties_of_its_kind);
    suite_add_tcase(s, t);
    return s;
}
