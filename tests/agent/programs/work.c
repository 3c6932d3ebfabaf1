/* A library that uses CUDA: 10 copies and 10 products. tests/agent/places.sh opens it in every
 * way. */
#include <stdio.h>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

int work(void);

enum { N = 64, ROUNDS = 10 };

int work(void)
{
    static float host[N * N];
    float *a = NULL, one = 1, zero = 0;
    cublasHandle_t blas = NULL;
    int bad = cudaMalloc((void **)&a, sizeof host) != cudaSuccess ||
              cublasCreate(&blas) != CUBLAS_STATUS_SUCCESS;
    for (int i = 0; i < ROUNDS && !bad; i++)
        bad = cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice) != cudaSuccess ||
              cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, a, N, a, N, &zero, a, N) !=
                  CUBLAS_STATUS_SUCCESS;
    bad |= cudaDeviceSynchronize() != cudaSuccess;
    printf("%s\n", bad ? "failed" : "worked");
    return 0;
}
