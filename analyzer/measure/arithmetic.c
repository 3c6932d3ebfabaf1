/* Counts the arithmetic of calls and operators from their shapes. */
#include "analyzer/measure/arithmetic.h"

#include "base/str.h"
#include "wire/call_types.h"

#include <stdlib.h>
#include <string.h>

static int64_t out_size(int64_t in, int64_t k, int64_t stride, int64_t pad, int64_t dilation)
{
    int64_t reach = (dilation > 0 ? dilation : 1) * (k - 1) + 1;
    return stride > 0 && in + 2 * pad >= reach ? (in + 2 * pad - reach) / stride + 1 : 0;
}

/* dim: n c h w k r s stride pad dilation groups */
double arithmetic_conv_out(const struct row_call *c)
{
    const int64_t *d = c->dim;
    int64_t p = out_size(d[2], d[5], d[7], d[8], d[9]), q = out_size(d[3], d[6], d[7], d[8], d[9]);
    return (double)d[0] * (double)d[4] * (double)p * (double)q;
}

double arithmetic_conv_filter(const struct row_call *c)
{
    const int64_t *d = c->dim;
    return (double)d[1] / (double)(d[10] > 0 ? d[10] : 1) * (double)d[5] * (double)d[6];
}

double arithmetic_of_call(const struct row_call *c)
{
    if (spool_call_convolves(c->family))
        return 2 * arithmetic_conv_out(c) * arithmetic_conv_filter(c);
    if (c->family != SPOOL_CALL_GEMM)
        return 0;
    double batch = c->dim[3] > 1 ? (double)c->dim[3] : 1; /* dim: m n k batch */
    return 2 * batch * (double)c->dim[0] * (double)c->dim[1] * (double)c->dim[2];
}

enum arithmetic_operator arithmetic_operator_of(const char *name)
{
    static const struct {
        const char *name;
        enum arithmetic_operator what;
    } known[] = {
        {"aten::mm", OPERATOR_PRODUCT},
        {"aten::bmm", OPERATOR_PRODUCT},
        {"aten::_scaled_mm", OPERATOR_PRODUCT},
        {"aten::addmm", OPERATOR_SUM_PRODUCT},
        {"aten::baddbmm", OPERATOR_SUM_PRODUCT},
        {"aten::_addmm_activation", OPERATOR_SUM_PRODUCT},
        {"aten::cudnn_convolution", OPERATOR_CONV_PADDED},
        {"aten::miopen_convolution", OPERATOR_CONV_PADDED},
        {"aten::_convolution", OPERATOR_CONV},
        {"aten::convolution_backward", OPERATOR_CONV_BACKWARD},
        {"aten::_scaled_dot_product_flash_attention", OPERATOR_ATTENTION},
        {"aten::_scaled_dot_product_efficient_attention", OPERATOR_ATTENTION},
        {"aten::_scaled_dot_product_cudnn_attention", OPERATOR_ATTENTION},
        {"aten::_scaled_dot_product_flash_attention_backward", OPERATOR_ATTENTION_BACKWARD},
        {"aten::_scaled_dot_product_efficient_attention_backward", OPERATOR_ATTENTION_BACKWARD},
        {"aten::_scaled_dot_product_cudnn_attention_backward", OPERATOR_ATTENTION_BACKWARD},
        {"flash_attn::_flash_attn_forward", OPERATOR_ATTENTION_LENGTH},
        {"flash_attn::_flash_attn_backward", OPERATOR_ATTENTION_LENGTH_BACKWARD},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].what;
    return OPERATOR_NONE;
}

enum { INPUTS = 3, DIMS = 5 };

struct input {
    int64_t dim[DIMS];
    int dims;
    const char *from, *to; /* its text */
};

/* Behind "[3 x 5], ", lists of tensors, which these operators do not multiply. */
static const char *skip_lists(const char *s)
{
    while (*s == '[') {
        s += strcspn(s, "]");
        s += strspn(s, "], ");
    }
    return s;
}

/* Reads the first inputs of "64 x 3 x 224 x 224 float, 10"; returns their number. */
static int read_inputs(const char *s, struct input *in)
{
    int n = 0;
    for (s = skip_lists(s); n < INPUTS && *s >= '0' && *s <= '9'; s = skip_lists(s)) {
        struct input *i = &in[n++];
        char *end;
        *i = (struct input){.from = s};
        for (;;) {
            int64_t dim = strtoll(s, &end, 10);
            if (i->dims < DIMS)
                i->dim[i->dims] = dim;
            i->dims++;
            s = end;
            if (strncmp(s, " x ", 3) != 0)
                break;
            s += 3;
        }
        i->to = s;
        s += strcspn(s, ",");
        s += strspn(s, ", ");
    }
    return n;
}

static double elements(const struct input *i)
{
    double n = 1;
    for (int k = 0; k < i->dims && k < DIMS; k++)
        n *= (double)i->dim[k];
    return i->dims > 0 && i->dims <= DIMS ? n : 0;
}

