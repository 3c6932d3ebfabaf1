/* Runs warps of a decoded kernel, to count what they do: instructions by unit, what they move, how
 * long one of them takes alone. Only values that steer are computed (ptx_steer.c); a load that
 * steers reads the virtual device's memory, where small copies have put their data. */
#ifndef VGPU_PTX_RUN_H
#define VGPU_PTX_RUN_H

#include "ptx/ptx_value.h"

enum { PTX_MEMORIES = 16 };

/* Per warp. Units count instructions of a whole warp. */
struct ptx_tally {
    double instructions, issue, fp32, fp64, alu, special, matrix_flops;
    double shared, lines; /* cycles of the load and store unit: shared and global memory */
    double requests;      /* to global memory */
    double load_sectors;  /* of 32 bytes, that no earlier access of the block's warps touched */
    double store_sectors, atomics;
    double bulk_sectors; /* of bulk copies, which pass no load and store unit */
    double cycles;       /* alone on its multiprocessor */
};

void ptx_tally_add(struct ptx_tally *to, const struct ptx_tally *t, double weight);

/* What one instruction touched in global memory, over all warps that ran. */
struct ptx_touch {
    uint64_t from, to; /* addresses; to = 0: nothing */
    bool writes;
};

struct ptx_launch {
    unsigned grid[3], block[3];
    size_t smem;
    void *const *args;
    double clock_hz;
    struct {
        const char *base;
        size_t size;
    } memory[PTX_MEMORIES]; /* of the devices: may be read */
    int memories;
};

struct ptx_run;
struct ptx_run *ptx_run_new(const struct ptx_kernel *k, const struct ptx_launch *l);
void ptx_run_free(struct ptx_run *r);
/* Another block: what its warps find in their cache starts anew. */
void ptx_run_block(struct ptx_run *r, const unsigned block[3]);
/* Adds what a warp of it does; stops after `budget` instructions and extrapolates from the loop
 * that it was in. Returns how many it ran. */
int64_t ptx_run_warp(struct ptx_run *r, unsigned warp, int64_t budget, struct ptx_tally *sum);
const struct ptx_touch *ptx_run_touches(const struct ptx_run *r); /* one for each instruction */

/* ptx_price.c: what an instruction costs, memory apart. */
struct ptx_price {
    float issue, fp32, fp64, alu, special, latency;
};
struct ptx_price ptx_price(const struct ptx_inst *i);

/* ptx_access.c: the sectors, lines and banks of a warp's access. */
struct ptx_access {
    uint64_t sector[2 * PTX_LANES * 4];
    int sectors, lines;
    uint64_t from, to;
};
void ptx_access(struct ptx_access *a, const uint64_t *address, int64_t offset, uint32_t mask,
                unsigned bytes);
/* Cycles that shared memory needs: most words in one bank. */
int ptx_bank_cycles(const uint64_t *address, int64_t offset, uint32_t mask, unsigned bytes);
/* Most lanes that have the same address. */
int ptx_same_address(const uint64_t *address, uint32_t mask);

#endif
