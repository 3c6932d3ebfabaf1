/* Error checks for the reference trainers: every CUDA, cuDNN and cuBLAS call goes through one, and
 * a failure ends the program with the place, the call and what to try. Right for a workload, wrong
 * for a library.
 */
#ifndef WORKLOAD_CHECK_H
#define WORKLOAD_CHECK_H

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#define cudaCheck(call)   cuda_check((call), #call, __FILE__, __LINE__)
#define cudnnCheck(call)  cudnn_check((call), #call, __FILE__, __LINE__)
#define cublasCheck(call) cublas_check((call), #call, __FILE__, __LINE__)

void cuda_check(cudaError_t rc, const char *call, const char *file, int line);
void cudnn_check(cudnnStatus_t rc, const char *call, const char *file, int line);
void cublas_check(cublasStatus_t rc, const char *call, const char *file, int line);

/* One line on stderr, then exit with `status` (2 = wrong usage, 1 = anything else). */
_Noreturn void die(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

void *check_alloc(size_t bytes); /* zeroed; ends the program when there is no memory */

#endif
