/* The type of a trainer's matrix work. `auto` is bf16 where the device computes in it (compute
 * capability 8.0 and later: CUDA C++ Programming Guide, "Arithmetic Instructions"), else fp16. */
#ifndef WORKLOAD_PRECISION_H
#define WORKLOAD_PRECISION_H

enum precision { PRECISION_FP32, PRECISION_TF32, PRECISION_FP16, PRECISION_BF16, PRECISION_AUTO };
#define PRECISION_CHOICES "fp32|tf32|fp16|bf16|auto" /* in the enum's order */

/* What `asked` means on a device of compute capability `major`.x: never PRECISION_AUTO. */
static inline int precision_on(int asked, int major)
{
    return asked != PRECISION_AUTO ? asked : major >= 8 ? PRECISION_BF16 : PRECISION_FP16;
}

#endif
