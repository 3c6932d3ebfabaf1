/* One-time work inside what is analysed: contexts, first allocations, code that is loaded or
 * compiled on first use, the capture of CUDA graphs; behind the GPU's last work what ends all that.
 * Only time in which the GPU was idle for it. */
#ifndef GPUPROF_QUERIES_WARM_H
#define GPUPROF_QUERIES_WARM_H

#include "analyzer/queries/query.h"

struct query_warm {
    int64_t ns;         /* GPU idle for it, over all used steps */
    int64_t host_ns;    /* of that, counted under 'other host work' */
    int64_t calls_ns;   /* of ns: inside long first calls, and captures */
    int64_t capture_ns; /* of that: while CUDA graphs are captured and instantiated */
    int64_t compile_ns; /* of ns: in compilation, before code that was just compiled */
    int64_t down_ns;    /* of ns: behind the GPU's last work */
    int64_t inside_ns;  /* of ns: between the GPU's first work and its last */
    int64_t memory_ns;  /* the host in those that allocate or free; not in that of the context */
    int64_t code_ns;    /* the host in those that load or unload code, contexts included */
    int64_t first_ns;   /* the host in the rest: launches that load code, and others */
    int64_t context_ns; /* the host in the call that creates the context */
    int64_t calls;      /* that begin before the end of the GPU's last work */
    int64_t down_calls; /* the others */
    int64_t captures;   /* CUDA graphs that are captured */
    uint32_t longest;   /* of calls: api index, TL_NONE */
    uint32_t down;      /* the longest of down_calls: api index, TL_NONE */
    uint32_t context;   /* the process's first call, where it dwarfs the others: it creates the CUDA
                           context, whatever its name: api index, TL_NONE */
    uint32_t compiled;  /* range index of a compilation or its result, TL_NONE */
    uint32_t compiled_op; /* kernel that was compiled right before it ran, TL_NONE */
    bool loaded;          /* some of compile_ns is told by code that was loaded behind it alone */
};
/* Cost: one pass over calls, ranges and gaps. */
struct query_warm query_warm_up(const struct facts *f);
/* The range that compiles, or what had just been compiled when it ran; NULL without. */
const char *query_compiled(const struct facts *f, const struct query_warm *w);
/* The same; what of each gap is part of host_ns goes to `host`, one for each of f->gaps. */
struct query_warm query_warm_gaps(const struct facts *f, int64_t *host);

#endif
