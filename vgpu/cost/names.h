/* Kernel names as the real libraries emit them, mangled where they are. They come from the string
 * tables of cuDNN 9.19 and cuBLAS 13.1, so that a profile made here reads like one of a GPU. Not
 * from those tables: Hopper's nvjet names (the library composes them), the dgrad_engine of FP32,
 * and the unaligned cutlass_75 products (as in older releases and traces). A returned name stays
 * valid for ever. */
#ifndef VGPU_NAMES_H
#define VGPU_NAMES_H

#include "core/core.h"

#define VG_IMPLICIT_SGEMM                                                                          \
    "_Z23implicit_convolve_sgemmIffLi128ELi6ELi7ELi3ELi3ELi5ELi0ELb0ELb0ELb0EEviiiPKT_iPT0_S2_"    \
    "18kernel_conv_paramsyiffiPKS3_S7_bbii"
#define VG_DGRAD_ENGINE                                                                            \
    "_Z12dgrad_engineIfLi128ELi6ELi7ELi3ELi3ELi5ELb0EEviiiPKT_iS2_iPS0_18kernel_grad_"             \
    "paramsyiyifiii"
#define VG_WGRAD_ENGINE                                                                            \
    "_Z17wgrad_alg0_engineIfLi128ELi6ELi7ELi3ELi3ELi5ELb0ELi512EEviiiPKT_iPS0_S2_18kernel_grad_"   \
    "paramsyifiiii"

/* The implicit-gemm kernel of a convolution. other_tile: with another tile than the one that suits
 * it best. */
const char *vg_name_conv(const struct vg_profile *p, const struct vg_conv *c, enum vg_pass pass,
                         bool other_tile);
const char *vg_name_to_nhwc(enum vg_dtype t);
const char *vg_name_to_nchw(enum vg_dtype t);

struct vg_product { /* column-major, as cuBLAS has it */
    enum vg_dtype type;
    bool transpose_a, transpose_b;
    int64_t m, n, k, batch;
    int align; /* all operands are aligned to so many elements */
};
/* rank 0: the kernel that the library takes; higher ranks: others that a search would try. */
const char *vg_name_gemm(const struct vg_profile *p, const struct vg_product *g, int rank);

/* Launches what cuBLAS runs for a product: a kernel, and a reduction if it is cut along K; a matrix
 * times a vector goes to gemv. Returns a cudaError_t number. */
int vg_product_launch(struct vg_stream *stream, const struct vg_profile *p,
                      const struct vg_product *g, int rank);
/* The alignment of an operand in elements of `size` bytes, up to 16 bytes. */
int vg_alignment(const void *pointer, int64_t leading, size_t size);

/* The tile in a name ("..._tilesize128x64x32_...", "..._128x64_..."); 128x128 if it has none. */
void vg_name_tile(const char *name, unsigned *m, unsigned *n);
/* Sets a grid of one block per tile of an m x n result, with blocks of 256 threads (128 for small
 * tiles). */
void vg_name_launch(struct vg_kernel *k, const char *name, int64_t m, int64_t n, int64_t batch);
/* Keeps a copy of a composed name. */
const char *vg_name_keep(const char *text);

#endif
