/* What the record of a library call tells: types of numbers, families of calls, layouts, modes of
 * computing. Spools and profiles hold these values, so a new one goes to the end. */
#ifndef GPUPROF_WIRE_CALL_TYPES_H
#define GPUPROF_WIRE_CALL_TYPES_H

#include <stdbool.h>
#include <stdint.h>

/* Types of numbers, by the names that the libraries' documentation uses. */
enum spool_dtype {
    SPOOL_DT_UNKNOWN,
    SPOOL_DT_F64,
    SPOOL_DT_F32,
    SPOOL_DT_TF32,
    SPOOL_DT_F16,
    SPOOL_DT_BF16,
    SPOOL_DT_F8E4M3,
    SPOOL_DT_F8E5M2,
    SPOOL_DT_I8,
    SPOOL_DT_I32,
    SPOOL_DT_OTHER
};

enum spool_call_family {
    SPOOL_CALL_OTHER,
    SPOOL_CALL_GEMM,
    SPOOL_CALL_CONV_FWD,
    SPOOL_CALL_CONV_DGRAD,
    SPOOL_CALL_CONV_WGRAD,
    SPOOL_CALL_NORM,
    SPOOL_CALL_POOL,
    SPOOL_CALL_ACTIVATION,
    SPOOL_CALL_SOFTMAX,
    SPOOL_CALL_BIAS,
    SPOOL_CALL_COLLECTIVE,
    SPOOL_CALL_FIND /* autotuning */
};

/* True for a convolution: forward, or one of the two halves of its backward pass. */
static inline bool spool_call_convolves(int64_t family)
{
    return family == SPOOL_CALL_CONV_FWD || family == SPOOL_CALL_CONV_DGRAD ||
           family == SPOOL_CALL_CONV_WGRAD;
}

enum spool_layout {
    SPOOL_LAYOUT_UNKNOWN,
    SPOOL_LAYOUT_NCHW,
    SPOOL_LAYOUT_NHWC,
    SPOOL_LAYOUT_ROW,
    SPOOL_LAYOUT_COL
};

enum spool_math {
    SPOOL_MATH_DEFAULT,
    SPOOL_MATH_TENSOR_OP,
    SPOOL_MATH_ALLOW_CONVERSION,
    SPOOL_MATH_FMA,
    SPOOL_MATH_TF32
};

#endif
