/* One kernel that takes most of the GPU's time, whatever can be said of the rest. */
#ifndef GPUPROF_QUERIES_DOMINANT_H
#define GPUPROF_QUERIES_DOMINANT_H

#include "analyzer/queries/query.h"

struct query_dominant {
    const struct kernel_total *kernel; /* NULL: there is none */
    int64_t ns;                        /* per step */
    const char *name;                  /* as it is shown */
    const char
        *function; /* "cdist_kernel" of "void at::cdist_kernel<float>"; NULL: no identifier */
    const char *in, *line; /* the innermost range around its launch, the line; NULL: not known */
};

/* More than half of the kernels' time; no exchange between ranks, which may only wait. */
struct query_dominant query_dominant(const struct facts *f, struct arena *arena);
/* The identifier in a kernel's name: people paste it, and a recording may come from anywhere. */
const char *query_kernel_function(const char *kernel, struct arena *arena);

#endif
