/* What follows from the shapes of a library call: its arithmetic, the bytes that it must move, and
 * the GPU time of its kernels. */
#ifndef GPUPROF_QUERIES_SHAPES_H
#define GPUPROF_QUERIES_SHAPES_H

#include "analyzer/queries/query.h"

bool query_is_conv(const struct row_call *c);
double query_conv_flops(const struct row_call *c);
/* Bytes of each tensor once: the least that any kernel moves. 0: a size is not known. */
double query_conv_bytes(const struct row_call *c);
/* Number of elements in both factors and the result of a product; 0: a size is not known. */
double query_product_elements(const struct row_call *c);
/* True if every row of its matrices begins at a multiple of `of` elements, judged by sizes alone:
 * the matrices may be parts of wider ones. */
bool query_rows_aligned(const struct row_call *c, int64_t of);
double query_norm_bytes(const struct facts *f, const struct row_call *c);
/* GPU time of the call's kernels in used steps, without layout conversions. *longest: the op of its
 * longest kernel; unchanged if there is none. */
int64_t query_call_ns(const struct facts *f, const struct call *c, uint32_t *longest);
/* True if query_conv_in_16_bits holds, but the kernel does not use tensor cores, by its name. `op`:
 * the call's longest kernel. */
bool query_conv_off_tensor_cores(const struct facts *f, const struct call *c, uint32_t op);
/* a channels-last convolution in 16 bits, not grouped, with enough channels */
bool query_conv_in_16_bits(const struct row_call *c);
/* True for a convolution in 16 bits whose groups are too wide for cuDNN's kernels for groups in
 * channels-last. */
bool query_conv_in_wide_groups(const struct row_call *c);
bool query_in_16_bits(const struct row_call *c); /* its operands have 16 bits */
/* True for batch normalisation by cuDNN's extended calls, which have kernels for channels-last. */
bool query_norm_extended(const struct facts *f, const struct row_call *c);
/* The layout of all recorded convolutions, in or before the steps; SPOOL_LAYOUT_UNKNOWN if they
 * differ or if there is none. It also holds for convolutions in CUDA graphs, whose calls were
 * recorded at the capture. */
int64_t query_images_layout(const struct facts *f);
double query_memory_rate(const struct facts *f); /* memory bandwidth of the GPU in
                                                    bytes per ns; 0: not known */
/* By op: index of the library call with shapes that launched it, or TL_NONE. From the
 * arena; NULL: out of memory. */
const uint32_t *query_op_calls(const struct facts *f, struct arena *arena);

#endif
