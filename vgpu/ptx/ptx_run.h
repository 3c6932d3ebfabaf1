/* Runs warps of a decoded kernel to count what they do: instructions by unit, bytes moved, and the
 * time of a warp alone. Only values that steer are computed (ptx_steer.c). A load that steers reads
 * the virtual device's memory, to which small copies have moved their data. */
#ifndef VGPU_PTX_RUN_H
#define VGPU_PTX_RUN_H

#include "ptx/ptx_value.h"

enum { PTX_MEMORIES = 16 };

/* Counts for a warp. The units count instructions of the whole warp. */
struct ptx_tally {
    double instructions, issue, fp32, fp64, alu, special, matrix_flops;
    double shared, lines; /* cycles of the load and store unit, for shared and for global memory */
    double requests;      /* accesses to global memory */
    /* Sectors of 32 bytes that no earlier access of the block's warps touched. */
    double load_sectors;
    double store_sectors, atomics;
    double bulk_sectors; /* of bulk copies, which do not pass through a load and store unit */
    double cycles;       /* of the warp alone on its multiprocessor */
};

void ptx_tally_add(struct ptx_tally *to, const struct ptx_tally *t, double weight);

/* The addresses that an instruction touched in global memory, over all warps that ran. */
struct ptx_touch {
    uint64_t from, to; /* addresses; to 0: none */
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
    } memory[PTX_MEMORIES]; /* memory of the devices, which may be read */
    int memories;
};

struct ptx_run;
struct ptx_run *ptx_run_new(const struct ptx_kernel *k, const struct ptx_launch *l);
void ptx_run_free(struct ptx_run *r);
/* Starts another block: its warps find an empty cache. */
void ptx_run_block(struct ptx_run *r, const unsigned block[3]);
/* Runs a warp of the block and adds its work to `sum`. Stops after `budget` instructions, and
 * extrapolates from the loop in which it stopped. Returns the number of instructions run. */
int64_t ptx_run_warp(struct ptx_run *r, unsigned warp, int64_t budget, struct ptx_tally *sum);
const struct ptx_touch *ptx_run_touches(const struct ptx_run *r); /* one for each instruction */

/* ptx_price.c: the cost of an instruction, without memory. */
struct ptx_price {
    float issue, fp32, fp64, alu, special, latency;
};
struct ptx_price ptx_price(const struct ptx_inst *i);

/* ptx_memory.c: sectors and lines of a warp's access. */
struct ptx_access {
    uint64_t sector[2 * PTX_LANES * 4];
    int sectors, lines;
    uint64_t from, to;
};
void ptx_access(struct ptx_access *a, const uint64_t *address, int64_t offset, uint32_t mask,
                unsigned bytes);
/* Cycles that shared memory needs: the most words in one bank. */
int ptx_bank_cycles(const uint64_t *address, int64_t offset, uint32_t mask, unsigned bytes);
/* The largest number of lanes with the same address. */
int ptx_same_address(const uint64_t *address, uint32_t mask);

#endif
