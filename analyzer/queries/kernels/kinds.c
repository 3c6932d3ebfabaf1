/* Counts operations of each kernel in the steps whose launches carry lines, all and marked. */
#include "analyzer/queries/kernels/kinds.h"

#include "analyzer/facts/lines.h"

#include <stdlib.h>

static int by_name(const void *a, const void *b)
{
    const struct query_kind *x = a, *y = b;
    return (x->name > y->name) - (x->name < y->name);
}

struct query_kinds query_kinds(const struct facts *f, struct arena *arena, const bool *marks)
{
    struct query_kinds k = {arena_array(arena, f->tl->op_count + 1, sizeof *k.at), 0};
    size_t n = 0;
    for (uint32_t i = 0; k.at && i < f->tl->op_count; i++)
        if (query_used(f, i) && facts_gpu_lines_sum(f, i))
            k.at[n++] = (struct query_kind){f->tl->ops[i].full_name, 1, marks[i]};
    if (n)
        qsort(k.at, n, sizeof *k.at, by_name);
    for (size_t i = 0; i < n; i++) {
        if (k.n && k.at[k.n - 1].name == k.at[i].name) {
            k.at[k.n - 1].all++;
            k.at[k.n - 1].marked += k.at[i].marked;
        } else
            k.at[k.n++] = k.at[i];
    }
    return k;
}

const struct query_kind *query_kind_of(const struct facts *f, const struct query_kinds *k,
                                       uint32_t op)
{
    struct query_kind want = {f->tl->ops[op].full_name, 0, 0};
    return k->n ? bsearch(&want, k->at, k->n, sizeof *k->at, by_name) : NULL;
}
