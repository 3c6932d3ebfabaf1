/* What a program may observe of the virtual cuFFT: plans, their work areas, and how many kernels of
 * which length a transform launches. */
#include "shims/cufft/shim_cufft.h"
#include "tests/unit/vgpu_library_calls.h"

Suite *test_vgpu_cufft_suite(void);

enum { C2C = 0x29, R2C = 0x2a, Z2Z = 0x69, C_16F = 6, FORWARD = -1 };

int cufftCreate(int *handle);
int cufftDestroy(int handle);
int cufftPlan1d(int *handle, int nx, int type, int batch);
int cufftPlan2d(int *handle, int nx, int ny, int type);
int cufftPlanMany(int *handle, int rank, const int *n, const int *in, int in_stride, int in_step,
                  const int *out, int out_stride, int out_step, int type, int batch);
int cufftXtMakePlanMany(int handle, int rank, const long long *n, const long long *in,
                        long long in_stride, long long in_step, int in_type, const long long *out,
                        long long out_stride, long long out_step, int out_type, long long batch,
                        size_t *work, int exec_type);
int cufftGetSize(int handle, size_t *work);
int cufftSetAutoAllocation(int handle, int allocate);
int cufftMakePlan1d(int handle, int nx, int type, int batch, size_t *work);
int cufftExecC2C(int handle, void *in, void *out, int direction);
int cufftExecR2C(int handle, void *in, void *out);
int cufftExecZ2Z(int handle, void *in, void *out, int direction);
int cufftXtExec(int handle, void *in, void *out, int direction);

static char *memory(size_t bytes)
{
    char *at;
    ck_assert_int_eq(cudaMalloc((void **)&at, bytes), cudaSuccess);
    seen_count = 0;
    return at;
}

/* What one transform of `batch` rows takes. */
static int64_t time_of(int n, int type, int batch, char *at)
{
    int plan;
    ck_assert_int_eq(cufftPlan1d(&plan, n, type, batch), FFT_SUCCESS);
    seen_count = 0;
    if (type == Z2Z)
        ck_assert_int_eq(cufftExecZ2Z(plan, at, at, FORWARD), FFT_SUCCESS);
    else if (type == R2C)
        ck_assert_int_eq(cufftExecR2C(plan, at, at), FFT_SUCCESS);
    else
        ck_assert_int_eq(cufftExecC2C(plan, at, at, FORWARD), FFT_SUCCESS);
    ck_assert_int_eq(cufftDestroy(plan), FFT_SUCCESS);
    return device_ns();
}

START_TEST(a_transform_is_passes_over_the_memory)
{
    on_device("h100");
    char *at = memory(1 << 20);
    /* 65536 rows of 1024 complex numbers: 512 MiB, read and written once at 3.35 TB/s at most */
    int64_t rows = time_of(1024, C2C, 65536, at);
    ck_assert_int_eq(seen_count, 1);
    ck_assert_int_gt(rows, 320000);
    ck_assert_int_lt(rows, 640000);
    ck_assert_int_lt(time_of(1024, R2C, 65536, at), rows * 6 / 10);
    int64_t wide = time_of(1024, Z2Z, 65536, at);
    ck_assert_int_gt(wide, rows * 18 / 10);
    int64_t lengthy = time_of(1 << 20, C2C, 64, at); /* as many numbers, 2 passes */
    ck_assert_int_eq(seen_count, 2);
    ck_assert_int_gt(lengthy, rows * 18 / 10);
    ck_assert_int_gt(time_of(1031, C2C, 65536, at), 2 * rows); /* a prime */
    ck_assert_int_eq(launched("bluestein"), seen_count);
}
END_TEST

START_TEST(dimensions_follow_one_another)
{
    int plan;
    on_device("h100");
    char *at = memory(1 << 20);
    ck_assert_int_eq(cufftPlan2d(&plan, 2048, 2048, R2C), FFT_SUCCESS);
    ck_assert_int_eq(cufftExecR2C(plan, at, at), FFT_SUCCESS);
    ck_assert_int_eq(seen_count, 2);
    ck_assert_int_eq(launched("r2c"), 1);
    ck_assert_int_eq(cufftExecC2C(plan, at, at, FORWARD), FFT_INVALID_VALUE);
    ck_assert_int_eq(cufftExecR2C(plan, NULL, at), FFT_INVALID_VALUE);
}
END_TEST

START_TEST(plans_are_made_once_and_own_their_area)
{
    int plan, other, n[3] = {16, 16, 16};
    size_t bytes = 1, before, now, total;
    long long wide[1] = {4096};
    on_device("h100");
    char *at = memory(1 << 20);
    ck_assert_int_eq(cudaMemGetInfo(&before, &total), cudaSuccess);
    ck_assert_int_eq(cufftPlan1d(&plan, 1 << 20, C2C, 8), FFT_SUCCESS);
    ck_assert_int_eq(cufftGetSize(plan, &bytes), FFT_SUCCESS);
    ck_assert_uint_eq(bytes, 8u << 23);
    ck_assert_int_eq(cudaMemGetInfo(&now, &total), cudaSuccess);
    ck_assert_uint_eq(before - now, bytes);
    ck_assert_int_eq(cufftMakePlan1d(plan, 8, C2C, 1, NULL), FFT_INVALID_PLAN);
    ck_assert_int_eq(cufftDestroy(plan), FFT_SUCCESS);
    ck_assert_int_eq(cufftDestroy(plan), FFT_INVALID_PLAN);
    ck_assert_int_eq(cudaMemGetInfo(&now, &total), cudaSuccess);
    ck_assert_uint_eq(before, now);
    ck_assert_int_eq(cufftPlan1d(&plan, 0, C2C, 1), FFT_INVALID_SIZE);
    ck_assert_int_eq(cufftPlan1d(&plan, 8, 7, 1), FFT_INVALID_TYPE);
    ck_assert_int_eq(cufftPlanMany(&plan, 3, n, NULL, 1, 0, NULL, 1, 0, C2C, 4), FFT_SUCCESS);
    ck_assert_int_eq(cufftExecC2C(plan, at, at, FORWARD), FFT_SUCCESS);
    ck_assert_int_eq(seen_count, 3);
    ck_assert_int_eq(cufftCreate(&other), FFT_SUCCESS); /* as PyTorch makes them */
    ck_assert_int_eq(cufftExecC2C(other, at, at, FORWARD), FFT_INVALID_PLAN);
    ck_assert_int_eq(cufftSetAutoAllocation(other, 0), FFT_SUCCESS);
    ck_assert_int_eq(
        cufftXtMakePlanMany(other, 1, wide, NULL, 1, 0, C_16F, NULL, 1, 0, C_16F, 2, &bytes, C_16F),
        FFT_SUCCESS);
    ck_assert_int_eq(cufftXtExec(other, at, at, FORWARD), FFT_SUCCESS);
    ck_assert_int_eq(seen_count, 4);
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
