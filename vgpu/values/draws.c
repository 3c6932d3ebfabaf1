/* Writes results of random integers, permutations and top-k. Any values in the range serve, because
 * a program cannot know which ones to expect. A permutation is the identity, and top-k takes the
 * first elements. */
#include "values/cast.h"
#include "values/integers.h"

#include <stdatomic.h>
#include <string.h>

enum vg_integers vg_draws_of(const char *name)
{
    if (strstr(name, "43distribution_elementwise_grid_stride_kernel") &&
        strstr(name, "21random_from_to_kernel") &&
        (strstr(name, "27distribution_nullary_kernelIl") ||
         strstr(name, "27distribution_nullary_kernelIi")))
        return VG_DRAW;
    if (strstr(name, "37randperm_handle_duplicate_keys_kernel") && strstr(name, "OpaqueTypeILi8E"))
        return VG_PERMUTE;
    return strstr(name, "topk10gatherTopKI") && strstr(name, "6native") ? VG_TOP_K : VG_NO_INTEGERS;
}

/* splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014). */
uint64_t vg_drawn(void)
{
    static _Atomic uint64_t seed;
    uint64_t x = atomic_fetch_add(&seed, 0x9e3779b97f4a7c15u);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Arguments: the count, the generator's state, a function, and an object with the address and the
 * range of the draws. */
void vg_draw(const char *name, void *const *args)
{
    size_t each = strstr(name, "27distribution_nullary_kernelIl") ? 8 : 4;
    int32_t n; /* numbers of 4 or 8 bytes */
    struct {
        char *to;
        int32_t stride;
        uint64_t range;
        int64_t base;
    } into;
    if (!args[1] || !args[2] || !args[3])
        return;
    memcpy(&n, args[0], sizeof n);
    memcpy(&into, args[3], sizeof into);
    if (n <= 0 || n > VG_MOST_INTEGERS || into.range == 0 || into.stride != (int32_t)each ||
        !vg_within(vg_stretch_of(into.to), into.to, (size_t)n * each))
        return;
    for (uint32_t i = 0; i < (uint32_t)n; i++) {
        uint64_t value = (uint64_t)into.base + vg_drawn() % into.range;
        memcpy(into.to + i * each, &value, each); /* little-endian, like the device */
    }
}

/* Arguments: the addresses of keys and numbers, a mask, the count. */
void vg_permute(void *const *args)
{
    int64_t *to;
    int32_t n;
    if (!args[1] || !args[2] || !args[3])
        return;
    memcpy(&to, args[1], sizeof to);
    memcpy(&n, args[3], sizeof n);
    if (n <= 0 || n > VG_MOST_INTEGERS || !vg_within(vg_stretch_of(to), to, (size_t)n * sizeof *to))
        return;
    for (int32_t i = 0; i < n; i++)
        to[i] = i;
}

struct tensor { /* TensorInfo; strides in elements */
    int64_t *data;
    uint32_t size[25], stride[25];
    int32_t dims;
};

static size_t slice_of(const struct tensor *t, uint32_t slice)
{
    size_t at = 0;
    for (int32_t d = t->dims - 1; d > 0; d--) {
        if (t->size[d] == 0)
            return 0;
        at += (size_t)(slice % t->size[d]) * t->stride[d];
        slice /= t->size[d];
    }
    return at + (size_t)slice * t->stride[0];
}

/* Arguments: the input, the size of its slices, k, which end, the number of slices, a stride, the
 * values, their stride, the indices, their stride. */
void vg_top_k(void *const *args)
{
    struct tensor to;
    uint32_t k, slices, stride;
    for (int i = 1; i < 10; i++)
        if (!args[i])
            return;
    memcpy(&k, args[2], sizeof k);
    memcpy(&slices, args[4], sizeof slices);
    memcpy(&to, args[8], sizeof to);
    memcpy(&stride, args[9], sizeof stride);
    if (to.dims <= 0 || to.dims > 25 || (uint64_t)k * slices > VG_MOST_INTEGERS)
        return;
    struct vg_stretch within = vg_stretch_of(to.data);
    for (uint32_t s = 0; s < slices; s++)
        for (uint32_t i = 0; i < k; i++) {
            int64_t *at = to.data + slice_of(&to, s) + (size_t)i * stride;
            if (!vg_within(within, at, sizeof *at))
                return;
            *at = i;
        }
}
