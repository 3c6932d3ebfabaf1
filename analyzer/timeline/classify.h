/* What a kernel does, told by its name: a table of name parts, first match wins. Names of cuBLAS,
 * cuDNN, CUTLASS (mangled too), NCCL, PyTorch, Triton, and ROCm's libraries. What a name does not
 * tell stays unknown; nothing is guessed from a name that merely looks fast.
 * Cost: some hundred substring searches, once per distinct name. */
#ifndef GPUPROF_TIMELINE_CLASSIFY_H
#define GPUPROF_TIMELINE_CLASSIFY_H

#include "analyzer/timeline/timeline.h"

struct kernel_class classify_kernel(const char *name);
/* Adds what the library call around the kernel knows: pass, operand type, layout. What the name
 * said stays. */
void classify_refine(struct kernel_class *c, const struct row_call *call);
bool classify_xla(const char *name);      /* a kernel that XLA's compiler made */
const char *family_text(unsigned family); /* for people: "convolution", "optimizer" */

#endif
