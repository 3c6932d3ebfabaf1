/* The parts of a step. */
#ifndef GPUPROF_FACTS_PARTS_H
#define GPUPROF_FACTS_PARTS_H

#include <stdbool.h>

/* Where a step's wall time goes. Parts of a step sum to it exactly. */
enum part {
    PART_COMPUTE,     /* a compute kernel runs */
    PART_COMM,        /* communication and no compute: exposed */
    PART_COPY,        /* copy or memset and neither of the above: exposed */
    PART_IDLE_INPUT,  /* GPU idle: the host waits for or makes the next batch */
    PART_IDLE_COPY,   /* ... is blocked in a copy call */
    PART_IDLE_SYNC,   /* ... comes out of a synchronisation with the queue empty */
    PART_IDLE_LAUNCH, /* ... launches too slowly */
    PART_IDLE_ALLOC,  /* ... is inside an allocation or free */
    PART_IDLE_HOST,   /* ... does other work, named by range where there is one */
    PART_IDLE_QUEUED, /* GPU idle although its next work had been issued: between queued kernels */
    PART_UNEXPLAINED, /* nothing recorded explains it */
    /* Where no GPU was at work: what the training thread does (cpu_parts.c). */
    PART_DATA,    /* waits for its next batch, or makes it */
    PART_COLLATE, /* ... puts its samples together */
    PART_WORKERS, /* starts and stops a loader's workers */
    PART_FORWARD, /* computes before a backward pass, or for a batch that has none */
    PART_BACKWARD,
    PART_OPTIMIZER, /* its step, clearing and clipping of gradients */
    PART_GC,        /* Python collects garbage */
    PART_VALIDATION,
    PART_EXCHANGE, /* none of these while gloo's collectives run (traces alone tell) */
    PART_OTHER,    /* anything else */
    PART_COUNT
};
/* Sets of parts, as bits 1 << part: those of a step on a GPU, and of one without. */
enum part_set {
    GPU_WORK_PARTS = 1 << PART_COMPUTE | 1 << PART_COMM | 1 << PART_COPY,
    GPU_IDLE_PARTS = 1 << PART_IDLE_INPUT | 1 << PART_IDLE_COPY | 1 << PART_IDLE_SYNC |
                     1 << PART_IDLE_LAUNCH | 1 << PART_IDLE_ALLOC | 1 << PART_IDLE_HOST |
                     1 << PART_IDLE_QUEUED | 1 << PART_UNEXPLAINED,
    GPU_PARTS = GPU_WORK_PARTS | GPU_IDLE_PARTS,
    CPU_INPUT_PARTS = 1 << PART_DATA | 1 << PART_COLLATE | 1 << PART_WORKERS,
    CPU_PARTS = CPU_INPUT_PARTS | 1 << PART_FORWARD | 1 << PART_BACKWARD | 1 << PART_OPTIMIZER |
                1 << PART_GC | 1 << PART_VALIDATION | 1 << PART_EXCHANGE | 1 << PART_OTHER,
};
_Static_assert((GPU_PARTS | CPU_PARTS) == (1 << PART_COUNT) - 1, "each part is in a set");
_Static_assert((GPU_PARTS & CPU_PARTS) == 0, "a part is of one kind of step");
static inline bool part_in(enum part part, enum part_set set)
{
    return (unsigned)set >> part & 1;
}
extern const char *const part_key[PART_COUNT]; /* snake_case for JSON: compute, comm_exposed, ... */
extern const char *const part_title[PART_COUNT]; /* for people; analysis_part_title says more */
extern const char *const part_what[PART_COUNT];  /* the same without "GPU idle: " */

#endif
