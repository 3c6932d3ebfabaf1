/* The state of a warp that runs, for the files that move it. */
#ifndef VGPU_PTX_WARP_H
#define VGPU_PTX_WARP_H

#include "ptx/ptx_run.h"

enum { PTX_LEADS = 1, PTX_FOLLOWS };
enum { PTX_SEEN = 1 << 16 }; /* room for the sectors that a block's warps have touched */

struct ptx_loop { /* of each branch: a loop turns where it is taken back, or past one inside */
    int turns;
    double first, last;         /* difference of the operands that are compared for another turn */
    double step;                /* by which it changed at the second turn */
    double ran_first, ran_last; /* instructions of the warp until then */
    bool uneven; /* ... and not by as much at a later one: what is left is not known */
};

struct ptx_turns;
struct ptx_run {
    const struct ptx_kernel *k;
    const struct ptx_launch *l;
    ptx_lanes *reg;
    float *ready;                    /* cycle in which a register has its value */
    bool *data;                      /* it came from memory */
    double (*difference)[PTX_LANES]; /* of the comparison that made a register */
    struct ptx_price *price;
    struct ptx_touch *touch;
    uint8_t *joined;          /* of loads from shared memory: PTX_LEADS, PTX_FOLLOWS or 0 */
    struct ptx_loop *loop;    /* by the branch's index */
    struct ptx_turns **turns; /* the same, NULL until one is taken back */
    uint64_t *seen;           /* by a block: its number, and a sector */
    uint64_t blocks;          /* that have begun */
    int seen_count;
    unsigned block[3];
    /* of the warp that runs */
    struct ptx_tally *sum;
    struct ptx_tally skipped; /* what turns did that were not run */
    double now, latest;       /* cycle; in which the last instruction since a branch started */
    double stored;            /* in which the last store to global memory did */
    uint32_t alive;
    int at[PTX_LANES];
};

/* Lanes for which the guard holds. */
uint32_t ptx_guarded(const struct ptx_run *r, const struct ptx_inst *i, uint32_t mask);
/* ptx_join.c: finds loads that the machine code makes one of. */
void ptx_join_loads(const struct ptx_kernel *k, uint8_t *joined);
/* ptx_memory.c: an access to memory; returns after how many cycles its result is there. */
double ptx_memory(struct ptx_run *r, int at, uint32_t mask);
/* True: these bytes are a device's memory. */
bool ptx_in_memory(const struct ptx_launch *l, uint64_t address, unsigned bytes);
/* Adds to what the instruction touched. */
void ptx_touched(struct ptx_run *r, int at, uint64_t from, uint64_t to, bool writes);
/* True: no access of the block came to this sector before. */
bool ptx_first_touch(struct ptx_run *r, uint64_t sector);

/* ptx_loops.c: notes what a comparison compares; all of the lanes take the branch at `at` back, and
 * may be set on to a later turn of its loop; some have left the loop; its memory. */
void ptx_compared(struct ptx_run *r, const struct ptx_inst *i, uint32_t mask);
void ptx_turn(struct ptx_run *r, int at, uint32_t mask);
void ptx_turns_end(struct ptx_turns *t);
void ptx_turns_free(struct ptx_turns *t);

/* By which factor the whole warp is longer, and whether that is unknown yet because
 * the outermost loop around the warp's place has not turned twice. */
void ptx_loop_turns(struct ptx_loop *l, double difference, double ran);
double ptx_stretch(const struct ptx_run *r);
bool ptx_too_early(const struct ptx_run *r, int at);
/* Does the branch at `at` jump over a whole loop? If data decides that, the warp enters the
 * loop: its length is not in memory, and a length of 0 is not the likelier one. */
bool ptx_skips_loop(const struct ptx_run *r, int at);

#endif
