/* The state of a running warp, for the files that run it. */
#ifndef VGPU_PTX_WARP_H
#define VGPU_PTX_WARP_H

#include "ptx/ptx_run.h"

enum { PTX_LEADS = 1, PTX_FOLLOWS };
enum { PTX_SEEN = 1 << 16 }; /* room for the sectors that a block's warps have touched */

struct ptx_loop { /* for each branch; a turn of a loop takes it backwards, or passes one inside */
    int turns;
    double first, last; /* differences of the compared operands, at the first and the last turn */
    double step;        /* change of the difference at the second turn */
    double ran_first, ran_last; /* instructions of the warp up to then */
    bool uneven;                /* a later turn changed it by another amount: the rest is unknown */
};

struct ptx_turns;
struct ptx_run {
    const struct ptx_kernel *k;
    const struct ptx_launch *l;
    ptx_lanes *reg;
    float *ready;                    /* cycle in which a register's value is ready */
    bool *data;                      /* the value came from memory */
    double (*difference)[PTX_LANES]; /* of the comparison that set a register */
    struct ptx_price *price;
    struct ptx_touch *touch;
    uint8_t *joined;          /* for loads from shared memory: PTX_LEADS, PTX_FOLLOWS or 0 */
    struct ptx_loop *loop;    /* by the branch's index */
    struct ptx_turns **turns; /* by the branch's index; NULL until it is taken backwards */
    uint64_t *seen;           /* number of the block that touched a sector, and the sector */
    uint64_t blocks;          /* blocks begun so far */
    int seen_count;
    unsigned block[3];
    /* Of the running warp: */
    struct ptx_tally *sum;
    struct ptx_tally skipped; /* work of the skipped turns */
    double now, latest; /* the present cycle; the latest start of an instruction since a branch */
    double stored;      /* cycle of the last store to global memory */
    uint32_t alive;
    int at[PTX_LANES];
};

/* The lanes whose guard is true. */
uint32_t ptx_guarded(const struct ptx_run *r, const struct ptx_inst *i, uint32_t mask);
/* ptx_join.c: finds loads that the machine code joins. */
void ptx_join_loads(const struct ptx_kernel *k, uint8_t *joined);
/* ptx_memory.c: an access to memory. Returns the cycles until its result is there. */
double ptx_memory(struct ptx_run *r, int at, uint32_t mask);
/* True if these bytes belong to a device's memory. */
bool ptx_in_memory(const struct ptx_launch *l, uint64_t address, unsigned bytes);
/* Adds a range to what the instruction touched. */
void ptx_touched(struct ptx_run *r, int at, uint64_t from, uint64_t to, bool writes);
/* True if no earlier access of the block touched this sector. */
bool ptx_first_touch(struct ptx_run *r, uint64_t sector);

/* ptx_loops.c. ptx_compared notes the operands of a comparison. ptx_turn: all lanes take the branch
 * at `at` backwards, and may be moved to a later turn of its loop. ptx_turns_end: some lanes have
 * left the loop. */
void ptx_compared(struct ptx_run *r, const struct ptx_inst *i, uint32_t mask);
void ptx_turn(struct ptx_run *r, int at, uint32_t mask);
void ptx_turns_end(struct ptx_turns *t);
void ptx_turns_free(struct ptx_turns *t);

/* ptx_stretch: the factor by which the whole warp is longer than what ran. ptx_too_early: true if
 * that is unknown yet, because the outermost loop around the warp's place has not turned twice. */
void ptx_loop_turns(struct ptx_loop *l, double difference, double ran);
double ptx_stretch(const struct ptx_run *r);
bool ptx_too_early(const struct ptx_run *r, int at);
/* True if the branch at `at` jumps over a whole loop. If data decides that, the warp enters the
 * loop: its length is not in memory, and 0 is not the likelier one. */
bool ptx_skips_loop(const struct ptx_run *r, int at);

#endif
