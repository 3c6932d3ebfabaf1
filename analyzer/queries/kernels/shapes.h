/* What the shapes of a library call tell: its arithmetic, the bytes that it has to move, and how
 * long its kernels take. */
#ifndef GPUPROF_QUERIES_SHAPES_H
#define GPUPROF_QUERIES_SHAPES_H

#include "analyzer/queries/query.h"

bool query_is_conv(const struct row_call *c);
double query_conv_flops(const struct row_call *c);
/* Each tensor once: what no kernel can avoid. 0: a size is not known. */
double query_conv_bytes(const struct row_call *c);
/* Numbers in both factors and the result of a product; 0: a size is not known. */
double query_product_elements(const struct row_call *c);
/* Do all rows of its matrices begin at multiples of `of` elements? As far as sizes tell: the
 * matrices may be parts of wider ones. */
bool query_rows_aligned(const struct row_call *c, int64_t of);
double query_norm_bytes(const struct facts *f, const struct row_call *c);
/* GPU time of what the call launched in used steps, without layout conversions, and its longest
 * kernel: left as it is where there is none. */
int64_t query_call_ns(const struct facts *f, const struct call *c, uint32_t *longest);
/* A convolution of 16-bit numbers in channels-last, neither grouped nor of a few channels, whose
 * work a kernel does that by its name uses no tensor cores. `op`: the call's longest kernel. */
bool query_conv_off_tensor_cores(const struct facts *f, const struct call *c, uint32_t op);
bool query_conv_in_16_bits(const struct row_call *c); /* such a one, on whatever cores */
bool query_in_16_bits(const struct row_call *c);      /* its operands */
/* Batch normalisation by cuDNN's extended calls, which have kernels for channels-last. */
bool query_norm_extended(const struct facts *f, const struct row_call *c);
/* The layout of all recorded convolutions, in steps or before them; SPOOL_LAYOUT_UNKNOWN where they
 * differ or there is none. It holds for those in CUDA graphs, whose calls are those of the capture.
 */
int64_t query_images_layout(const struct facts *f);
double query_memory_rate(const struct facts *f); /* of the GPU, bytes per ns; 0: not known */
/* By operation: index of the library call with shapes that launched it, TL_NONE. NULL without
 * memory. */
const uint32_t *query_op_calls(const struct facts *f, struct arena *arena);

#endif
