/* What the files of this room share:
 *   ranks.c          which ranks take part, and which collectives belong together
 *   ranks_match.c    finds the same collective on every rank of a group
 *   ranks_clocks.c   one clock for all ranks
 *   ranks_meet.c     the collectives in order of time: which rank waited for which
 *   ranks_punctual.c how much shorter the waits are without the late rank
 *   ranks_heat.c     which rank is late when
 *   ranks_groups.c   a row for each kind of group
 *   ranks_summary.c  from sums to the results in struct ranks
 *   ranks_why.c      how the late rank differs from one in time */
#ifndef GPUPROF_FACTS_RANKS_RANKS_H
#define GPUPROF_FACTS_RANKS_RANKS_H

#include "analyzer/facts/passes.h"
#include "base/vec.h"

int ranks_measure(struct facts *f, struct err *e); /* the pass: fills f->ranks. -1 with *e set */

struct lineup {      /* one rank's collectives on one communicator, sorted by start */
    uint32_t member; /* index of the rank in members.at */
    int64_t group;   /* key of the communicator or, if not recorded, of the stream */
    bool recorded;   /* the communicator is recorded */
    bool pairs;      /* sends and receives between two ranks */
    uint32_t name;   /* string id of the program's name for the group; 0 = not known */
    uint32_t next;   /* during the gathering: index of another line-up of the
                        same member, or TL_NONE */
    struct VEC(uint32_t) ops;
    int64_t first_sequence; /* recorded number of ops.at[0]; 0 = some numbers are
                               missing or out of order */
    int64_t shift;          /* collective i of the reference is number i + shift here */
    int64_t offset_ns;      /* this rank's clock minus the reference's */
    int64_t spread_ns;      /* median deviation of the single offsets */
    bool matched;
    int64_t waited_ns, late_ns; /* the member's waiting and charged lateness in all groups, up to
                                   its last collective in this line-up */
};

struct group {                         /* the line-ups of one communicator, one per rank */
    size_t first, count;               /* slice of members.lines; the first one is the reference */
    int64_t collectives;               /* number of matched collectives in used steps */
    int64_t comm_ns, wait_ns, late_ns; /* sums over these collectives and over ranks */
};

struct arrival {
    uint32_t member, op, line;
    int64_t start_ns, end_ns; /* on the clock of the group's reference */
};

struct meet {      /* one matched collective in a used step */
    int64_t at_ns; /* arrival of the last rank, on the clock of the first rank */
    uint32_t group, k;
    uint32_t step;  /* step of the analysed process; TL_NONE: not known */
    int64_t own_ns; /* lateness that the last rank is charged with */
};

struct members { /* the ranks that take part */
    struct rank_facts *at;
    size_t n;
    struct spans *compute;           /* by member: when it computes */
    struct VEC(struct lineup) lines; /* sorted by group, then by member */
    struct VEC(struct group) groups;
    struct VEC(struct meet) meets; /* sorted by time */
    struct VEC(struct late_wait) waits;
    uint32_t *place;      /* by op: the place of the analysed process' collective
                             within its step, or TL_NONE */
    uint32_t *clock;      /* by member: members with the same number have comparable clocks */
    struct delay *delays; /* by member; only during meet_all */
};

/* Finds the shift and the clock offset of l against the reference, and sets
 * l->matched. -1: out of memory. */
int lineup_match(const struct timeline *t, const struct lineup *reference, struct lineup *l);

/* The op in `l` that is the reference's collective number i, or TL_NONE. */
static inline uint32_t lineup_at(const struct lineup *l, size_t i)
{
    int64_t k = (int64_t)i + l->shift;
    return k >= 0 && k < (int64_t)l->ops.n ? l->ops.at[k] : TL_NONE;
}

/* The line-up that the group's others are matched with. */
static inline struct lineup *group_reference(const struct members *m, const struct group *g)
{
    return &m->lines.at[g->first];
}

/* Fills m->at[].offset_ns and m->clock from the offsets of matched line-ups. -1: out of memory. */
int clocks_join(struct members *m);

/* Evaluates every collective that at least two ranks took part in, in order of
 * time. -1: out of memory. */
int meet_all(struct facts *f, struct members *m);
/* Fills v, which has room for m->n, with the arrivals at collective k of the group, sorted by start
 * on the reference's clock. Returns their number. */
size_t meet_arrivals(const struct facts *f, const struct members *m, const struct group *g,
                     size_t k, struct arrival *v);
/* Fills f->ranks.waits: by how much the waits of the analysed process shorten if the latest rank is
 * in time. Call after ranks_summarise. -1: out of memory. */
int punctual_waits(struct facts *f, struct members *m);
uint32_t member_of(const struct members *m, const struct rank_facts *r); /* index in m->at */

/* The tables of lateness (struct rank_heat), with m->n rows. heat_open creates them (-1: out of
 * memory); heat_add adds one collective of the only group (v in order of arrival). */
int heat_open(struct facts *f, struct members *m);
void heat_add(struct facts *f, const struct members *m, const struct arrival *v, size_t n);
/* With several groups: adds the lateness that a member is charged with at collective
 * number `place` of a step. */
void heat_charge(struct facts *f, uint32_t member, uint32_t step, uint32_t place, int64_t ns);
/* Moves row `from` to row `to`, as ranks without matched collectives are left out. */
void heat_keep_row(struct facts *f, size_t from, size_t to);
/* Turns sums into lateness per step. */
void heat_close(struct facts *f);

/* Fill f->ranks from sums over the recording. -1: out of memory. */
int ranks_summarise(struct facts *f, const struct members *m);
int groups_summarise(struct facts *f, const struct members *m);
/* after ranks_summarise; -1: out of memory */
int ranks_explain(struct facts *f, const struct members *m);

#endif
