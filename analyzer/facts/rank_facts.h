/* What is known of the ranks of a job: how they meet in their collectives (ranks/), and how long
 * each works where they train without a GPU (cpu_ranks.c). */
#ifndef GPUPROF_FACTS_RANK_FACTS_H
#define GPUPROF_FACTS_RANK_FACTS_H

#include "analyzer/facts/parts.h"

#include <stddef.h>
#include <stdint.h>

struct rank_facts {           /* one GPU that takes part in collectives; times per used step */
    int64_t rank;             /* number in the job, else its place in the recording */
    uint32_t process, device; /* indices */
    int64_t offset_ns;        /* its clock minus that of the first rank, from matched ends */
    int64_t step_median_ns;   /* of its own marks, 0 = it has none */
    int64_t comm_ns;          /* in collectives */
    int64_t wait_ns;          /* of that, before the last rank had arrived */
    int64_t wait_exposed_ns;  /* ... with no compute kernel beside it */
    int64_t model_wait_ns;    /* of that, in groups that split the model, pipelines included */
    int64_t late_ns;          /* for which it, as the last to arrive and by its own doing, kept the
                                 others waiting */
    int64_t late_queued_ns;   /* of that, behind its own work on the GPU, not behind its host */
    int64_t late_count;       /* collectives in the recording for which it came last */
    int64_t late_steps;       /* steps with one for which it came so late that it matters */
    int64_t matched;          /* its collectives that were found on other ranks as well */
    int64_t group_count; /* of these, to which it came behind most others, with some beside it */
    int64_t group_ns;    /* for which those kept the others waiting */
    int64_t queued_ns;   /* its process' threads, ready to run but without a core; -1 = unknown */
};

enum late_cause { /* of the latest rank, beside one that is in time */
                  LATE_UNKNOWN,
                  LATE_MORE_WORK, /* more kernels, or larger ones */
                  LATE_SLOW_GPU,  /* the same kernels take longer */
                  LATE_HOST       /* its GPU idles longer */
};

struct late_wait { /* of the analysed process, in one of its collectives */
    uint32_t op;
    int64_t spare_ns; /* waited less once the latest rank comes with the last of the others */
};

/* When each rank arrived at the collectives of a column: of a step, or of a place in all steps. */
struct rank_heat {
    /* [rank * columns + column]: behind the median arrival, summed over the column's collectives, per
     * step */
    int64_t *late_ns;
    size_t columns, per; /* a column stands for so many steps or places */
    size_t of;           /* steps or places */
};

/* Groups of ranks with one purpose: the tensor-parallel ones, the data-parallel ones. Times per
 * used step and rank. */
struct rank_group {
    const char *name;     /* as the program calls them, NULL = not recorded */
    const char *members;  /* "0 to 3", those of the first group */
    size_t groups, ranks; /* how many, and of how many ranks; 0: they differ */
    int64_t collectives;  /* in the recording, each group's counted */
    int64_t comm_ns;      /* in collectives */
    int64_t wait_ns;      /* of that, before the last rank of the group had arrived */
    int64_t late_ns;      /* for which the last one kept the others waiting by its own doing; of the
                             group in which that is longest */
    bool pairs;           /* sends and receives */
};

struct ranks {
    struct rank_facts *at; /* by rank */
    size_t count;          /* ranks with collectives that others have as well */
    size_t left_out;       /* ranks whose collectives match no other rank's, or that are alone */
    int64_t collectives;   /* matched ones in the recording */
    uint32_t late;         /* index of the rank that costs most, TL_NONE without */
    int64_t late_ns;       /* sum of all late_ns: what punctual ranks would save per step */
    enum late_cause late_cause;
    const char *late_why; /* what it does otherwise than one in time; NULL: that does not show */
    int64_t transfer_ns;  /* after the last rank has arrived, per step and rank */
    struct rank_group *groups; /* the kinds of groups, the most time first */
    size_t group_kinds;
    bool *in_group;         /* by rank: late together with the others of the group, in most */
    size_t group_size;      /* ranks in it; 0 = there is none, else two or more */
    const char *group_text; /* its ranks: "8 to 15" */
    int64_t group_ns;       /* for which it keeps the other ranks waiting, per step */
    uint32_t worst_op;      /* the longest wait, TL_NONE */
    int64_t worst_ns;
    struct late_wait *waits; /* of the analysed process, by op */
    size_t wait_count;
    struct rank_heat by_step, by_place; /* of those that the analysed process takes part in */
};

/* ---- ranks that train without a GPU (cpu_ranks.c) ---- */

struct cpu_rank {
    int64_t rank;
    uint32_t process;
    size_t steps;
    int64_t step_ns;           /* mean of its steps */
    int64_t median_ns;         /* of them */
    int64_t parts[PART_COUNT]; /* of the mean */
    int64_t own_ns; /* of the mean, before the backward passes, in which it meets the others */
};

struct cpu_ranks {
    struct cpu_rank *at; /* by rank */
    size_t count;        /* with steps of their own */
    int64_t world;       /* size of the job as it says itself; 0 = not known */
    uint32_t late;       /* index of the one that the others wait for, TL_NONE: cannot be told */
    int64_t late_ns;     /* what its own part takes longer than the second longest's */
    const char *text;    /* one sentence; NULL without several ranks */
};

#endif
