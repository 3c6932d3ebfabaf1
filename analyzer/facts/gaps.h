/* What gaps.c, which walks the gaps of the GPU, shares with gaps_charge.c, which finds
 * what the host did in each. */
#ifndef GPUPROF_FACTS_GAPS_H
#define GPUPROF_FACTS_GAPS_H

#include "analyzer/facts/passes.h"
#include "base/vec.h"

enum { LANES = 8 /* launching threads that are looked at */ };

/* One launching thread: its calls, and the time it spends on input data. */
struct lane {
    uint32_t thread;
    const struct api *at;
    size_t n;
    struct spans input;
};

struct drain { /* a call that blocked the host while the GPU worked, and
                  left the GPU without work */
    int64_t end_ns, blocked_ns;
    enum part part;
};

struct charge { /* charges of one gap, or of one piece of it */
    int64_t by_part[PART_COUNT];
    int64_t longest_ns, longest_from_ns; /* the longest stretch charged at once; api
                                            and thread belong to it */
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
    int64_t credit_ns; /* time for which a call blocked the host (struct drain) and that is not
                          charged to that call yet */
    enum part credit_part;
    bool launch_unknown; /* the call that launched the op at the end of the
                            current gap was not recorded */
    uint32_t launcher;   /* the thread that launches it; the main thread if that is not known */
    uint32_t *first_op;  /* per stream: work queued before the recording may run before this op */
    struct VEC(struct gap) gaps;
    struct VEC(int64_t) shares;
};

/* Charges [from, to), a time in which the GPU is idle before operation x starts (TL_NONE: no
 * operation follows), to *c. The caller must pass pieces in rising order of time. */
void charge_idle(struct pass *p, struct charge *c, int64_t from, int64_t to, uint32_t x);
/* Finds lanes and drains. -1: out of memory. The caller calls charge_end in either case. */
int charge_begin(struct pass *p);
void charge_end(struct pass *p);

#endif
