/* What a program can observe of the virtual cuFFT: plans, their work areas, how many kernels a
 * transform launches and how long they take. */
#include "shims/cufft/shim_cufft.h"
#include "tests/unit/vgpu_library_calls.h"

Suite *test_vgpu_cufft_suite(void);

enum { R_32F = 0, C_32F = 4, C_64F = 5, C_16F = 6, FORWARD = -1 };

int cufftCreate(int *handle);
int cufftDestroy(int handle);
int cufftXtMakePlanMany(int handle, int rank, const long long *n, const long long *in,
                        long long in_stride, long long in_step, int in_type, const long long *out,
                        long long out_stride, long long out_step, int out_type, long long batch,
                        size_t *work, int exec_type);
int cufftSetAutoAllocation(int handle, int allocate);
int cufftXtExec(int handle, void *in, void *out, int direction);

static char *memory(size_t bytes)
{
    char *at;
    ck_assert_int_eq(cudaMalloc((void **)&at, bytes), cudaSuccess);
    seen_count = 0;
    return at;
}

static int make(int plan, int rank, const long long *n, int from, int to, int batch, size_t *bytes)
{
    return cufftXtMakePlanMany(plan, rank, n, NULL, 1, 0, from, NULL, 1, 0, to, batch, bytes, to);
}

static int new_plan(int rank, const long long *n, int from, int to, int batch)
{
    int plan;
    ck_assert_int_eq(cufftCreate(&plan), FFT_SUCCESS);
    ck_assert_int_eq(make(plan, rank, n, from, to, batch, NULL), FFT_SUCCESS);
    return plan;
}

/* What one transform of `batch` rows takes. */
static int64_t time_of(long long n, int from, int to, int batch, char *at)
{
    int plan = new_plan(1, &n, from, to, batch);
    seen_count = 0;
    ck_assert_int_eq(cufftXtExec(plan, at, at, FORWARD), FFT_SUCCESS);
    ck_assert_int_eq(cufftDestroy(plan), FFT_SUCCESS);
    return device_ns();
}

START_TEST(a_transform_is_passes_over_the_memory)
{
    on_device("h100");
    char *at = memory(1 << 20);
    /* 65536 rows of 1024 complex numbers: 512 MiB, read and written once at 3.35 TB/s at most */
    int64_t rows = time_of(1024, C_32F, C_32F, 65536, at);
    ck_assert_int_eq(seen_count, 1);
    ck_assert_int_gt(rows, 320000);
    ck_assert_int_lt(rows, 640000);
    ck_assert_int_lt(time_of(1024, R_32F, C_32F, 65536, at), rows * 6 / 10);
    int64_t wide = time_of(1024, C_64F, C_64F, 65536, at);
    ck_assert_int_gt(wide, rows * 18 / 10);
    int64_t lengthy = time_of(1 << 20, C_32F, C_32F, 64, at); /* as many numbers, 2 passes */
    ck_assert_int_eq(seen_count, 2);
    ck_assert_int_gt(lengthy, rows * 18 / 10);
    ck_assert_int_gt(time_of(1031, C_32F, C_32F, 65536, at), 2 * rows); /* a prime */
    ck_assert_int_eq(launched("bluestein"), seen_count);
}
END_TEST

START_TEST(dimensions_follow_one_another)
{
    on_device("h100");
    char *at = memory(1 << 20);
    int plan = new_plan(2, (long long[]){2048, 2048}, R_32F, C_32F, 1);
    ck_assert_int_eq(cufftXtExec(plan, at, at, FORWARD), FFT_SUCCESS);
    ck_assert_int_eq(seen_count, 2);
    ck_assert_int_eq(launched("r2c"), 1);
    ck_assert_int_eq(cufftXtExec(plan, NULL, at, FORWARD), FFT_INVALID_VALUE);
}
END_TEST

START_TEST(plans_are_made_once_and_own_their_area)
{
    int plan;
    size_t bytes = 1, before, now, total;
    long long n = 1 << 20, none = 0, few = 4096;
    on_device("h100");
    char *at = memory(1 << 20);
    ck_assert_int_eq(cudaMemGetInfo(&before, &total), cudaSuccess);
    ck_assert_int_eq(cufftCreate(&plan), FFT_SUCCESS);
    ck_assert_int_eq(cufftXtExec(plan, at, at, FORWARD), FFT_INVALID_PLAN);
    ck_assert_int_eq(make(plan, 1, &none, C_32F, C_32F, 8, NULL), FFT_INVALID_SIZE);
    ck_assert_int_eq(make(plan, 1, &n, C_32F, 7, 8, NULL), FFT_INVALID_TYPE);
    ck_assert_int_eq(make(plan, 1, &n, C_32F, C_32F, 8, &bytes), FFT_SUCCESS);
    ck_assert_uint_eq(bytes, 8u << 23);
    ck_assert_int_eq(cudaMemGetInfo(&now, &total), cudaSuccess);
    ck_assert_uint_eq(before - now, bytes);
    ck_assert_int_eq(make(plan, 1, &n, C_32F, C_32F, 8, &bytes), FFT_INVALID_PLAN);
    ck_assert_int_eq(cufftDestroy(plan), FFT_SUCCESS);
    ck_assert_int_eq(cufftDestroy(plan), FFT_INVALID_PLAN);
    ck_assert_int_eq(cudaMemGetInfo(&now, &total), cudaSuccess);
    ck_assert_uint_eq(before, now);
    ck_assert_int_eq(cufftCreate(&plan), FFT_SUCCESS); /* as PyTorch makes them */
    ck_assert_int_eq(cufftSetAutoAllocation(plan, 0), FFT_SUCCESS);
    ck_assert_int_eq(make(plan, 1, &few, C_16F, C_16F, 2, &bytes), FFT_SUCCESS);
    ck_assert_int_eq(cufftXtExec(plan, at, at, FORWARD), FFT_SUCCESS);
    ck_assert_int_eq(seen_count, 1);
}
END_TEST

Suite *test_vgpu_cufft_suite(void)
{
    Suite *s = suite_create("vgpu_cufft");
    TCase *t = tcase_create("cufft");
    tcase_add_test(t, a_transform_is_passes_over_the_memory);
    tcase_add_test(t, dimensions_follow_one_another);
    tcase_add_test(t, plans_are_made_once_and_own_their_area);
    suite_add_tcase(s, t);
    return s;
}
