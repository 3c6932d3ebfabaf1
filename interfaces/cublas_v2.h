/* cuBLAS, as far as the sources here use it; interfaces/README.md. */
#ifndef INTERFACES_CUBLAS_V2_H
#define INTERFACES_CUBLAS_V2_H

#include <cuComplex.h>
#include <cuda_runtime_api.h>
#include <library_types.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUBLAS_VERSION       (CUBLAS_VER_MAJOR * 10000 + CUBLAS_VER_MINOR * 100 + CUBLAS_VER_PATCH)
#define CUBLAS_VER_MAJOR     13
#define CUBLAS_VER_MINOR     1
#define CUBLAS_VER_PATCH     1
#define cublasCdotc          cublasCdotc_v2
#define cublasCgemm_64       cublasCgemm_v2_64
#define cublasCreate         cublasCreate_v2
#define cublasDcopy          cublasDcopy_v2
#define cublasDestroy        cublasDestroy_v2
#define cublasDgbmv          cublasDgbmv_v2
#define cublasDger           cublasDger_v2
#define cublasDrotg          cublasDrotg_v2
#define cublasDrotmg         cublasDrotmg_v2
#define cublasDsyr2          cublasDsyr2_v2
#define cublasDtrsm          cublasDtrsm_v2
#define cublasIcamin_64      cublasIcamin_v2_64
#define cublasScasum         cublasScasum_v2
#define cublasSdot           cublasSdot_v2
#define cublasSetPointerMode cublasSetPointerMode_v2
#define cublasSetStream      cublasSetStream_v2
#define cublasSetWorkspace   cublasSetWorkspace_v2
#define cublasSgemm          cublasSgemm_v2
#define cublasZgeru          cublasZgeru_v2
#define cublasZher2k         cublasZher2k_v2
#define cublasZherk          cublasZherk_v2
#define cublasZtrsv          cublasZtrsv_v2

typedef enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_ARCH_MISMATCH = 8,
    CUBLAS_STATUS_MAPPING_ERROR = 11,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR = 14,
    CUBLAS_STATUS_NOT_SUPPORTED = 15
} cublasStatus_t;

typedef enum { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1 } cublasFillMode_t;

typedef enum { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 } cublasDiagType_t;

typedef enum { CUBLAS_SIDE_LEFT = 0 } cublasSideMode_t;

typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 } cublasOperation_t;

typedef enum { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 } cublasPointerMode_t;

typedef enum { CUBLAS_ATOMICS_NOT_ALLOWED = 0 } cublasAtomicsMode_t;

typedef enum { CUBLAS_GEMM_DEFAULT = -1 } cublasGemmAlgo_t;

typedef enum {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_TENSOR_OP_MATH = 1,
    CUBLAS_PEDANTIC_MATH = 2,
    CUBLAS_TF32_TENSOR_OP_MATH = 3
} cublasMath_t;

typedef enum {
    CUBLAS_COMPUTE_16F = 64,
    CUBLAS_COMPUTE_16F_PEDANTIC = 65,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_32F_PEDANTIC = 69,
    CUBLAS_COMPUTE_32F_FAST_16F = 74,
    CUBLAS_COMPUTE_32F_FAST_16BF = 75,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
    CUBLAS_COMPUTE_64F = 70,
    CUBLAS_COMPUTE_64F_PEDANTIC = 71,
    CUBLAS_COMPUTE_32I = 72,
    CUBLAS_COMPUTE_32I_PEDANTIC = 73
} cublasComputeType_t;
typedef struct cublasContext *cublasHandle_t;
typedef void (*cublasLogCallback)(const char *msg);
cublasStatus_t cublasCreate_v2(cublasHandle_t *);
cublasStatus_t cublasDestroy_v2(cublasHandle_t);
cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int *);
cublasStatus_t cublasGetProperty(libraryPropertyType, int *);
size_t cublasGetCudartVersion(void);
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void *, size_t);
cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t);
cublasStatus_t cublasGetStream_v2(cublasHandle_t, cudaStream_t *);
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t, cublasPointerMode_t *);
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t, cublasPointerMode_t);
cublasStatus_t cublasGetAtomicsMode(cublasHandle_t, cublasAtomicsMode_t *);
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t, cublasAtomicsMode_t);
cublasStatus_t cublasGetMathMode(cublasHandle_t, cublasMath_t *);
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t);
cublasStatus_t cublasGetSmCountTarget(cublasHandle_t, int *);
cublasStatus_t cublasSetSmCountTarget(cublasHandle_t, int);
cublasStatus_t cublasSetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t, int *);
const char *cublasGetStatusName(cublasStatus_t);
const char *cublasGetStatusString(cublasStatus_t);
cublasStatus_t cublasLoggerConfigure(int, int, int, const char *);
cublasStatus_t cublasSetLoggerCallback(cublasLogCallback);
cublasStatus_t cublasGetLoggerCallback(cublasLogCallback *);
cublasStatus_t cublasSetVector(int, int, const void *, int, void *, int);
cublasStatus_t cublasGetVector(int, int, const void *, int, void *, int);
cublasStatus_t cublasSetMatrix(int, int, int, const void *, int, void *, int);
cublasStatus_t cublasGetMatrix(int, int, int, const void *, int, void *, int);
cublasStatus_t cublasSetVectorAsync(int, int, const void *, int, void *, int, cudaStream_t);
cublasStatus_t cublasGetVectorAsync(int, int, const void *, int, void *, int, cudaStream_t);
cublasStatus_t cublasSetMatrixAsync(int, int, int, const void *, int, void *, int, cudaStream_t);
cublasStatus_t cublasGetMatrixAsync(int, int, int, const void *, int, void *, int, cudaStream_t);
cublasStatus_t cublasNrm2Ex(cublasHandle_t, int, const void *, cudaDataType, int, void *,
                            cudaDataType, cudaDataType);
