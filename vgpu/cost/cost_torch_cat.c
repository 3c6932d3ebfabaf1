/* torch.cat as ATen launches it (Shape.cu): a row of blocks for each tensor that is read. */
#include "cost/cost_torch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Time of an element, in bytes, if its place is computed from sizes and strides: 15 to 20 in GPT-2
 * and ViT on an H200, 29 if one of two tensors is short. */
static const double indexed_bytes = 19;

/* Number of elements, from CatArrInputTensorMetadata<T, IndexType, BATCH, ...>: addresses, offsets,
 * sizes along the dimension, then the number of elements of each tensor. */
static double elements_of(const struct torch_launch *l)
{
    enum { BATCH_MOST = 1024 };
    const char *types = strstr(l->name, "EjLi"), *metadata = l->args ? l->args[1] : NULL;
    const char *batch =
        types ? strstr(types + 4, "ELi") : NULL; /* behind the number of dimensions */
    long n = batch ? strtol(batch + 3, NULL, 10) : 0;
    double sum = 0;
    if (!metadata || n < 1 || n > BATCH_MOST ||
        l->grid[1] > n) /* 64-bit indices: more than BATCH_MOST */
        return 0;
    const char *counts = metadata + (size_t)n * (8 + 4 + 4);
    for (unsigned i = 0; i < l->grid[1]; i++) {
        uint32_t count;
        memcpy(&count, counts + 4 * (size_t)i, sizeof count);
        sum += count;
    }
    return sum;
}

double torch_cat(const struct torch_launch *l)
{
    double elements = elements_of(l);
    double each = torch_number_behind(l->name, "OpaqueTypeILj", 4);
    if (elements <= 0)
        return torch_memory(l, l->threads * 2 * each, l->p->layout_eff);
    bool straight = strstr(l->name, "_contig") || strstr(l->name, "_vectorized");
    double bytes = 2 * each / 0.8;
    return torch_memory(l, elements * (straight ? bytes : fmax(bytes, indexed_bytes)), 1);
}
