/* Carries marks from the steps whose launches carry lines to the others, by kernels: those of which
 * nearly all are marked there are marked everywhere. Cost: sorts the operations by name. */
#ifndef GPUPROF_QUERIES_KERNELS_KINDS_H
#define GPUPROF_QUERIES_KERNELS_KINDS_H

#include "analyzer/queries/query.h"

struct query_kind {
    uint32_t name;        /* of the kernel, or 0 for copies and memsets */
    uint32_t all, marked; /* operations in the steps that carry lines */
};

struct query_kinds {
    struct query_kind *at; /* sorted by name; NULL: out of memory */
    size_t n;
};

/* marks: by op; those of other steps are not read. */
struct query_kinds query_kinds(const struct facts *f, struct arena *arena, const bool *marks);
/* NULL: no such operation in the steps that carry lines. */
const struct query_kind *query_kind_of(const struct facts *f, const struct query_kinds *k,
                                       uint32_t op);
static inline bool query_kind_is_marked(const struct query_kind *k)
{
    return k && k->marked * 100 >= k->all * QUERY_ALMOST_PCT;
}

#endif
