/* A static estimate of how long a kernel takes, from its code (PTX) and its launch. It runs sampled
 * warps (ptx/) to count their work. The time comes from a roofline over the multiprocessor's units,
 * the L2 cache and the memory, together with the time of a warp alone. */
#ifndef VGPU_COST_CODE_H
#define VGPU_COST_CODE_H

#include "core/core.h"
#include "ptx/ptx_run.h"

/* What all blocks of a launch do together. */
struct code_work {
    struct ptx_tally warp;            /* mean over the warps */
    double blocks, warps;             /* warps per block */
    double load_bytes, store_bytes;   /* between multiprocessors and L2 */
    double bulk_bytes;                /* of these, by bulk copies */
    double read_bytes, written_bytes; /* distinct bytes of these */
    double chain_cycles;   /* longest warp of a block, running alone: mean of the blocks */
    double longest_cycles; /* the same of the block that takes longest */
    double atomics_per_address;
    int64_t ran; /* instructions run for this estimate */
};

/* What limits how many blocks a multiprocessor holds. */
struct code_needs {
    unsigned registers, smem; /* per thread; per block */
};

/* False: out of memory. */
bool vg_code_sample(const struct ptx_kernel *k, const struct ptx_launch *l, struct code_work *out);
/* Instructions of a warp in the middle of the grid, extrapolated from the first `budget` of
 * them. */
double vg_code_probe(const struct ptx_kernel *k, const struct ptx_launch *l, int64_t budget);
int64_t vg_code_time(const struct vg_profile *p, const struct code_work *w,
                     const struct code_needs *needs);

#endif
