/* The error checks of check.h: what failed, where, and a hint. */
#include "reference_workloads/common/check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void die(int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(status);
}

void *check_alloc(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);
    if (!p)
        die(1, "out of memory for %zu bytes", bytes);
    return p;
}

static const char *base_name(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

static _Noreturn void failed(const char *why, const char *hint, const char *call, const char *file,
                             int line)
{
    die(1, "%s\n    in %s (%s:%d)\n---> HINT: %s", why, call, base_name(file), line, hint);
}

static const char *cuda_hint(cudaError_t rc)
{
    switch (rc) {
    case cudaErrorMemoryAllocation:
        return "the model does not fit: try a smaller --batch, --image or --workspace-mb";
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInitializationError:
        return "no usable GPU or driver here: try `gpuprof run --device virtual -- ...`";
    case cudaErrorNoKernelImageForDevice:
        return "this GPU is older than the kernels were built for: see GPUPROF_GENCODE in "
               "reference_workloads/conv/CMakeLists.txt";
    default:
        return "try again under compute-sanitizer, or with CUDA_LAUNCH_BLOCKING=1 to find the "
               "failing call";
    }
}

void cuda_check(cudaError_t rc, const char *call, const char *file, int line)
{
    if (rc != cudaSuccess)
        failed(cudaGetErrorString(rc), cuda_hint(rc), call, file, line);
}

void cudnn_check(cudnnStatus_t rc, const char *call, const char *file, int line)
{
    if (rc != CUDNN_STATUS_SUCCESS)
        failed(cudnnGetErrorString(rc),
               "cuDNN may lack this combination: try another --precision or --channels-last", call,
               file, line);
}

void cublas_check(cublasStatus_t rc, const char *call, const char *file, int line)
{
    if (rc != CUBLAS_STATUS_SUCCESS)
        failed(cublasGetStatusString(rc), "try --precision fp32 to see whether the types matter",
               call, file, line);
}
