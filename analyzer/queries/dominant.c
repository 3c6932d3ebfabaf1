/* Finds the kernel that takes more than half of the GPU's time, and its place in the program. */
#include "analyzer/queries/dominant.h"

#include <ctype.h>
#include <string.h>

const char *query_kernel_function(const char *kernel, struct arena *arena)
{
    size_t n = strcspn(kernel, "<("), from = n;
    while (from > 0 && !strchr(": ", kernel[from - 1]))
        from--;
    for (size_t i = from; i < n; i++)
        if (!isalnum((unsigned char)kernel[i]) && kernel[i] != '_')
            return NULL;
    return from == n ? NULL : arena_printf(arena, "%.*s", (int)(n - from), kernel + from);
}

struct query_dominant query_dominant(const struct facts *f, struct arena *arena)
{
    const struct kernel_total *k = f->totals.kernel_count ? &f->totals.kernels[0] : NULL;
    if (!k || k->class.family == FAMILY_COMM || 2 * k->total_ns <= f->totals.kernel_ns)
        return (struct query_dominant){.kernel = NULL};
    uint32_t api = k->longest == TL_NONE ? TL_NONE : f->tl->ops[k->longest].api;
    uint32_t caller = api == TL_NONE ? 0 : f->tl->apis[api].caller;
    const char *name = tl_text(f->tl, k->name);
    return (struct query_dominant){.kernel = k,
                                   .ns = per_step(f, k->total_ns),
                                   .name = name,
                                   .function = query_kernel_function(name, arena),
                                   .in = api == TL_NONE ? NULL : query_range_of(f, api),
                                   .line = caller ? tl_text(f->tl, caller) : NULL};
}
