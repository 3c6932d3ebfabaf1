/* The arithmetic of library calls and of PyTorch's operators, from their shapes. A multiplication
 * and an addition are two operations; tricks that need fewer (Winograd, a causal mask that skips
 * half) are not taken off, as in published figures. */
#ifndef GPUPROF_MEASURE_ARITHMETIC_H
#define GPUPROF_MEASURE_ARITHMETIC_H

#include "analyzer/profile/rows.h"

#include <stdbool.h>

/* Elements of a convolution's output, and of the weights behind one of its channels. */
double arithmetic_conv_out(const struct row_call *c);
double arithmetic_conv_filter(const struct row_call *c);
/* A product of matrices, or a convolution or a half of its backward pass; 0: another call, or a
 * size is not known. */
double arithmetic_of_call(const struct row_call *c);

/* The operators whose shapes tell their arithmetic. */
enum arithmetic_operator {
    OPERATOR_NONE,
    OPERATOR_PRODUCT,            /* of the first two inputs */
    OPERATOR_SUM_PRODUCT,        /* of the second and third: the first is added */
    OPERATOR_CONV,               /* input, weight: the output's size must be known */
    OPERATOR_CONV_PADDED,        /* the same, or lists: padding, stride, dilation */
    OPERATOR_CONV_BACKWARD,      /* the output's gradient, input, weight */
    OPERATOR_ATTENTION,          /* query, key: batch, heads, length, width */
    OPERATOR_ATTENTION_BACKWARD, /* the output's gradient, then the same */
    OPERATOR_ATTENTION_LENGTH,   /* batch, length, heads, width */
    OPERATOR_ATTENTION_LENGTH_BACKWARD,
};
enum arithmetic_operator arithmetic_operator_of(const char *name);

/* `shapes`: as in range.shapes, "64 x 3 x 224 x 224 float, ...". `out`: elements of a convolution's
 * output; 0: not known, so lists must tell it. Returns 0 if a size is missing. */
double arithmetic_of_operator(enum arithmetic_operator what, const char *shapes, double out);
/* enum spool_dtype of the first input; SPOOL_DT_UNKNOWN: no type, or another one. */
int arithmetic_operator_dtype(const char *shapes);
/* For a backward convolution: elements of the output, and a number for its input and weight, which
 * are the same in the forward pass. False: a size is missing. */
bool arithmetic_conv_output(enum arithmetic_operator what, const char *shapes, double *out,
                            uint64_t *of);

#endif
