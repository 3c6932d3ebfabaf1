/* Moves small data as scatter(), gather() and tensor[indices] do, if the indices are valid. */
#include "values/cast.h"
#include "values/integers.h"

#include <stdio.h>
#include <string.h>

enum { MOST_INDICES = 25 };

enum vg_integers vg_places_of(const char *name)
{
    if (strstr(name, "34_scatter_gather_elementwise_kernelI") &&
        (strstr(name, "12TensorAssign") ? strstr(name, "10OpaqueTypeILi8E") != NULL
                                        : strstr(name, "EllEclINS0_9ReduceAdd") != NULL))
        return VG_SCATTER;
    bool index = strstr(name, "16gpu_index_kernelI") && strstr(name, "17index_kernel_impl") &&
                 strstr(name, "10OpaqueTypeILi");
    return index ? VG_INDEX : VG_NO_INTEGERS;
}

struct offsets { /* OffsetCalculator<3>, in bytes: of the result, the source and the index */
    int32_t dims;
    struct {
        uint32_t size, magic, shift;
    } by[25];
    uint32_t of[25][3];
};

static void offsets_of(const struct offsets *o, uint32_t i, size_t at[3])
{
    at[0] = at[1] = at[2] = 0;
    for (int32_t d = 0; d < o->dims && d < 25 && o->by[d].size; d++) {
        for (int k = 0; k < 3; k++)
            at[k] += (size_t)(i % o->by[d].size) * o->of[d][k];
        i /= o->by[d].size;
    }
}

/* The work of scatter() and gather(), as ScatterGatherKernel.cu passes it. */
struct scattering {
    struct offsets offsets;
    const char *index;
    int64_t size, how;
    char *to;
    int64_t stride, elements;
    const char *from;
};

/* Arguments: the count, and a struct scattering. */
void vg_scatter(const char *name, void *const *args)
{
    enum { EACH = 8 };
    bool scatters = strstr(name, "internal_kernelILb1E"), adds = strstr(name, "9ReduceAdd");
    struct scattering p;
    int32_t n;
    if (!args[1])
        return;
    memcpy(&n, args[0], sizeof n);
    memcpy(&p, args[1], sizeof p);
    struct vg_stretch indices = vg_stretch_of(p.index), to = vg_stretch_of(p.to),
                      from = vg_stretch_of(p.from);
    for (uint32_t i = 0; n <= VG_MOST_INTEGERS && (int32_t)i < n; i++) {
        size_t at[3];
        int64_t index, values[2];
        offsets_of(&p.offsets, i, at);
        if (!vg_within(indices, p.index + at[2], sizeof index))
            return;
        memcpy(&index, p.index + at[2], sizeof index);
        if (index < 0 || index >= p.size)
            return; /* another kernel has made it, or numbers were there */
        at[scatters ? 0 : 1] += (size_t)index * (size_t)p.stride * EACH;
        if (!vg_within(to, p.to + at[0], EACH) || !vg_within(from, p.from + at[1], EACH))
            return;
        memcpy(&values[0], p.to + at[0], EACH);
        memcpy(&values[1], p.from + at[1], EACH);
        if (adds)
            values[1] = (int64_t)((uint64_t)values[1] + (uint64_t)values[0]);
        memcpy(p.to + at[0], &values[1], EACH);
    }
}

/* The work of tensor[indices], as IndexKernel.cu passes it; strides in bytes. */
struct indexing {
    struct offsets offsets;
    char *to;
    const char *from;
    int64_t count;
    const char *index[MOST_INDICES];
    int64_t size[MOST_INDICES], stride[MOST_INDICES];
};

static bool place_by(const struct indexing *p, struct vg_stretch indices, size_t at_index,
                     size_t *place)
{
    *place = 0;
    for (int64_t k = 0; k < p->count; k++) {
        int64_t index;
        if (!vg_within(indices, p->index[k] + at_index, sizeof index))
            return false;
        memcpy(&index, p->index[k] + at_index, sizeof index);
        if (p->size[k] <= 0 || index < -p->size[k] || index >= p->size[k])
            return false;
        *place += (size_t)(index < 0 ? index + p->size[k] : index) * (size_t)p->stride[k];
    }
    return true;
}

/* Arguments: the count, and a struct indexing. */
void vg_index(const char *name, void *const *args)
{
    struct indexing p;
    int64_t n;
    size_t place;
    unsigned each;
    const char *type = strstr(name, "10OpaqueTypeILi");
    if (!args[1] || !type || sscanf(type, "10OpaqueTypeILi%uE", &each) != 1 || !vg_is_integer(each))
        return;
    memcpy(&n, args[0], sizeof n);
    memcpy(&p, args[1], sizeof p);
    if (n > VG_MOST_INTEGERS || p.count <= 0 || p.count > MOST_INDICES)
        return;
    struct vg_stretch indices = vg_stretch_of(p.index[0]), to = vg_stretch_of(p.to),
                      from = vg_stretch_of(p.from);
    for (uint32_t i = 0; (int64_t)i < n; i++) {
        size_t at[3];
        offsets_of(&p.offsets, i, at);
        if (!place_by(&p, indices, at[2], &place))
            return;
        const char *source = p.from + at[1] + place;
        if (!vg_within(to, p.to + at[0], each) || !vg_within(from, source, each))
            return;
        memmove(p.to + at[0], source, each);
    }
}
