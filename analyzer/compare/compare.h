/* Compares two analyses: what changed and why (diff), and whether the new run may pass (gate). */
#ifndef GPUPROF_COMPARE_COMPARE_H
#define GPUPROF_COMPARE_COMPARE_H

#include "analyzer/advice/advice.h"

/* A finding, part or kernel whose time changed. */
struct change {
    const char *what;        /* rule id, part key or kernel name */
    const char *kind;        /* "finding", "part", "kernel" */
    int64_t base_ns, new_ns; /* per step */
    bool of_run;             /* of a finding: per step of the run (outcome.h) */
    const struct outcome
        *finding; /* the one that NEW has; NULL: it has none, or this is no finding */
};

const char *change_words(const struct change *c); /* returns the title of a part, else `what` */

/* Change of the mean step, with longer steps included: the time of the loop, as `try` measures
 * it. */
struct pace_change {
    int64_t base_ns, new_ns;
    double ratio, ratio_low, ratio_high; /* new / base, with its 95 % bootstrap interval */
};

struct diff {
    struct arena arena;
    bool of_windows;         /* no step repeats on either side: everything below is about windows */
    bool by_mean;            /* long steps recur on a side: everything below is about mean steps */
    int64_t base_ns, new_ns; /* the step: median or mean */
    double ratio;            /* new / base of these */
    /* 95 % interval of a bootstrap over blocks of steps; only if `enough`. */
    double ratio_low, ratio_high;
    struct pace_change pace; /* its interval only if `enough` */
    bool per_sample;         /* all ratios are of the time per sample */
    bool enough;             /* both sides have enough steps for an interval */
    /* For people: words of the commands that only one side has, or NULL. */
    const char *commands;
    /* Why the two should not be compared (another GPU, other work), or NULL. */
    const char *comparable;
    struct change *changes;
    size_t change_count;      /* largest difference first */
    const struct advice *now; /* the analysis of NEW, which outlives this */
};

/* Returns why two runs should not be compared (another GPU, other work), or NULL. The arena owns
 * the text. */
const char *runs_differ(struct arena *arena, const struct advice *base, const struct advice *now,
                        bool per_sample);
/* Compares two analyses. The answer is deterministic: fixed seed, 5,000 draws. Returns NULL with *e
 * set; the caller frees the result by diff_free(). */
struct diff *diff_find(struct advice *base, struct advice *now, bool per_sample, struct err *e);
void diff_free(struct diff *d);
/* Returns the finding of NEW whose time grew most, or NULL if none grew. */
const struct outcome *diff_grown(const struct diff *d);

enum gate_verdict { GATE_PASS = 0, GATE_SLOWER = 1, GATE_INCONCLUSIVE = 3 };

struct gate_check {
    const char *name; /* e.g. "step time vs baseline", or a budget's name */
    double measured, allowed;
    const char *unit; /* "": nothing was measured; `why` says why */
    double low, high; /* interval of `measured`; without one both are `measured` */
    enum gate_verdict verdict;
    const char *why; /* one sentence */
};

struct gate {
    struct arena arena;
    struct gate_check *checks;
    size_t check_count;
    enum gate_verdict verdict; /* the worst one: slower > inconclusive > pass */
    const struct diff *diff;   /* NULL if there is only a budget */
};

/* A run of the history that did the same work. */
struct past_run {
    const char *name, *commit; /* commit is NULL if not known */
    int64_t started_ns;
    double step_ns; /* the time that the gate compares: with per_sample that of a sample */
};

/* Returns 1 and fills *run except its name if the past run counts beside `now`; 0 and *why, a
 * clause, if it does not; -1 without memory. */
int past_run_of(struct arena *arena, const struct advice *past, const struct advice *now,
                bool per_sample, struct past_run *run, const char **why);

struct gate_wish {
    const char *budget_text; /* text of an ini file (docs/man/gpuprof-gate.md), or NULL */
    double max_regress_pct;
    bool per_sample; /* compare the time per sample, for batches of different sizes */
    /* Compare with `past` instead of `base`, which is then the newest of them. */
    bool history;
    const struct past_run *past; /* oldest first */
    size_t past_count;
    /* One sentence on which runs of the history do not count, or NULL if all do. */
    const char *left_out;
};

/* Runs the gate. base may be NULL with a budget, and with a history in which no run counts. Returns
 * NULL with *e set; the caller frees the result by gate_free(). */
struct gate *gate_run(struct advice *base, struct advice *now, const struct gate_wish *wish,
                      struct err *e);
void gate_free(struct gate *g);

#endif
