/* Stand-ins for cuBLAS and cuDNN whose calls do nothing, so that a benchmark measures only the
 * agent's hook and the descriptor reads that the hook makes. They are declared with plain types:
 * the benchmark needs no CUDA library. */
#ifndef GPUPROF_AGENT_COST_LIBRARY_H
#define GPUPROF_AGENT_COST_LIBRARY_H

#include <stddef.h>

int cublasSgemm_v2(void *handle, int transa, int transb, int m, int n, int k, const float *alpha,
                   const float *A, int lda, const float *B, int ldb, const float *beta, float *C,
                   int ldc);
int cublasGetMathMode(void *handle, int *mode);

int cudnnConvolutionForward(void *handle, const void *alpha, const void *xd, const void *x,
                            const void *wd, const void *w, const void *conv, int algo, void *space,
                            size_t bytes, const void *beta, const void *yd, void *y);
int cudnnGetTensor4dDescriptor(const void *d, int *type, int *n, int *c, int *h, int *w, int *ns,
                               int *cs, int *hs, int *ws);
int cudnnGetFilter4dDescriptor(const void *d, int *type, int *format, int *k, int *c, int *h,
                               int *w);
int cudnnGetConvolution2dDescriptor(const void *d, int *pad_h, int *pad_w, int *u, int *v,
                                    int *dilation_h, int *dilation_w, int *mode, int *type);
int cudnnGetConvolutionGroupCount(const void *d, int *groups);
int cudnnGetConvolutionMathType(const void *d, int *math);

#endif
