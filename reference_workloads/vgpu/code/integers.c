#include "reference_workloads/vgpu/code/integers.h"

#include "reference_workloads/vgpu/code/cast.h"
#include "reference_workloads/vgpu/core/core_state.h"

#include <stdio.h>
#include <string.h>

enum { LARGEST = 1 << 24 /* of lengths, counts and indices */ };

enum vg_integers vg_integers_of(const char *name)
{
    if (strstr(name, "30CatArrayBatchedCopy_vectorizedI") || strstr(name, "CatArrayBatchedCopyI") ||
        (strstr(name, "CatArrayBatchedCopy_") && strstr(name, "contigI")))
        return VG_JOIN;
    if (strstr(name, "29elementwise_kernel_with_indexI") && strstr(name, "15arange_cuda_out"))
        return VG_RANGE;
    if (strstr(name, "34_scatter_gather_elementwise_kernelI") && strstr(name, "12TensorAssign") &&
        strstr(name, "10OpaqueTypeILi8E"))
        return VG_PLACE;
    bool sum = strstr(name, "16DeviceScanKernelI") && strstr(name, "EPKlPl") &&
               strstr(name, "St4plusIlE") && strstr(name, "8NullType");
    return sum ? VG_RUNNING_SUM : VG_NO_INTEGERS;
}

static bool small(const char *at, size_t bytes)
{
    return bytes > 0 && bytes <= vg_core.copy_limit && vg_writable(at) &&
           vg_writable(at + bytes - 1);
}

/* Arguments: how many, start and step, the address. The lambdas of a dispatch are numbered by type.
 */
static void range(const char *name, void *const *args)
{
    size_t each = strstr(name, "NKUlvE2_clEv") ? 8 : strstr(name, "NKUlvE1_clEv") ? 4 : 0;
    int32_t n;
    int64_t from[2];
    char *to;
    if (each == 0 || !args[1] || !args[2])
        return;
    memcpy(&n, args[0], sizeof n);
    memcpy(from, args[1], sizeof from);
    memcpy(&to, args[2], sizeof to);
    if (n <= 0 || !small(to, (size_t)n * each))
        return;
    for (uint64_t i = 0; i < (uint64_t)n; i++) {
        uint64_t value = (uint64_t)from[0] + (uint64_t)from[1] * i;
        memcpy(to + i * each, &value, each); /* little-endian, as the device */
    }
}

/* Arguments: the addresses of input and result, CUB's state (three), an initial value, how many.
 * Zeros where the input holds no lengths: a kernel has made it, or other numbers lay there. */
static void running_sum(void *const *args)
{
    uint32_t n;
    const int64_t *from;
    int64_t *to, sum = 0;
    for (int i = 1; i < 7; i++)
        if (!args[i])
            return;
    memcpy(&from, args[0], sizeof from);
    memcpy(&to, args[1], sizeof to);
    memcpy(&n, args[6], sizeof n);
    if (!small((const char *)from, n * sizeof *from) || !small((char *)to, n * sizeof *to))
        return;
    bool lengths = true;
    for (uint32_t i = 0; i < n; i++)
        lengths = lengths && from[i] <= LARGEST && from[i] >= -LARGEST;
    for (uint32_t i = 0; i < n; i++)
        to[i] = sum += lengths ? from[i] : 0;
}

enum { CAT_DIMS = 4, CAT_MOST = 128 };

struct cat_shape { /* TensorSizeStride in Shape.cu */
    uint32_t size[CAT_DIMS], stride[CAT_DIMS];
};
/* CatArrInputTensorMetadata, whose arrays are as long as the name says. */
struct cat_inputs {
    const char *of[CAT_MOST];
    uint32_t offset[CAT_MOST], size[CAT_MOST], elements[CAT_MOST];
    bool contiguous[CAT_MOST];
};

static void read_inputs(struct cat_inputs *in, const char *argument, size_t most, unsigned n)
{
    memcpy(in->of, argument, n * sizeof *in->of);
    argument += most * sizeof *in->of;
    memcpy(in->offset, argument, n * sizeof *in->offset);
    argument += most * sizeof *in->offset;
    memcpy(in->size, argument, n * sizeof *in->size);
    argument += most * sizeof *in->size;
    memcpy(in->elements, argument, n * sizeof *in->elements);
    memcpy(in->contiguous, argument + most * sizeof *in->elements, n);
}

