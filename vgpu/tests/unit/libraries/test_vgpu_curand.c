/* What a program may observe of the virtual cuRAND: which kernels a call launches, and that numbers
 * are of the distribution that was asked for, on the host and on the device the same. */
#include "shims/curand/shim_curand.h"
#include "tests/unit/vgpu_library_calls.h"

#include <math.h>

Suite *test_vgpu_curand_suite(void);

enum { XORWOW = 101, PHILOX = 161, SOBOL32 = 201, SOBOL64 = 203, N = 16384 };

int curandCreateGenerator(struct rand_generator **out, int type);
int curandCreateGeneratorHost(struct rand_generator **out, int type);
int curandDestroyGenerator(struct rand_generator *g);
int curandSetPseudoRandomGeneratorSeed(struct rand_generator *g, unsigned long long seed);
int curandSetQuasiRandomGeneratorDimensions(struct rand_generator *g, unsigned dimensions);
int curandGenerateUniform(struct rand_generator *g, float *out, size_t n);
int curandGenerateNormal(struct rand_generator *g, float *out, size_t n, float mean, float dev);
int curandGenerateLogNormalDouble(struct rand_generator *g, double *out, size_t n, double mean,
                                  double dev);
int curandGeneratePoisson(struct rand_generator *g, unsigned *out, size_t n, double mean);
int curandGenerateLongLong(struct rand_generator *g, unsigned long long *out, size_t n);
int curandGetScrambleConstants32(void **out);

static struct rand_generator *generator(int type, bool on_host)
{
    struct rand_generator *g;
    ck_assert_int_eq((on_host ? curandCreateGeneratorHost : curandCreateGenerator)(&g, type),
                     RAND_SUCCESS);
    return g;
}

static void *device_memory(size_t bytes)
{
    void *at;
    ck_assert_int_eq(cudaMalloc(&at, bytes), cudaSuccess);
    return at;
}

static void moments(const float *x, size_t n, double *mean, double *deviation)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
    }
    *mean = sum / (double)n;
    *deviation = sqrt(squares / (double)n - *mean * *mean);
}

START_TEST(numbers_have_their_distribution)
{
    on_device("a100-80");
    struct rand_generator *g = generator(XORWOW, false);
    float *on_device_memory = device_memory(N * sizeof(float)), x[N];
    double mean, deviation;
    ck_assert_int_eq(curandGenerateUniform(g, on_device_memory, N), RAND_SUCCESS);
    cudaMemcpy(x, on_device_memory, sizeof x, cudaMemcpyDeviceToHost);
    moments(x, N, &mean, &deviation);
    ck_assert_double_eq_tol(mean, 0.5, 0.01);
    ck_assert_double_eq_tol(deviation, sqrt(1 / 12.0), 0.01);
    for (int i = 0; i < N; i++)
        ck_assert(x[i] > 0 && x[i] <= 1);
    ck_assert_int_eq(curandGenerateNormal(g, on_device_memory, N, 3, 2), RAND_SUCCESS);
    cudaMemcpy(x, on_device_memory, sizeof x, cudaMemcpyDeviceToHost);
    moments(x, N, &mean, &deviation);
    ck_assert_double_eq_tol(mean, 3, 0.06);
    ck_assert_double_eq_tol(deviation, 2, 0.05);
    ck_assert_int_eq(launched("generate_seed_pseudo"), 1);
    ck_assert_int_eq(launched("gen_sequenced"), 2);
    ck_assert_int_eq(curandDestroyGenerator(g), RAND_SUCCESS);
}
END_TEST

START_TEST(counts_are_of_poisson)
{
    on_device("a100-80");
    struct rand_generator *g = generator(PHILOX, true);
    static unsigned counts[N];
    for (double mean = 2; mean < 4000; mean *= 40) {
        ck_assert_int_eq(curandGeneratePoisson(g, counts, N, mean), RAND_SUCCESS);
        double sum = 0, squares = 0;
        for (int i = 0; i < N; i++) {
            sum += counts[i];
            squares += (double)counts[i] * counts[i];
        }
        double found = sum / N;
        ck_assert_double_eq_tol(found, mean, 0.05 * sqrt(mean));
        ck_assert_double_eq_tol(squares / N - found * found, mean, 0.08 * mean);
    }
    ck_assert_int_eq(seen_count, 0); /* the host draws */
    ck_assert_int_eq(curandGeneratePoisson(g, counts, N, 0), RAND_OUT_OF_RANGE);
    ck_assert_int_eq(curandDestroyGenerator(g), RAND_SUCCESS);
}
END_TEST

START_TEST(host_and_device_draw_the_same)
{
    on_device("a100-80");
    struct rand_generator *at_host = generator(XORWOW, true), *at_device = generator(XORWOW, false);
    static double drawn[2 * N], copied[2 * N];
    double *there = device_memory(sizeof copied);
    for (int round = 0; round < 2; round++) {
        curandSetPseudoRandomGeneratorSeed(at_host, 7);
        curandSetPseudoRandomGeneratorSeed(at_device, 7);
        curandGenerateLogNormalDouble(at_host, drawn, 2 * N, 0, 1);
        curandGenerateLogNormalDouble(at_device, there, 2 * N, 0, 1);
        cudaMemcpy(copied, there, sizeof copied, cudaMemcpyDeviceToHost);
        ck_assert_mem_eq(drawn, copied, sizeof copied);
    }
    ck_assert(drawn[0] != drawn[1]);
    ck_assert_int_eq(curandDestroyGenerator(at_host), RAND_SUCCESS);
    ck_assert_int_eq(curandDestroyGenerator(at_device), RAND_SUCCESS);
}
END_TEST

