/* Two analyses against each other: what moved and why (diff), and may it pass (gate). */
#ifndef GPUPROF_COMPARE_COMPARE_H
#define GPUPROF_COMPARE_COMPARE_H

#include "analyzer/advice/advice.h"

struct change {              /* one finding, part or kernel whose milliseconds moved */
    const char *what;        /* rule id, part key or kernel name */
    const char *kind;        /* "finding", "part", "kernel" */
    int64_t base_ns, new_ns; /* per step */
};

struct pace_change { /* of the mean step, longer ones included: what the loop takes (try's measure)
                      */
    int64_t base_ns, new_ns;
    double ratio, ratio_low, ratio_high; /* new / base, 95 % bootstrap interval */
};

struct diff {
    struct arena arena;
    int64_t base_ns, new_ns;      /* median step */
    double ratio;                 /* new / base of the medians */
    double ratio_low, ratio_high; /* 95 % bootstrap interval over blocks of steps, if `enough` */
    struct pace_change pace;      /* if `enough` */
    bool enough;                  /* enough steps on both sides to say */
    const char *comparable;       /* NULL, or why the two should not be compared (device, ...) */
    struct change *changes;
    size_t change_count; /* by |difference|, falling */
};

/* Deterministic: fixed seed, 5,000 draws. Only per-step distributions are used for the interval. */
struct diff *diff_find(struct advice *base, struct advice *now, struct err *e);
void diff_free(struct diff *d);

enum gate_verdict { GATE_PASS = 0, GATE_SLOWER = 1, GATE_INCONCLUSIVE = 3 };

struct gate_check {
    const char *name; /* "step time vs baseline", a budget's name */
    double measured, allowed;
    const char *unit;
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

/* Budget file: ini, docs/man/gpuprof-gate.md. budget_text may be NULL; base may be NULL with a
 * budget. */
struct gate *gate_run(struct advice *base, struct advice *now, const char *budget_text,
                      double max_regress_pct, struct err *e);
void gate_free(struct gate *g);

#endif