/* The place of an input's element in the result, from that of its first, in elements. */
static size_t place_of(const struct cat_shape *out, unsigned dims, int dim, uint32_t size,
                       uint32_t element)
{
    size_t place = 0;
    for (unsigned d = dims - 1; d >= 1; d--) {
        uint32_t of = (int)d == dim ? size : out->size[d];
        if (of == 0)
            return 0;
        place += (size_t)(element % of) * out->stride[d];
        element /= of;
    }
    return place + (size_t)element * out->stride[0];
}

/* Arguments: the result's address, the inputs, the result's shape, the dimension and its stride.
 * Only inputs without gaps. */
static void join(const char *name, void *const *args, unsigned joined)
{
    const char *types = strstr(name, "10OpaqueTypeILj"),
               *at = types ? strstr(types, "EEjLi") : NULL;
    bool in_vectors = strstr(name, "_vectorizedI") != NULL;
    unsigned each, dims, most;
    struct cat_inputs in;
    struct cat_shape out;
    int32_t dim;
    uint32_t stride;
    char *to;
    if (!at || sscanf(types, "10OpaqueTypeILj%u", &each) != 1 ||
        sscanf(at, "EEjLi%uELi%uE", &dims, &most) != 2 || dims == 0 || dims > CAT_DIMS ||
        most > CAT_MOST || joined > most || each > 8 || (in_vectors && dims > 1))
        return;
    for (int i = 1; i < 5; i++)
        if (!args[i])
            return;
    memcpy(&to, args[0], sizeof to);
    read_inputs(&in, args[1], most, joined);
    memcpy(&out, args[2], sizeof out);
    memcpy(&dim, args[3], sizeof dim);
    memcpy(&stride, args[4], sizeof stride);
    for (unsigned i = 0; i < joined; i++) {
        char *first = to + (size_t)in.offset[i] * stride * each;
        if (!in_vectors && !in.contiguous[i])
            continue;
        if (!small(in.of[i], (size_t)in.elements[i] * each))
            continue;
        for (uint32_t e = 0; e < in.elements[i]; e++) {
            size_t place = in_vectors ? e : place_of(&out, dims, dim, in.size[i], e);
            char *at_e = first + place * each;
            if (!vg_writable(at_e) || !vg_writable(at_e + each - 1))
                break;
            memcpy(at_e, in.of[i] + (size_t)e * each, each);
        }
    }
}

/* What scatter() and gather() of 8 bytes are told of their work, in ScatterGatherKernel.cu. */
struct placing {
    struct { /* OffsetCalculator<3>, in bytes: of the result, the source and the index */
        int32_t dims;
        struct {
            uint32_t size, magic, shift;
        } by[25];
        uint32_t of[25][3];
    } places;
    const char *index;
    int64_t size, how;
    char *to;
    int64_t stride, elements;
    const char *from;
};

static void places_of(const struct placing *p, uint32_t i, size_t at[3])
{
    at[0] = at[1] = at[2] = 0;
    for (int32_t d = 0; d < p->places.dims && d < 25 && p->places.by[d].size; d++) {
        for (int k = 0; k < 3; k++)
            at[k] += (size_t)(i % p->places.by[d].size) * p->places.of[d][k];
        i /= p->places.by[d].size;
    }
}

/* Arguments: how many, and the above. */
static void place(const char *name, void *const *args)
{
    enum { EACH = 8 };
    bool scatters = strstr(name, "internal_kernelILb1E") != NULL;
    struct placing p;
    int32_t n;
    if (!args[1])
        return;
    memcpy(&n, args[0], sizeof n);
    memcpy(&p, args[1], sizeof p);
    if (n <= 0 || (size_t)n * EACH > vg_core.copy_limit)
        return;
    for (uint32_t i = 0; i < (uint32_t)n; i++) {
        size_t at[3];
        int64_t index;
        places_of(&p, i, at);
        if (!small(p.index + at[2], EACH))
            return;
        memcpy(&index, p.index + at[2], sizeof index);
        if (index < 0 || index >= p.size)
            return; /* a kernel has made it, or other numbers lay there */
        at[scatters ? 0 : 1] += (size_t)(index * p.stride) * EACH;
        if (!small(p.to + at[0], EACH) || !small(p.from + at[1], EACH))
            return;
        memcpy(p.to + at[0], p.from + at[1], EACH);
    }
}

void vg_integers_write(enum vg_integers what, const char *name, void *const *args, unsigned joined)
{
    if (what == VG_RANGE)
        range(name, args);
    else if (what == VG_PLACE)
        place(name, args);
    else if (what == VG_RUNNING_SUM)
        running_sum(args);
    else if (what == VG_JOIN)
        join(name, args, joined);
}
