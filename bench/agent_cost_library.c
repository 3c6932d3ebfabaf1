/* Stand-ins for cuBLAS and cuDNN whose calls do nothing, so that only the agent's cost is left
 * (agent_cost_library.h). */
#include "bench/agent_cost_library.h"

int cublasSgemm_v2(void *handle, int transa, int transb, int m, int n, int k, const float *alpha,
                   const float *A, int lda, const float *B, int ldb, const float *beta, float *C,
                   int ldc)
{
    (void)handle, (void)transa, (void)transb, (void)m, (void)n, (void)k, (void)alpha, (void)A;
    (void)lda, (void)B, (void)ldb, (void)beta, (void)C, (void)ldc;
    return 0;
}

int cublasGetMathMode(void *handle, int *mode)
{
    (void)handle;
    *mode = 0;
    return 0;
}

int cudnnConvolutionForward(void *handle, const void *alpha, const void *xd, const void *x,
                            const void *wd, const void *w, const void *conv, int algo, void *space,
                            size_t bytes, const void *beta, const void *yd, void *y)
{
    (void)handle, (void)alpha, (void)xd, (void)x, (void)wd, (void)w, (void)conv, (void)algo;
    (void)space, (void)bytes, (void)beta, (void)yd, (void)y;
    return 0;
}

int cudnnGetTensor4dDescriptor(const void *d, int *type, int *n, int *c, int *h, int *w, int *ns,
                               int *cs, int *hs, int *ws)
{
    (void)d;
    *type = 0;
    *n = *c = *h = *w = 32;
    *ws = 1;
    *hs = 32;
    *cs = 32 * 32;
    *ns = 32 * 32 * 32;
    return 0;
}

int cudnnGetFilter4dDescriptor(const void *d, int *type, int *format, int *k, int *c, int *h,
                               int *w)
{
    (void)d;
    *type = *format = 0;
    *k = *c = 32;
    *h = *w = 3;
    return 0;
}

int cudnnGetConvolution2dDescriptor(const void *d, int *pad_h, int *pad_w, int *u, int *v,
                                    int *dilation_h, int *dilation_w, int *mode, int *type)
{
    (void)d;
    *pad_h = *pad_w = *u = *v = *dilation_h = *dilation_w = 1;
    *mode = *type = 0;
    return 0;
}

int cudnnGetConvolutionGroupCount(const void *d, int *groups)
{
    (void)d;
    *groups = 1;
    return 0;
}

int cudnnGetConvolutionMathType(const void *d, int *math)
{
    (void)d;
    *math = 0;
    return 0;
}
