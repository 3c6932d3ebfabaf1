/* Between ranks_match.c, which finds the same collective on every rank, ranks.c, which says who
 * waited for whom, and ranks_summary.c. */
#ifndef GPUPROF_FACTS_RANKS_H
#define GPUPROF_FACTS_RANKS_H

#include "analyzer/facts/passes.h"
#include "base/vec.h"

struct lineup {      /* one rank's collectives of one communicator, by start */
    uint32_t member; /* rank: index */
    int64_t group;   /* communicator, or the stream it runs on */
    struct VEC(uint32_t) ops;
    int64_t
        first_sequence; /* recorded number of ops.at[0]; 0 = not all are known, or not in a row */
    int64_t shift;      /* its collective i + shift is the reference's i */
    int64_t offset_ns;  /* its clock minus the reference's */
    bool matched;
};

struct arrival {
    uint32_t member, op;
    int64_t start_ns, end_ns; /* on the reference's clock */
};

struct members { /* ranks that take part */
    struct rank_facts *at;
    size_t n;
    struct spans *compute; /* of each */
    struct VEC(struct lineup) lines;
    struct VEC(struct late_wait) waits;
    uint32_t *place; /* by op: of a collective of the analysed process among those of its step */
};

/* Finds shift and offset of l against the reference; sets l->matched. -1: out of memory. */
int lineup_match(const struct timeline *t, const struct lineup *reference, struct lineup *l);

/* Its collective at the reference's place i, TL_NONE. */
static inline uint32_t lineup_at(const struct lineup *l, size_t i)
{
    int64_t k = (int64_t)i + l->shift;
    return k >= 0 && k < (int64_t)l->ops.n ? l->ops.at[k] : TL_NONE;
}

/* ranks_heat.c: tables of m->n rows; what a collective adds to them (v in order of arrival); and,
 * where no member's row is left out, from sums to means. -1: out of memory. */
int heat_open(struct facts *f, struct members *m);
void heat_add(struct facts *f, const struct members *m, const struct arrival *v, size_t n);
void heat_keep_row(struct facts *f, size_t from, size_t to);
void heat_close(struct facts *f);

/* ranks_summary.c: fills f->ranks from sums over the recording. -1: out of memory. */
int ranks_summarise(struct facts *f, const struct members *m);

#endif
