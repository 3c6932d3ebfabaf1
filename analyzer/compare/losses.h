/* Compares the losses of runs with and without a change. The hook tells the first ones of a run on
 * request (FACT_TORCH_LOSSES); a difference counts beside what runs without the change differ by. */
#ifndef GPUPROF_COMPARE_LOSSES_H
#define GPUPROF_COMPARE_LOSSES_H

#include "analyzer/compare/ab.h"
#include "analyzer/timeline/timeline.h"

enum {
    LOSSES_MOST = 32,         /* per run */
    LOSSES_RUNS = AB_RUNS + 1 /* the timed reruns and the one before them */
};

struct losses {
    struct losses_run {
        double at[LOSSES_MOST];
        size_t count;
    } run[LOSSES_RUNS];
    size_t count;
};

enum losses_verdict { LOSSES_UNKNOWN, LOSSES_EQUAL, LOSSES_WITHIN, LOSSES_CHANGED };
extern const char *const losses_verdict_text[];

struct losses_result {
    enum losses_verdict verdict;
    size_t compared; /* number of losses that each run has */
    size_t without_runs;
    /* Largest relative difference: of a run with the change from the range of those without, and
     * among those without. INFINITY: one of the two is no finite number. */
    double apart, noise;
    size_t worst; /* index of the loss that differs most */
    double without, with;
};

/* Adds the losses of one run. Does nothing if the recording has none. */
void losses_add(struct losses *l, const struct timeline *t);
/* LOSSES_EQUAL: every loss of every run is the same, to the bit. LOSSES_WITHIN: they differ, but by
 * no more than the runs without the change. LOSSES_UNKNOWN: no run without or with the change has
 * losses. */
struct losses_result losses_compare(const struct losses *without, const struct losses *with);

#endif
