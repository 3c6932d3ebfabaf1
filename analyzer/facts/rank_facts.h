/* Measurements of the ranks of a job: how they meet in their collectives (ranks/), and how long
 * each works if they train without a GPU (cpu_ranks.c). */
#ifndef GPUPROF_FACTS_RANK_FACTS_H
#define GPUPROF_FACTS_RANK_FACTS_H

#include "analyzer/facts/parts.h"

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

struct rank_facts { /* one GPU that takes part in collectives; times are per used step */
    int64_t rank;   /* its number in the job; if not recorded, its place in the recording */
    uint32_t process, device; /* indices */
    int64_t offset_ns; /* its clock minus the first rank's, from the ends of matched collectives */
    int64_t step_median_ns;  /* from its own step marks; 0 = it has none */
    int64_t comm_ns;         /* time in collectives */
    int64_t wait_ns;         /* the part of comm_ns before the last rank arrived */
    int64_t wait_exposed_ns; /* the part of wait_ns without a compute kernel beside it */
    int64_t model_wait_ns;   /* the part of wait_exposed_ns in groups that split the
                                model, pipelines included */
    int64_t late_ns;         /* how long it kept the others waiting as the last to
                                arrive and by its own doing */
    int64_t late_queued_ns;  /* the part of late_ns in which it was late because of its own
                                queued GPU work, not of its host */
    int64_t late_count;      /* collectives in the recording where it came last by its own doing */
    int64_t late_steps;      /* steps with a collective where it came late enough to
                                matter (FACTS_LATE_PART) */
    int64_t matched;         /* its collectives that were found on other ranks as well */
    int64_t group_count;     /* those where it came behind most ranks together with some others */
    int64_t group_ns;        /* how long those kept the others waiting, summed over the recording */
    int64_t queued_ns;       /* time in which threads of its process were ready to run but
                                without a core; -1 = unknown */
};

enum late_cause { /* how the latest rank differs from a rank in time */
                  LATE_UNKNOWN,
                  LATE_MORE_WORK, /* it runs more or larger kernels */
                  LATE_SLOW_GPU,  /* it takes longer for the same kernels */
                  LATE_HOST       /* its GPU idles longer */
};

/* What the late rank does per step ([0]), and beside it one that is in time ([1]). */
enum { RANKS_BESIDE = 8 };
struct rank_beside {
    bool known; /* false: all else is 0 */
    int64_t rank[2];
    int64_t compute_ns[2]; /* kernels, while no collective runs */
    int64_t idle_ns[2];    /* nothing runs on the GPU */
    double kernels[2];     /* without collectives; 0 may be unknown */
    double blocks[2];      /* thread blocks of them */
    size_t range_count;
    /* Ranges of the thread that launches most, with those nested in them; the one whose time
     * differs most first. ns: -1 = not among the rank's longest. */
    struct {
        const char *name;
        int64_t ns[2];
    } ranges[RANKS_BESIDE];
};

struct late_wait { /* a wait of the analysed process in one of its collectives */
    uint32_t op;
    int64_t spare_ns; /* how much shorter the wait is if the latest rank arrives with
                         the last of the others */
};

/* How late each rank came to the collectives of a column: a column is a step,
 * or a place in all steps. */
struct rank_heat {
    /* [rank * columns + column]: lateness per step, summed over the column's collectives.
     * With one group: the time behind the median arrival. With several groups: the time that
     * the rank is charged with */
    int64_t *late_ns;
    size_t columns, per; /* number of columns; steps or places per column */
    size_t of;           /* number of steps or places */
};

/* Groups of ranks with the same purpose, such as all tensor-parallel groups. Times are
 * per used step and rank. */
struct rank_group {
    const char *name;     /* the program's name for them; NULL = not recorded */
    const char *members;  /* "0 to 3": the ranks of the group with the lowest rank */
    size_t groups, ranks; /* number of groups; ranks in each, 0 = they differ */
    int64_t collectives;  /* in the recording, over all groups */
    int64_t comm_ns;      /* time in collectives */
    int64_t wait_ns;      /* the part of comm_ns before the group's last rank arrived */
    int64_t late_ns;      /* how long the last rank kept the others waiting by its own doing, in
                             the group where that is longest */
    bool pairs;           /* the groups exchange by sends and receives */
};

struct ranks {
    struct rank_facts *at; /* sorted by rank */
    size_t count;          /* ranks with collectives that were found on another rank as well */
    size_t left_out;       /* ranks without such a collective */
    int64_t collectives;   /* number of matched collectives in the recording */
    uint32_t late;         /* index of the rank with the largest late_ns; TL_NONE: no ranks */
    int64_t late_ns;       /* sum of all ranks' late_ns: the time per step that
                              punctual ranks would save */
    enum late_cause late_cause;
    const char *late_why; /* how the late rank differs from one in time; NULL: the
                                  recording does not show it */
    struct rank_beside beside;
    int64_t transfer_ns;       /* time after the last rank arrived, per step and rank */
    struct rank_group *groups; /* sorted by comm_ns, falling */
    size_t group_kinds;
    bool *in_group;    /* by rank: in most of its collectives it is late together with others */
    size_t group_size; /* number of such ranks, two or more; 0 = no such group */
    const char *group_text; /* its ranks: "8 to 15" */
    int64_t group_ns;       /* how long they keep the other ranks waiting, per step */
    uint32_t worst_op;      /* the op with the longest wait; TL_NONE: none */
    int64_t worst_ns;
    struct late_wait *waits; /* waits of the analysed process that shorten without the
                                late rank, sorted by op */
    size_t wait_count;
    struct rank_heat by_step, by_place; /* collectives of the analysed process; columns are
                                           steps, and places within the step */
};

/* ---- ranks that train without a GPU (cpu_ranks.c) ---- */

struct cpu_rank {
    int64_t rank;
    uint32_t process;
    size_t steps;
    int64_t step_ns;           /* mean of its steps but the first */
    int64_t median_ns;         /* median of them */
    int64_t parts[PART_COUNT]; /* of the mean step */
    int64_t own_ns;            /* mean time outside backward passes, in which the ranks meet */
};

struct cpu_ranks {
    struct cpu_rank *at; /* sorted by rank */
    size_t count;        /* ranks with recorded steps */
    int64_t world;       /* size of the job as the program states it; 0 = not known */
    uint32_t late;       /* index of the rank that the others wait for; TL_NONE:
                            no rank is clearly late */
    int64_t late_ns;     /* own_ns of the late rank minus the second longest own_ns */
    const char *text;    /* one sentence; NULL: fewer than two ranks */
};

#endif
