/* cuBLASXt, as far as the sources here use it; interfaces/README.md. */
#ifndef INTERFACES_CUBLASXT_H
#define INTERFACES_CUBLASXT_H

#include <cublas_v2.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cublasXtContext *cublasXtHandle_t;
cublasStatus_t cublasXtCreate(cublasXtHandle_t *);
cublasStatus_t cublasXtDestroy(cublasXtHandle_t);
cublasStatus_t cublasXtGetNumBoards(int, int[], int *);
cublasStatus_t cublasXtMaxBoards(int *);
cublasStatus_t cublasXtDeviceSelect(cublasXtHandle_t, int, int[]);
cublasStatus_t cublasXtSetBlockDim(cublasXtHandle_t, int);
cublasStatus_t cublasXtGetBlockDim(cublasXtHandle_t, int *);

typedef enum { CUBLASXT_PINNING_DISABLED = 0 } cublasXtPinnedMemMode_t;
cublasStatus_t cublasXtGetPinningMemMode(cublasXtHandle_t, cublasXtPinnedMemMode_t *);
cublasStatus_t cublasXtSetPinningMemMode(cublasXtHandle_t, cublasXtPinnedMemMode_t);
cublasStatus_t cublasXtSgemm(cublasXtHandle_t, cublasOperation_t, cublasOperation_t, size_t, size_t,
                             size_t, const float *, const float *, size_t, const float *, size_t,
                             const float *, float *, size_t);
cublasStatus_t cublasXtDgemm(cublasXtHandle_t, cublasOperation_t, cublasOperation_t, size_t, size_t,
                             size_t, const double *, const double *, size_t, const double *, size_t,
                             const double *, double *, size_t);

#ifdef __cplusplus
}
#endif

#endif
