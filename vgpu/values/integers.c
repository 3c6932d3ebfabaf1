/* Small integer results of PyTorch's kernels (ranges, running sums, joined tensors), which programs
 * read back as sizes and indices. */
#include "values/integers.h"

#include "values/cast.h"
#include "core/core_state.h"

#include <stdio.h>
#include <string.h>

enum vg_integers vg_integers_of(const char *name)
{
    if (strstr(name, "30CatArrayBatchedCopy_vectorizedI") || strstr(name, "CatArrayBatchedCopyI") ||
        (strstr(name, "CatArrayBatchedCopy_") && strstr(name, "contigI")))
        return VG_JOIN;
    enum vg_integers other = vg_numbers_of(name);
    if (other == VG_NO_INTEGERS)
        other = vg_places_of(name);
    if (other == VG_NO_INTEGERS)
        other = vg_elements_known(name) ? VG_ELEMENTS : vg_flags_of(name);
    if (other == VG_NO_INTEGERS)
        other = vg_draws_of(name);
    if (other != VG_NO_INTEGERS)
        return other;
    if (strstr(name, "19compute_cuda_kernelIlEvPKT_PKlPS0_ll"))
        return VG_REPEAT;
    bool sum = strstr(name, "16DeviceScanKernelI") && strstr(name, "EPKlPl") &&
               strstr(name, "St4plusIlE") && strstr(name, "8NullType");
    return sum ? VG_RUNNING_SUM : VG_NO_INTEGERS;
}

/* Arguments: the addresses of input and result, CUB's state (three), an initial value, the count.
 * Writes zeros if the input holds no lengths, because a kernel has made it or other numbers were
 * there. */
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
    if (n > VG_MOST_INTEGERS || !vg_within(vg_stretch_of(from), from, n * sizeof *from) ||
        !vg_within(vg_stretch_of(to), to, n * sizeof *to))
        return;
    bool lengths = true;
    for (uint32_t i = 0; i < n; i++)
        lengths = lengths && vg_is_count(from[i]);
    for (uint32_t i = 0; i < n; i++)
        to[i] = sum += lengths ? from[i] : 0;
}

/* repeat_interleave(). Arguments: the addresses of repeats, of their running sums and of the
 * result, the number of repeats, the number of results. */
static void repeat(void *const *args)
{
    const int64_t *repeats, *ends;
    int64_t *to, n, results;
    for (int i = 1; i < 5; i++)
        if (!args[i])
            return;
    memcpy(&repeats, args[0], sizeof repeats);
    memcpy(&ends, args[1], sizeof ends);
    memcpy(&to, args[2], sizeof to);
    memcpy(&n, args[3], sizeof n);
    memcpy(&results, args[4], sizeof results);
    if (n <= 0 || n > VG_MOST_INTEGERS || results <= 0 || results > VG_MOST_INTEGERS ||
        !vg_within(vg_stretch_of(repeats), repeats, (size_t)n * sizeof *repeats) ||
        !vg_within(vg_stretch_of(ends), ends, (size_t)n * sizeof *ends) ||
        !vg_within(vg_stretch_of(to), to, (size_t)results * sizeof *to))
        return;
    for (int64_t i = 0, at = 0; i < n; i++)
        for (int64_t k = 0; k < repeats[i] && at < results && at < ends[i]; k++)
            to[at++] = i;
}

enum { CAT_DIMS = 4, CAT_MOST = 128 };

struct cat_shape { /* TensorSizeStride in Shape.cu */
    uint32_t size[CAT_DIMS], stride[CAT_DIMS];
};
/* CatArrInputTensorMetadata; the name shows the length of its arrays. */
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

/* The place of an input's element in the result, relative to its first element, in elements. */
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
        most > CAT_MOST || joined > most || !vg_is_integer(each) || (in_vectors && dims > 1))
        return;
    for (int i = 1; i < 5; i++)
        if (!args[i])
            return;
    memcpy(&to, args[0], sizeof to);
    read_inputs(&in, args[1], most, joined);
    memcpy(&out, args[2], sizeof out);
    memcpy(&dim, args[3], sizeof dim);
    memcpy(&stride, args[4], sizeof stride);
    struct vg_stretch within = vg_stretch_of(to);
    for (unsigned i = 0; i < joined; i++) {
        char *first = to + (size_t)in.offset[i] * stride * each;
        size_t bytes = (size_t)in.elements[i] * each;
        if ((!in_vectors && !in.contiguous[i]) || in.elements[i] > VG_MOST_INTEGERS ||
            !vg_within(vg_stretch_of(in.of[i]), in.of[i], bytes))
            continue;
        for (uint32_t e = 0; e < in.elements[i]; e++) {
            size_t place = in_vectors ? e : place_of(&out, dims, dim, in.size[i], e);
            char *at_e = first + place * each;
            if (!vg_within(within, at_e, each))
                break;
            memcpy(at_e, in.of[i] + (size_t)e * each, each);
        }
    }
}

void vg_integers_write(enum vg_integers what, const char *name, void *const *args,
                       const unsigned grid[2])
{
    switch (what) {
    case VG_RANGE:
        vg_range(name, args);
        break;
    case VG_RUNNING_SUM:
        running_sum(args);
        break;
    case VG_REPEAT:
        repeat(args);
        break;
    case VG_JOIN:
        join(name, args, grid[1]);
        break;
    case VG_SCATTER:
        vg_scatter(name, args);
        break;
    case VG_INDEX:
        vg_index(name, args);
        break;
    case VG_ELEMENTS:
        vg_elements(name, args);
        break;
    case VG_COUNT_FLAGS:
        vg_count_flags(name, args, grid[0]);
        break;
    case VG_SELECT_FLAGS:
        vg_select_flags(args);
        break;
    case VG_DRAW_NUMBERS:
        vg_draw_numbers(name, args);
        break;
    case VG_DRAW:
        vg_draw(name, args);
        break;
    case VG_PERMUTE:
        vg_permute(args);
        break;
    case VG_TOP_K:
        vg_top_k(args);
        break;
    case VG_NO_INTEGERS:
    case VG_INTEGERS:
        break;
    }
}