START_TEST(large_arrays_take_their_time)
{
    on_device("a100-80");
    struct rand_generator *g = generator(PHILOX, false);
    float *at = device_memory((size_t)1 << 30);
    curandGenerateUniform(g, at, 2); /* sets the states up */
    seen_count = 0;
    ck_assert_int_eq(curandGenerateUniform(g, at, 1 << 28), RAND_SUCCESS);
    /* 1 GiB at 2.04 TB/s at most */
    ck_assert_int_gt(device_ns(), 526000);
    ck_assert_int_lt(device_ns(), 1100000);
    int64_t plain = device_ns();
    seen_count = 0;
    ck_assert_int_eq(curandGeneratePoisson(g, (unsigned *)at, 1 << 28, 5), RAND_SUCCESS);
    ck_assert_int_gt(device_ns(), 2 * plain);
    ck_assert_int_eq(curandDestroyGenerator(g), RAND_SUCCESS);
}
END_TEST

/* A loop that draws its noise into the same memory again: only the first draw costs the host. */
START_TEST(large_arrays_get_values_once)
{
    enum { LARGE = 1 << 18 };
    on_device("a100-80");
    struct rand_generator *g = generator(XORWOW, false);
    float *at = device_memory(2 * LARGE * sizeof *at), first[2], again[2], beside[2];
    curandGenerateUniform(g, at, LARGE);
    cudaMemcpy(first, at, sizeof first, cudaMemcpyDeviceToHost);
    curandGenerateUniform(g, at, LARGE);
    cudaMemcpy(again, at, sizeof again, cudaMemcpyDeviceToHost);
    ck_assert(first[0] > 0);
    ck_assert_mem_eq(first, again, sizeof first);
    curandGenerateUniform(g, at + LARGE, LARGE);
    cudaMemcpy(beside, at + LARGE, sizeof beside, cudaMemcpyDeviceToHost);
    ck_assert(beside[0] > 0 && beside[0] != first[0]);
    curandGenerateUniform(g, at, 2); /* small ones are drawn anew */
    cudaMemcpy(again, at, sizeof again, cudaMemcpyDeviceToHost);
    ck_assert(again[0] != first[0]);
    ck_assert_int_eq(curandDestroyGenerator(g), RAND_SUCCESS);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    on_device("a100-80");
    struct rand_generator *pseudo = generator(XORWOW, false), *quasi = generator(SOBOL32, false);
    float *at = device_memory(4096);
    void *table = NULL;
    ck_assert_int_eq(curandGenerateNormal(pseudo, at, 3, 0, 1), RAND_LENGTH_NOT_MULTIPLE);
    ck_assert_int_eq(curandSetPseudoRandomGeneratorSeed(quasi, 1), RAND_TYPE_ERROR);
    ck_assert_int_eq(curandSetQuasiRandomGeneratorDimensions(pseudo, 2), RAND_TYPE_ERROR);
    ck_assert_int_eq(curandSetQuasiRandomGeneratorDimensions(quasi, 3), RAND_SUCCESS);
    ck_assert_int_eq(curandGenerateUniform(quasi, at, 4), RAND_LENGTH_NOT_MULTIPLE);
    ck_assert_int_eq(curandGenerateUniform(quasi, at, 6), RAND_SUCCESS);
    ck_assert_int_eq(curandGenerateLongLong(quasi, (unsigned long long *)at, 6), RAND_TYPE_ERROR);
    ck_assert_int_eq(launched("seed"), 0);
    ck_assert_int_eq(curandCreateGenerator(&pseudo, 7), RAND_TYPE_ERROR);
    ck_assert_int_eq(curandGetScrambleConstants32(&table), RAND_SUCCESS);
    ck_assert_ptr_nonnull(table);
    ck_assert_int_eq(curandDestroyGenerator(NULL), RAND_NOT_INITIALIZED);
    ck_assert_int_eq(curandDestroyGenerator(pseudo), RAND_SUCCESS);
    ck_assert_int_eq(curandDestroyGenerator(quasi), RAND_SUCCESS);
}
END_TEST

Suite *test_vgpu_curand_suite(void)
{
    Suite *s = suite_create("vgpu_curand");
    TCase *t = tcase_create("curand");
    tcase_add_test(t, numbers_have_their_distribution);
    tcase_add_test(t, counts_are_of_poisson);
    tcase_add_test(t, host_and_device_draw_the_same);
    tcase_add_test(t, large_arrays_take_their_time);
    tcase_add_test(t, large_arrays_get_values_once);
    tcase_add_test(t, what_does_not_fit_is_refused);
    suite_add_tcase(s, t);
    return s;
}
