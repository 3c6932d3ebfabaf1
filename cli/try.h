/* The reruns of `try`: the program under `gpuprof run`, with GPUPROF_APPLY extended (B) or not (A).
 * Each rerun's output goes to a log of its own in a temporary folder; the folder is removed unless
 * a run failed. Both arms are recorded alike, so the recording's cost is in both. */
#ifndef GPUPROF_CLI_TRY_H
#define GPUPROF_CLI_TRY_H

#include "analyzer/compare/ab.h"

#include <limits.h>

struct trial {
    char **argv;
    const char *device;
    bool quiet_stdout; /* the first run's stdout goes to stderr: ours is for programs to read */
    char knobs[1024];  /* with ; between */
    char folder[PATH_MAX - 64];
    char profile[PATH_MAX]; /* of the first run */
    char rule[64];          /* whose advice it is; "" */
    int64_t step_ns;        /* of the profile that predicts; 0 = not known */
    struct ab_arm a, b;
    size_t acknowledged, refused; /* runs of B: of all knobs, of at least one */
    char refusal[256];            /* the first one's words */
    char silent[64];              /* a knob that the program said nothing of; "" */
};

void trial_catch_signals(void);
bool trial_interrupted(void);
/* Runs it for the prediction, its output where ours goes. The program's status, -1 with *e set. */
int trial_first(struct trial *t, struct err *e);
/* One rerun, added to its arm. -1 with *e set: it failed (status and last lines are in *e). */
int trial_again(struct trial *t, bool with, struct err *e);
/* Adds a row to the table verification of the profile that predicted. */
int trial_keep(const struct trial *t, const char *profile, const struct ab_prediction *p,
               const struct ab_result *r, struct err *e);
void trial_remove(struct trial *t);

#endif