/* [batch x] m x k times [batch x] k x n */
static double product(const struct input *a, const struct input *b)
{
    int n = a->dims;
    if (n < 2 || n > 3 || b->dims != n || a->dim[n - 1] != b->dim[n - 2])
        return 0;
    return 2 * elements(a) * (double)b->dim[n - 1];
}

/* A weight is k x c/groups x r x s: each element of the output sums one row of it. */
static double convolution(const struct input *weight, double out)
{
    return weight->dims >= 3 && weight->dim[0] > 0
               ? 2 * out * elements(weight) / (double)weight->dim[0]
               : 0;
}

enum { LISTS = 3, SPACE = 3, SIDE_MOST = 1 << 24 /* larger sizes and steps are damage */ };

/* Reads the first lists of numbers, "[2, 2]"; returns how many. */
static int read_lists(const char *s, int64_t list[LISTS][SPACE])
{
    int n = 0;
    for (s = strchr(s, '['); s && n < LISTS; s = strchr(s, '['), n++) {
        char *end = (char *)s;
        for (int i = 0; i < SPACE && *end != ']'; i++) {
            list[n][i] = strtoll(end + 1, &end, 10);
            if (*end != ',' && *end != ']')
                return 0;
        }
        s = end;
    }
    return n;
}

/* Returns how many elements the output of a convolution has; 0: a size is missing. */
static double conv_elements(const struct input *in, const struct input *weight, const char *shapes)
{
    int64_t list[LISTS][SPACE] = {{0}};
    int space = in->dims - 2;
    if (space < 1 || space > SPACE || weight->dims != in->dims || read_lists(shapes, list) < LISTS)
        return 0;
    double n = (double)in->dim[0] * (double)weight->dim[0];
    for (int i = 0; i < space; i++) {
        int64_t in_side = in->dim[2 + i], side = weight->dim[2 + i];
        const int64_t all[] = {in_side, side, list[0][i], list[1][i], list[2][i]};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            if (all[k] < 0 || all[k] > SIDE_MOST)
                return 0;
        n *= (double)out_size(in_side, side, list[1][i], list[0][i], list[2][i]);
    }
    return n;
}

/* Two products of length x length x width for each head. */
static double attention(const struct input *query, const struct input *key, int length)
{
    if (query->dims != 4 || key->dims != 4)
        return 0;
    return 4 * elements(query) * (double)key->dim[length];
}

double arithmetic_of_operator(enum arithmetic_operator what, const char *shapes, double out)
{
    enum { HEADS_FIRST = 2, LENGTH_FIRST = 1 };
    /* both products again for the scores, and two more for each of the two gradients behind them */
    const double backward = 2.5;
    struct input in[INPUTS] = {{.dims = 0}};
    read_inputs(shapes, in);
    switch (what) {
    case OPERATOR_PRODUCT:
        return product(&in[0], &in[1]);
    case OPERATOR_SUM_PRODUCT:
        return product(&in[1], &in[2]);
    case OPERATOR_CONV:
        return convolution(&in[1], out);
    case OPERATOR_CONV_PADDED:
        return convolution(&in[1], out > 0 ? out : conv_elements(&in[0], &in[1], shapes));
    case OPERATOR_CONV_BACKWARD: /* the gradients of the input and of the weight */
        return 2 * convolution(&in[2], elements(&in[0]));
    case OPERATOR_ATTENTION:
        return attention(&in[0], &in[1], HEADS_FIRST);
    case OPERATOR_ATTENTION_BACKWARD:
        return backward * attention(&in[1], &in[2], HEADS_FIRST);
    case OPERATOR_ATTENTION_LENGTH:
        return attention(&in[0], &in[1], LENGTH_FIRST);
    case OPERATOR_ATTENTION_LENGTH_BACKWARD:
        return backward * attention(&in[1], &in[2], LENGTH_FIRST);
    default:
        return 0;
    }
}

int arithmetic_operator_dtype(const char *shapes)
{
    static const struct {
        const char *word;
        int dtype;
    } types[] = {{"double", SPOOL_DT_F64},         {"float", SPOOL_DT_F32},
                 {"BFloat16", SPOOL_DT_BF16},      {"Half", SPOOL_DT_F16},
                 {"Float8_e4m3", SPOOL_DT_F8E4M3}, {"Float8_e5m2", SPOOL_DT_F8E5M2}};
    const char *word = shapes + strspn(shapes, "0123456789 x");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strncmp(word, types[i].word, strlen(types[i].word)) == 0)
            return types[i].dtype;
    return SPOOL_DT_UNKNOWN;
}

static uint64_t number_of(const struct input *in)
{
    return str_hash(in[0].from, (size_t)(in[0].to - in[0].from)) * 31 +
           str_hash(in[1].from, (size_t)(in[1].to - in[1].from));
}

bool arithmetic_conv_output(enum arithmetic_operator what, const char *shapes, double *out,
                            uint64_t *of)
{
    struct input in[INPUTS] = {{.dims = 0}};
    int n = read_inputs(shapes, in);
    bool backward = what == OPERATOR_CONV_BACKWARD;
    if (n < (backward ? 3 : 2))
        return false;
    *out = backward ? elements(&in[0]) : 0;
    *of = number_of(backward ? in + 1 : in);
    return true;
}
