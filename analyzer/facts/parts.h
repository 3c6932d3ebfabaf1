/* The parts of a step. */
#ifndef GPUPROF_FACTS_PARTS_H
#define GPUPROF_FACTS_PARTS_H

#include <stdbool.h>

/* Where a step's wall time goes. The parts of a step sum to its length exactly. */
enum part {
    PART_COMPUTE, /* a compute kernel runs */
    PART_COMM,    /* communication without a compute kernel beside it: exposed */
    PART_COPY,    /* a copy or memset with neither compute nor communication beside it: exposed */
    PART_IDLE_INPUT,  /* GPU idle: the host waits for or makes the next batch */
    PART_IDLE_COPY,   /* ... is blocked in a copy call */
    PART_IDLE_SYNC,   /* ... has come out of a synchronisation and finds the queue empty */
    PART_IDLE_LAUNCH, /* ... launches too slowly */
    PART_IDLE_ALLOC,  /* ... is inside an allocation or free */
    PART_IDLE_HOST,   /* ... does other work, named by its NVTX range if there is one */
    PART_IDLE_QUEUED, /* GPU idle although its next work was already issued:
                         between queued kernels */
    PART_UNEXPLAINED, /* the recording does not explain it */
    /* Parts of a step without a GPU: activities of the training thread (cpu_parts.c). */
    PART_DATA,    /* waits for its next batch, or makes it */
    PART_COLLATE, /* ... collates samples into a batch */
    PART_WORKERS, /* starts and stops a loader's workers */
    PART_FORWARD, /* computes before a backward pass, or for a batch without one */
    PART_BACKWARD,
    PART_OPTIMIZER, /* optimizer step, clearing and clipping gradients */
    PART_GC,        /* Python collects garbage */
    PART_VALIDATION,
    PART_EXCHANGE, /* only gloo's collectives run (known from traces alone) */
    PART_OTHER,    /* anything else */
    PART_COUNT
};
/* Sets of parts as bits 1 << part: those of a step on a GPU, and those of a step without one. */
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
extern const char *const part_title[PART_COUNT]; /* for people; analysis_part_title
                                                    adapts it to the recording */
extern const char *const part_what[PART_COUNT];  /* the title without "GPU idle: " */

#endif
