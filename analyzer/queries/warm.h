/* One-time work in the analysed steps: creating the context, first allocations, loading or
 * compiling code on first use, capturing CUDA graphs; and after the GPU's last work the tear-down.
 * Only time in which the GPU was idle because of it counts. */
#ifndef GPUPROF_QUERIES_WARM_H
#define GPUPROF_QUERIES_WARM_H

#include "analyzer/queries/query.h"

struct query_warm {
    int64_t ns;         /* idle time of the GPU for it, over all used steps */
    int64_t host_ns;    /* the part of ns that is charged to 'other host work' */
    int64_t calls_ns;   /* the part of ns inside long first calls and captures */
    int64_t capture_ns; /* the part of calls_ns while CUDA graphs are captured and instantiated */
    int64_t compile_ns; /* the part of ns in compilation, before code that was just compiled */
    int64_t down_ns;    /* the part of ns after the GPU's last work */
    int64_t inside_ns;  /* the part of ns between the GPU's first work and its last */
    int64_t memory_ns;  /* time of the host in calls that allocate or free, without the call
                           that creates the context */
    int64_t code_ns;    /* time of the host in calls that load or unload code */
    int64_t first_ns; /* time of the host in the other calls: launches that load code, and others */
    int64_t context_ns; /* time of the host in the call that creates the context */
    int64_t calls;      /* number of these calls that begin before the GPU's last work ends */
    int64_t down_calls; /* number of those that begin later */
    int64_t captures;   /* number of CUDA graphs captured */
    uint32_t longest;   /* index of the longest of `calls`, or TL_NONE */
    uint32_t down;      /* index of the longest of `down_calls`, or TL_NONE */
    /* index of the call that creates the CUDA context, whatever its name: the first call of the
     * process that takes much longer than the others; or TL_NONE */
    uint32_t context;
    uint32_t compiled;    /* index of a range that compiles or runs what was
                             just compiled, or TL_NONE */
    uint32_t compiled_op; /* op of a kernel that was compiled right before it ran, or TL_NONE */
    bool loaded;          /* some of compile_ns is known only because code was loaded after it */
};
/* Cost: one pass over calls, ranges and gaps. */
struct query_warm query_warm_up(const struct facts *f);
/* Name of the range that compiles, or of the kernel that had just been compiled; NULL: none. */
const char *query_compiled(const struct facts *f, const struct query_warm *w);
/* The same. `host`, unless NULL, gets the share of host_ns in each of f->gaps. */
struct query_warm query_warm_gaps(const struct facts *f, int64_t *host);

#endif
