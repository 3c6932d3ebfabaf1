/* Counts what the training thread launches while it makes batches. See made_on_gpu.h. */
#include "analyzer/queries/input/made_on_gpu.h"

#include "wire/spool_format.h"

#include <stdlib.h>

static int by_start(const void *a, const void *b)
{
    const struct row_loader *x = *(const struct row_loader *const *)a,
                            *y = *(const struct row_loader *const *)b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* The batches that the training thread makes itself, in time. */
static size_t own_batches(const struct facts *f, const struct row_loader **at)
{
    const struct timeline *t = f->tl;
    size_t n = 0;
    for (size_t i = 0; i < t->loader_count; i++)
        if (t->loaders[i].what == SPOOL_LOADER_FETCH &&
            timeline_thread_index(t, t->loaders[i].thread) == f->steps.main_thread)
            at[n++] = &t->loaders[i];
    if (n)
        qsort(at, n, sizeof *at, by_start);
    return n;
}

double query_launches_of_batch(const struct facts *f, struct arena *arena, bool computes)
{
    const struct timeline *t = f->tl;
    const struct row_loader **at = arena_array(arena, t->loader_count + 1, sizeof *at);
    size_t n = at ? own_batches(f, at) : 0, launches = 0;
    for (uint32_t i = 0; n && i < t->op_count; i++) {
        const struct api *call = t->ops[i].api == TL_NONE ? NULL : &t->apis[t->ops[i].api];
        if (!call || call->thread != f->steps.main_thread ||
            (computes && t->ops[i].kind != OP_KERNEL))
            continue;
        size_t low = 0, high = n;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (at[middle]->start_ns <= call->start_ns)
                low = middle + 1;
            else
                high = middle;
        }
        launches += low > 0 && call->start_ns < at[low - 1]->end_ns;
    }
    return n ? (double)launches / (double)n : 0;
}