cublasStatus_t cublasDotEx(cublasHandle_t, int, const void *, cudaDataType, int, const void *,
                           cudaDataType, int, void *, cudaDataType, cudaDataType);
cublasStatus_t cublasDotcEx(cublasHandle_t, int, const void *, cudaDataType, int, const void *,
                            cudaDataType, int, void *, cudaDataType, cudaDataType);
cublasStatus_t cublasSdot_v2(cublasHandle_t, int, const float *, int, const float *, int, float *);
cublasStatus_t cublasCdotc_v2(cublasHandle_t, int, const cuComplex *, int, const cuComplex *, int,
                              cuComplex *);
cublasStatus_t cublasScalEx(cublasHandle_t, int, const void *, cudaDataType, void *, cudaDataType,
                            int, cudaDataType);
cublasStatus_t cublasAxpyEx(cublasHandle_t, int, const void *, cudaDataType, const void *,
                            cudaDataType, int, void *, cudaDataType, int, cudaDataType);
cublasStatus_t cublasCopyEx(cublasHandle_t, int, const void *, cudaDataType, int, void *,
                            cudaDataType, int);
cublasStatus_t cublasDcopy_v2(cublasHandle_t, int, const double *, int, double *, int);
cublasStatus_t cublasSwapEx(cublasHandle_t, int, void *, cudaDataType, int, void *, cudaDataType,
                            int);
cublasStatus_t cublasIamaxEx(cublasHandle_t, int, const void *, cudaDataType, int, int *);
cublasStatus_t cublasIcamin_v2_64(cublasHandle_t, int64_t, const cuComplex *, int64_t, int64_t *);
cublasStatus_t cublasIaminEx(cublasHandle_t, int, const void *, cudaDataType, int, int *);
cublasStatus_t cublasAsumEx(cublasHandle_t, int, const void *, cudaDataType, int, void *,
                            cudaDataType, cudaDataType);
cublasStatus_t cublasScasum_v2(cublasHandle_t, int, const cuComplex *, int, float *);
cublasStatus_t cublasRotEx(cublasHandle_t, int, void *, cudaDataType, int, void *, cudaDataType,
                           int, const void *, const void *, cudaDataType, cudaDataType);
cublasStatus_t cublasSrotg_v2(cublasHandle_t, float *, float *, float *, float *);
cublasStatus_t cublasDrotg_v2(cublasHandle_t, double *, double *, double *, double *);
cublasStatus_t cublasCrotg_v2(cublasHandle_t, cuComplex *, cuComplex *, float *, cuComplex *);
cublasStatus_t cublasZrotg_v2(cublasHandle_t, cuDoubleComplex *, cuDoubleComplex *, double *,
                              cuDoubleComplex *);
cublasStatus_t cublasRotgEx(cublasHandle_t, void *, void *, cudaDataType, void *, void *,
                            cudaDataType, cudaDataType);
