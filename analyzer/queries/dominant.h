/* The one kernel, if any, that takes most of the GPU's time. */
#ifndef GPUPROF_QUERIES_DOMINANT_H
#define GPUPROF_QUERIES_DOMINANT_H

#include "analyzer/queries/query.h"

struct query_dominant {
    const struct kernel_total *kernel; /* NULL: no kernel takes so much */
    int64_t ns;                        /* per step */
    const char *name;                  /* as reports show it */
    const char *function;              /* "cdist_kernel" for "void at::cdist_kernel<float>";
                                          NULL: no plain identifier */
    /* innermost range around its longest launch; line that launches it; NULL: not known */
    const char *in, *line;
};

/* The kernel with more than half of all kernel time. Collectives do not count,
 * because they may only wait. */
struct query_dominant query_dominant(const struct facts *f, struct arena *arena);
/* The function's identifier within a kernel's name. NULL if it contains anything but letters,
 * digits and underscores: users paste it into commands, and a recording may come from anywhere. */
const char *query_kernel_function(const char *kernel, struct arena *arena);

#endif
