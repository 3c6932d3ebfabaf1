/* Between gaps.c, which walks the gaps, and gaps_charge.c, which says what the host did in one. */
#ifndef GPUPROF_FACTS_GAPS_H
#define GPUPROF_FACTS_GAPS_H

#include "analyzer/facts/passes.h"
#include "base/vec.h"

enum { LANES = 8 /* launching threads looked at */ };

struct lane {
    uint32_t thread;
    const struct api *at;
    size_t n;
    struct spans input;
};

struct drain { /* a call that blocked the host while the GPU worked */
    int64_t end_ns, blocked_ns;
    enum part part;
};

struct charge { /* of the piece at hand */
    int64_t by_part[PART_COUNT];
    int64_t longest_ns, longest_from_ns; /* the piece charged in one go that is longest */
    uint32_t api;
    uint32_t thread;
};

struct pass {
    struct facts *a;
    const struct activity *act;
    struct lane lane[LANES];
    size_t lanes;
    struct VEC(struct drain) drains;
    size_t next_drain;
    int64_t credit_ns; /* lead taken away and not yet charged */
    enum part credit_part;
    bool launch_unknown; /* of the operation that ends the gap at hand */
    uint32_t launcher;   /* thread that launches it; the main thread where that is not known */
    uint32_t *first_op;  /* of each stream: behind what was queued before the recording, perhaps */
    struct VEC(struct gap) gaps;
    struct VEC(int64_t) shares;
};

/* Charges [from, to), in which the GPU is idle before operation x starts (TL_NONE: none follows).
 * Pieces must come in rising order of time. */
void charge_idle(struct pass *p, struct charge *c, int64_t from, int64_t to, uint32_t x);
/* Lanes and drains; -1: out of memory. */
int charge_begin(struct pass *p);
void charge_end(struct pass *p);

#endif