cublasStatus_t cublasRotmEx(cublasHandle_t, int, void *, cudaDataType, int, void *, cudaDataType,
                            int, const void *, cudaDataType, cudaDataType);
cublasStatus_t cublasSrotmg_v2(cublasHandle_t, float *, float *, float *, const float *, float *);
cublasStatus_t cublasDrotmg_v2(cublasHandle_t, double *, double *, double *, const double *,
                               double *);
cublasStatus_t cublasRotmgEx(cublasHandle_t, void *, cudaDataType, void *, cudaDataType, void *,
                             cudaDataType, const void *, cudaDataType, void *, cudaDataType,
                             cudaDataType);
cublasStatus_t cublasSgemv_v2(cublasHandle_t, cublasOperation_t, int, int, const float *,
                              const float *, int, const float *, int, const float *, float *, int);
cublasStatus_t cublasSgemv_v2_64(cublasHandle_t, cublasOperation_t, int64_t, int64_t, const float *,
                                 const float *, int64_t, const float *, int64_t, const float *,
                                 float *, int64_t);
cublasStatus_t cublasDgemv_v2(cublasHandle_t, cublasOperation_t, int, int, const double *,
                              const double *, int, const double *, int, const double *, double *,
                              int);
cublasStatus_t cublasDgemv_v2_64(cublasHandle_t, cublasOperation_t, int64_t, int64_t,
                                 const double *, const double *, int64_t, const double *, int64_t,
                                 const double *, double *, int64_t);
cublasStatus_t cublasDgbmv_v2(cublasHandle_t, cublasOperation_t, int, int, int, int, const double *,
                              const double *, int, const double *, int, const double *, double *,
                              int);
cublasStatus_t cublasZtrsv_v2(cublasHandle_t, cublasFillMode_t, cublasOperation_t, cublasDiagType_t,
                              int, const cuDoubleComplex *, int, cuDoubleComplex *, int);
cublasStatus_t cublasDger_v2(cublasHandle_t, int, int, const double *, const double *, int,
                             const double *, int, double *, int);
cublasStatus_t cublasZgeru_v2(cublasHandle_t, int, int, const cuDoubleComplex *,
                              const cuDoubleComplex *, int, const cuDoubleComplex *, int,
                              cuDoubleComplex *, int);
cublasStatus_t cublasDsyr2_v2(cublasHandle_t, cublasFillMode_t, int, const double *, const double *,
                              int, const double *, int, double *, int);
cublasStatus_t cublasSgemm_v2(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                              const float *, const float *, int, const float *, int, const float *,
                              float *, int);
cublasStatus_t cublasSgemm_v2_64(cublasHandle_t, cublasOperation_t, cublasOperation_t, int64_t,
                                 int64_t, int64_t, const float *, const float *, int64_t,
                                 const float *, int64_t, const float *, float *, int64_t);
cublasStatus_t cublasDgemm_v2(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                              const double *, const double *, int, const double *, int,
                              const double *, double *, int);
cublasStatus_t cublasDgemm_v2_64(cublasHandle_t, cublasOperation_t, cublasOperation_t, int64_t,
                                 int64_t, int64_t, const double *, const double *, int64_t,
                                 const double *, int64_t, const double *, double *, int64_t);
cublasStatus_t cublasCgemm_v2(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                              const cuComplex *, const cuComplex *, int, const cuComplex *, int,
                              const cuComplex *, cuComplex *, int);
cublasStatus_t cublasCgemm_v2_64(cublasHandle_t, cublasOperation_t, cublasOperation_t, int64_t,
                                 int64_t, int64_t, const cuComplex *, const cuComplex *, int64_t,
                                 const cuComplex *, int64_t, const cuComplex *, cuComplex *,
                                 int64_t);
cublasStatus_t cublasCgemm3m(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                             const cuComplex *, const cuComplex *, int, const cuComplex *, int,
                             const cuComplex *, cuComplex *, int);
cublasStatus_t cublasCgemm3mEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                               const cuComplex *, const void *, cudaDataType, int, const void *,
                               cudaDataType, int, const cuComplex *, void *, cudaDataType, int);
cublasStatus_t cublasZgemm_v2(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                              const cuDoubleComplex *, const cuDoubleComplex *, int,
                              const cuDoubleComplex *, int, const cuDoubleComplex *,
                              cuDoubleComplex *, int);
cublasStatus_t cublasZgemm3m(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                             const cuDoubleComplex *, const cuDoubleComplex *, int,
                             const cuDoubleComplex *, int, const cuDoubleComplex *,
                             cuDoubleComplex *, int);
