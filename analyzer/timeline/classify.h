/* Finds what a kernel does from its name: tables of name parts, the first match counts. Knows names
 * from cuBLAS, cuDNN, CUTLASS (mangled too), NCCL, PyTorch, Triton, and ROCm's libraries. What a
 * name does not show stays unknown. Cost: some hundred substring searches per distinct name. */
#ifndef GPUPROF_TIMELINE_CLASSIFY_H
#define GPUPROF_TIMELINE_CLASSIFY_H

#include "analyzer/timeline/timeline.h"

struct kernel_class classify_kernel(const char *name);
/* Adds the pass, data type and layout that the library call around the kernel states.
 * Values from the name stay. */
void classify_refine(struct kernel_class *c, const struct row_call *call);
bool classify_xla(const char *name);      /* is it the name of a kernel made by XLA's compiler? */
const char *family_text(unsigned family); /* for people: "convolution", "optimizer" */

#endif
