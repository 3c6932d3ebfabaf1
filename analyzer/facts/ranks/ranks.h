/* Between the parts of this room:
 *   ranks.c          who takes part, and whose collectives are whose
 *   ranks_match.c    the same collective on every rank of a group
 *   ranks_clocks.c   one clock for all ranks
 *   ranks_meet.c     the collectives in order of time: who waited for whom
 *   ranks_punctual.c what is waited less without the late rank
 *   ranks_heat.c     which rank is late when
 *   ranks_groups.c   a row for each kind of group
 *   ranks_summary.c  from sums to what is said of the ranks
 *   ranks_why.c      what the late rank does otherwise than another */
#ifndef GPUPROF_FACTS_RANKS_RANKS_H
#define GPUPROF_FACTS_RANKS_RANKS_H

#include "analyzer/facts/passes.h"
#include "base/vec.h"

int ranks_measure(struct facts *f, struct err *e); /* the pass: fills f->ranks. -1 with *e set */

struct lineup {      /* one rank's collectives of one communicator, by start */
    uint32_t member; /* rank: index */
    int64_t group;   /* communicator, or the stream it runs on */
    bool recorded;   /* the communicator is recorded */
    bool pairs;      /* sends and receives between two ranks, as far as was recorded */
    uint32_t name;   /* what the program calls the group, 0 = not known */
    uint32_t next;   /* another line-up of the member while they are gathered, TL_NONE */
    struct VEC(uint32_t) ops;
    int64_t
        first_sequence; /* recorded number of ops.at[0]; 0 = not all are known, or not in a row */
    int64_t shift;      /* its collective i + shift is the reference's i */
    int64_t offset_ns;  /* its clock minus the reference's */
    int64_t spread_ns;  /* by how much that scatters */
    bool matched;
    int64_t waited_ns, late_ns; /* of the member, up to its last collective in this line-up */
};

struct group {           /* ranks that exchange data with each other: one communicator */
    size_t first, count; /* slice of members.lines; that of the first rank is the reference */
    int64_t collectives; /* sums over those that count */
    int64_t comm_ns, wait_ns, late_ns; /* ... and over ranks */
};

struct arrival {
    uint32_t member, op, line;
    int64_t start_ns, end_ns; /* on the clock of the group's reference */
};

struct meet {      /* a collective that counts */
    int64_t at_ns; /* the last rank comes, on the clock of the first */
    uint32_t group, k;
    uint32_t step;  /* of the analysed process, TL_NONE: not known */
    int64_t own_ns; /* what the last rank is charged with */
};

struct members { /* ranks that take part */
    struct rank_facts *at;
    size_t n;
    struct spans *compute;           /* of each */
    struct VEC(struct lineup) lines; /* by group, then by member */
    struct VEC(struct group) groups;
    struct VEC(struct meet) meets; /* by time */
    struct VEC(struct late_wait) waits;
    uint32_t *place; /* by op: of a collective of the analysed process among those of its step */
    uint32_t *clock; /* by member: ranks of one number have clocks that were compared */
    struct delay *delays; /* by member, ranks_meet.c */
};

/* Finds shift and offset of l against the reference; sets l->matched. -1: out of memory. */
int lineup_match(const struct timeline *t, const struct lineup *reference, struct lineup *l);

/* Its collective at the reference's place i, TL_NONE. */
static inline uint32_t lineup_at(const struct lineup *l, size_t i)
{
    int64_t k = (int64_t)i + l->shift;
    return k >= 0 && k < (int64_t)l->ops.n ? l->ops.at[k] : TL_NONE;
}

/* The line-up that the others of a group are matched with. */
static inline struct lineup *group_reference(const struct members *m, const struct group *g)
{
    return &m->lines.at[g->first];
}

/* From the offsets of matched line-ups to m->at[].offset_ns and m->clock. -1: out of memory. */
int clocks_join(struct members *m);

/* Every collective that two ranks and more take part in, by time. -1: out of memory. */
int meet_all(struct facts *f, struct members *m);
/* The arrivals at collective k of a group, in order; how many. v: room for m->n. */
size_t meet_arrivals(const struct facts *f, const struct members *m, const struct group *g,
                     size_t k, struct arrival *v);
/* f->ranks.waits: what the analysed process waits less once the latest rank is in time. After
 * ranks_summarise. -1: out of memory. */
int punctual_waits(struct facts *f, struct members *m);
uint32_t member_of(const struct members *m, const struct rank_facts *r); /* index */

/* Tables of m->n rows; what a collective adds to them (v in order of arrival); and, where no
 * member's row is left out, from sums to means. -1: out of memory. */
int heat_open(struct facts *f, struct members *m);
void heat_add(struct facts *f, const struct members *m, const struct arrival *v, size_t n);
/* Of several groups: what a member is charged with at its collective number `place` of a step. */
void heat_charge(struct facts *f, uint32_t member, uint32_t step, uint32_t place, int64_t ns);
void heat_keep_row(struct facts *f, size_t from, size_t to);
void heat_close(struct facts *f);

/* Fills f->ranks from sums over the recording. -1: out of memory. */
int ranks_summarise(struct facts *f, const struct members *m);
int groups_summarise(struct facts *f, const struct members *m);
int ranks_explain(struct facts *f, const struct members *m); /* after ranks_summarise */

#endif