cublasStatus_t cublasSgemmEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                             const float *, const void *, cudaDataType, int, const void *,
                             cudaDataType, int, const float *, void *, cudaDataType, int);
cublasStatus_t cublasSgemmEx_64(cublasHandle_t, cublasOperation_t, cublasOperation_t, int64_t,
                                int64_t, int64_t, const float *, const void *, cudaDataType,
                                int64_t, const void *, cudaDataType, int64_t, const float *, void *,
                                cudaDataType, int64_t);
cublasStatus_t cublasGemmEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                            const void *, const void *, cudaDataType, int, const void *,
                            cudaDataType, int, const void *, void *, cudaDataType, int,
                            cublasComputeType_t, cublasGemmAlgo_t);
cublasStatus_t cublasGemmEx_64(cublasHandle_t, cublasOperation_t, cublasOperation_t, int64_t,
                               int64_t, int64_t, const void *, const void *, cudaDataType, int64_t,
                               const void *, cudaDataType, int64_t, const void *, void *,
                               cudaDataType, int64_t, cublasComputeType_t, cublasGemmAlgo_t);
cublasStatus_t cublasCgemmEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                             const cuComplex *, const void *, cudaDataType, int, const void *,
                             cudaDataType, int, const cuComplex *, void *, cudaDataType, int);
cublasStatus_t cublasCsyrkEx(cublasHandle_t, cublasFillMode_t, cublasOperation_t, int, int,
                             const cuComplex *, const void *, cudaDataType, int, const cuComplex *,
                             void *, cudaDataType, int);
cublasStatus_t cublasCsyrk3mEx(cublasHandle_t, cublasFillMode_t, cublasOperation_t, int, int,
                               const cuComplex *, const void *, cudaDataType, int,
                               const cuComplex *, void *, cudaDataType, int);
cublasStatus_t cublasZherk_v2(cublasHandle_t, cublasFillMode_t, cublasOperation_t, int, int,
                              const double *, const cuDoubleComplex *, int, const double *,
                              cuDoubleComplex *, int);
cublasStatus_t cublasCherkEx(cublasHandle_t, cublasFillMode_t, cublasOperation_t, int, int,
                             const float *, const void *, cudaDataType, int, const float *, void *,
                             cudaDataType, int);
cublasStatus_t cublasCherk3mEx(cublasHandle_t, cublasFillMode_t, cublasOperation_t, int, int,
                               const float *, const void *, cudaDataType, int, const float *,
                               void *, cudaDataType, int);
cublasStatus_t cublasZher2k_v2(cublasHandle_t, cublasFillMode_t, cublasOperation_t, int, int,
                               const cuDoubleComplex *, const cuDoubleComplex *, int,
                               const cuDoubleComplex *, int, const double *, cuDoubleComplex *,
                               int);
cublasStatus_t cublasDtrsm_v2(cublasHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t,
                              cublasDiagType_t, int, int, const double *, const double *, int,
                              double *, int);
cublasStatus_t cublasSgemmBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                  int, const float *, const float *const[], int,
                                  const float *const[], int, const float *, float *const[], int,
                                  int);
cublasStatus_t cublasDgemmBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                  int, const double *, const double *const[], int,
                                  const double *const[], int, const double *, double *const[], int,
                                  int);
cublasStatus_t cublasCgemmBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                  int, const cuComplex *, const cuComplex *const[], int,
                                  const cuComplex *const[], int, const cuComplex *,
                                  cuComplex *const[], int, int);
cublasStatus_t cublasCgemm3mBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                    int, const cuComplex *, const cuComplex *const[], int,
                                    const cuComplex *const[], int, const cuComplex *,
                                    cuComplex *const[], int, int);
cublasStatus_t cublasZgemmBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                  int, const cuDoubleComplex *, const cuDoubleComplex *const[], int,
                                  const cuDoubleComplex *const[], int, const cuDoubleComplex *,
                                  cuDoubleComplex *const[], int, int);
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int,
                                         int, int, const float *, const float *, int, long long int,
                                         const float *, int, long long int, const float *, float *,
                                         int, long long int, int);
cublasStatus_t cublasSgemmStridedBatched_64(cublasHandle_t, cublasOperation_t, cublasOperation_t,
                                            int64_t, int64_t, int64_t, const float *, const float *,
                                            int64_t, long long int, const float *, int64_t,
                                            long long int, const float *, float *, int64_t,
                                            long long int, int64_t);
cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int,
                                         int, int, const double *, const double *, int,
                                         long long int, const double *, int, long long int,
                                         const double *, double *, int, long long int, int);
cublasStatus_t cublasDgemmStridedBatched_64(cublasHandle_t, cublasOperation_t, cublasOperation_t,
                                            int64_t, int64_t, int64_t, const double *,
                                            const double *, int64_t, long long int, const double *,
                                            int64_t, long long int, const double *, double *,
                                            int64_t, long long int, int64_t);
cublasStatus_t cublasCgemmStridedBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int,
                                         int, int, const cuComplex *, const cuComplex *, int,
                                         long long int, const cuComplex *, int, long long int,
                                         const cuComplex *, cuComplex *, int, long long int, int);
cublasStatus_t cublasCgemm3mStridedBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t,
                                           int, int, int, const cuComplex *, const cuComplex *, int,
                                           long long int, const cuComplex *, int, long long int,
                                           const cuComplex *, cuComplex *, int, long long int, int);
cublasStatus_t cublasZgemmStridedBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int,
                                         int, int, const cuDoubleComplex *, const cuDoubleComplex *,
                                         int, long long int, const cuDoubleComplex *, int,
                                         long long int, const cuDoubleComplex *, cuDoubleComplex *,
                                         int, long long int, int);
cublasStatus_t cublasGemmBatchedEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                   int, const void *, const void *const[], cudaDataType, int,
                                   const void *const[], cudaDataType, int, const void *,
                                   void *const[], cudaDataType, int, int, cublasComputeType_t,
                                   cublasGemmAlgo_t);
cublasStatus_t cublasGemmBatchedEx_64(cublasHandle_t, cublasOperation_t, cublasOperation_t, int64_t,
                                      int64_t, int64_t, const void *, const void *const[],
                                      cudaDataType, int64_t, const void *const[], cudaDataType,
                                      int64_t, const void *, void *const[], cudaDataType, int64_t,
                                      int64_t, cublasComputeType_t, cublasGemmAlgo_t);
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int,
                                          int, int, const void *, const void *, cudaDataType, int,
                                          long long int, const void *, cudaDataType, int,
                                          long long int, const void *, void *, cudaDataType, int,
                                          long long int, int, cublasComputeType_t,
                                          cublasGemmAlgo_t);
cublasStatus_t cublasGemmStridedBatchedEx_64(cublasHandle_t, cublasOperation_t, cublasOperation_t,
                                             int64_t, int64_t, int64_t, const void *, const void *,
                                             cudaDataType, int64_t, long long int, const void *,
                                             cudaDataType, int64_t, long long int, const void *,
                                             void *, cudaDataType, int64_t, long long int, int64_t,
                                             cublasComputeType_t, cublasGemmAlgo_t);
cublasStatus_t cublasSgemmGroupedBatched(cublasHandle_t, const cublasOperation_t[],
                                         const cublasOperation_t[], const int[], const int[],
                                         const int[], const float[], const float *const[],
                                         const int[], const float *const[], const int[],
                                         const float[], float *const[], const int[], int,
                                         const int[]);
cublasStatus_t cublasDgemmGroupedBatched(cublasHandle_t, const cublasOperation_t[],
                                         const cublasOperation_t[], const int[], const int[],
                                         const int[], const double[], const double *const[],
                                         const int[], const double *const[], const int[],
                                         const double[], double *const[], const int[], int,
                                         const int[]);
cublasStatus_t cublasGemmGroupedBatchedEx(cublasHandle_t, const cublasOperation_t[],
                                          const cublasOperation_t[], const int[], const int[],
                                          const int[], const void *, const void *const[],
                                          cudaDataType_t, const int[], const void *const[],
                                          cudaDataType_t, const int[], const void *, void *const[],
                                          cudaDataType_t, const int[], int, const int[],
                                          cublasComputeType_t);
cublasStatus_t cublasSmatinvBatched(cublasHandle_t, int, const float *const[], int, float *const[],
                                    int, int *, int);
cublasStatus_t cublasDgetrfBatched(cublasHandle_t, int, double *const[], int, int *, int *, int);
cublasStatus_t cublasDgetrsBatched(cublasHandle_t, cublasOperation_t, int, int,
                                   const double *const[], int, const int *, double *const[], int,
                                   int *, int);

#ifdef __cplusplus
}
#endif

#endif
