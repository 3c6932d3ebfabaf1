/* A static estimate of how long a kernel takes, from its code (PTX) and its launch. It runs
 * sampled warps (ptx/) to count their work. A roofline over the multiprocessor's units, the
 * second-level cache and the memory, with the time of a warp alone, gives the time. */
#ifndef VGPU_COST_CODE_H
#define VGPU_COST_CODE_H

#include "core/core.h"
#include "ptx/ptx_run.h"

/* What all blocks of a launch do together. */
struct code_work {
    struct ptx_tally warp;            /* mean of a warp */
    double blocks, warps;             /* warps: of a block */
    double load_bytes, store_bytes;   /* between the multiprocessors and the second-level cache */
    double bulk_bytes;                /* of these, by bulk copies */
    double read_bytes, written_bytes; /* different ones of them */
    double chain_cycles;              /* the longest warp of a block, alone */
    double atomics_per_address;
    int64_t ran; /* instructions that were run for this */
};

/* What the device can hold of it at once. */
struct code_needs {
    unsigned registers, smem; /* of a thread, of a block */
};

/* False: out of memory. */
bool vg_code_sample(const struct ptx_kernel *k, const struct ptx_launch *l, struct code_work *out);
/* Instructions of a warp in the middle of the grid, estimated from the first `budget` of them. */
double vg_code_probe(const struct ptx_kernel *k, const struct ptx_launch *l, int64_t budget);
int64_t vg_code_time(const struct vg_profile *p, const struct code_work *w,
                     const struct code_needs *needs);

#endif
