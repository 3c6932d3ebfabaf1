/* Machine code of kernels without PTX, such as Triton's: how many bytes a thread moves. */
#ifndef VGPU_PTX_SASS_H
#define VGPU_PTX_SASS_H

#include <stddef.h>

/* Bytes that a thread loads from and stores to global memory, by the code of a kernel for compute
 * capability 7.0 or later. Both sides of a branch count, and a loop as often as its counter's step
 * and limit say. -1: the code has matrix products, a loop without such a counter, or no access. */
double sass_bytes(const void *code, size_t size);

#endif
