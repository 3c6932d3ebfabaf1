/* Two analyses against each other: what moved and why (diff), and may it pass (gate). */
#ifndef GPUPROF_COMPARE_COMPARE_H
#define GPUPROF_COMPARE_COMPARE_H

#include "analyzer/advice/advice.h"

struct change {              /* one finding, part or kernel whose milliseconds moved */
    const char *what;        /* rule id, part key or kernel name */
    const char *kind;        /* "finding", "part", "kernel" */
    int64_t base_ns, new_ns; /* per step */
};

const char *change_words(const struct change *c); /* `what`, of a part its title */

struct pace_change { /* of the mean step, longer ones included: what the loop takes (try's measure)
                      */
    int64_t base_ns, new_ns;
    double ratio, ratio_low, ratio_high; /* new / base, 95 % bootstrap interval */
};

struct diff {
    struct arena arena;
    bool of_windows;         /* no step repeats on either side: all below is of what was recorded */
    bool by_mean;            /* long steps recur on a side: all below is of mean steps */
    int64_t base_ns, new_ns; /* the step: median, or mean */
    double ratio;            /* new / base of these */
    double ratio_low, ratio_high; /* 95 % bootstrap interval over blocks of steps, if `enough` */
    struct pace_change pace;      /* if `enough` */
    bool per_sample;              /* all ratios are of the time that a sample takes */
    bool enough;                  /* enough steps on both sides to say */
    const char *commands;         /* words of the commands that only one has, for people; NULL */
    const char *comparable;       /* NULL, or why the two should not be compared (device, ...) */
    struct change *changes;
    size_t change_count; /* by |difference|, falling */
};

/* Deterministic: fixed seed, 5,000 draws. Only per-step distributions are used for the interval. */
/* NULL, or why two runs should not be compared: another GPU, other work. Of the arena. */
const char *runs_differ(struct arena *arena, const struct advice *base, const struct advice *now,
                        bool per_sample);
struct diff *diff_find(struct advice *base, struct advice *now, bool per_sample, struct err *e);
void diff_free(struct diff *d);

enum gate_verdict { GATE_PASS = 0, GATE_SLOWER = 1, GATE_INCONCLUSIVE = 3 };

struct gate_check {
    const char *name; /* "step time vs baseline", a budget's name */
    double measured, allowed;
    const char *unit; /* "": nothing was measured, `why` tells all */
    double low, high; /* interval of measured where there is one, else both = measured */
    enum gate_verdict verdict;
    const char *why; /* one sentence */
};

struct gate {
    struct arena arena;
    struct gate_check *checks;
    size_t check_count;
    enum gate_verdict verdict; /* worst: slower > inconclusive > pass */
    const struct diff *diff;   /* NULL for a budget alone */
};

struct past_run {              /* one of the history that did the same work */
    const char *name, *commit; /* commit NULL: not known */
    int64_t started_ns;
    double step_ns; /* what the gate compares: of a sample with per_sample */
};

/* 1 and *run filled in (but for its name): it counts beside `now`. 0: it does not, and *why says so
 * in one clause. -1: out of memory. */
int past_run_of(struct arena *arena, const struct advice *past, const struct advice *now,
                bool per_sample, struct past_run *run, const char **why);

struct gate_wish {
    const char *budget_text; /* ini, docs/man/gpuprof-gate.md; NULL */
    double max_regress_pct;
    bool per_sample; /* batches of different sizes: compare the time that a sample takes */
    bool history;    /* compare with these instead of base, which is then the newest of them */
    const struct past_run *past; /* from old to new */
    size_t past_count;
    const char *left_out; /* which runs of the history do not count, one sentence; NULL: none */
};

/* base may be NULL with a budget, and with a history in which no run counts. */
struct gate *gate_run(struct advice *base, struct advice *now, const struct gate_wish *wish,
                      struct err *e);
void gate_free(struct gate *g);

#endif
