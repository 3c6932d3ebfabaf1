/* What the measuring programs share: a clock, one output line for each figure, and an exit with a
 * reason. */
#ifndef VGPU_TESTS_CALIBRATE_MEASURE_H
#define VGPU_TESTS_CALIBRATE_MEASURE_H

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NO_GPU = 77 }; /* the status of a test that was skipped */

static inline double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static inline void die(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(1);
}

#define CHECK_CUDA(call)                                                                           \
    do {                                                                                           \
        cudaError_t status_ = (call);                                                              \
        if (status_ != cudaSuccess) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));       \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static inline void print_figure(const char *name, double value, const char *unit)
{
    printf("%s\t%.6g\t%s\n", name, value, unit);
    fflush(stdout);
}

/* Ends with NO_GPU where there is none; makes the context otherwise. */
static inline void measure_start(void)
{
    int count = 0;
    cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count == 0) {
        fprintf(stderr, "no GPU: %s\n", cudaGetErrorString(status));
        exit(NO_GPU);
    }
    CHECK_CUDA(cudaFree(NULL));
}

#endif
