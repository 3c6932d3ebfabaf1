/* What `try` is made of. A trial is a program and the changes that are tried on it; all changes are
 * compared with the same reruns without any. The program runs under `gpuprof run`, with
 * GPUPROF_APPLY extended or not; each rerun's output goes to a log of its own in a temporary
 * folder, which is removed unless a run failed. All arms are recorded alike, so that the
 * recording's cost is in all of them. */
#ifndef GPUPROF_CLI_TRY_TRY_H
#define GPUPROF_CLI_TRY_TRY_H

#include "analyzer/compare/ab.h"
#include "cli/load/load.h"

#include <limits.h>

enum { TRY_TOP = 8, TRY_ADVICE = 16 };

struct tried {
    char settings[1024]; /* with ; between */
    char rule[64];       /* whose advice it is; "" when several have a part in it, or none */
    bool together;       /* made of the other changes */
    const struct outcome *advice[TRY_ADVICE]; /* the same, while the profile is loaded */
    size_t advice_count;
    struct ab_prediction predicted;
    char edit[24];            /* kind of the change, where it is one; "" */
    double own_low, own_high; /* predicted, before past trials widened it */
    char advised[64];         /* what the advice of `rule` sets, where other values are tried; "" */
    double at_most;           /* share of the step, where only a bound is known; 0 */
    struct ab_arm arm;
    struct ab_result result;
    size_t acknowledged;
    bool obeys;        /* it said so */
    bool refused;      /* at least one setting, in the first run with it: not tried any further */
    char refusal[256]; /* in whose words */
    char silent[64];   /* a setting that the program said nothing of; "" */
};

struct trial {
    char **argv;
    const char *device;
    bool quiet_stdout; /* the first run's stdout goes to stderr: ours is for programs to read */
    char folder[PATH_MAX - 64];
    char profile[PATH_MAX]; /* the one that predicts */
    char gpu[128];          /* name of the virtual GPU; "" */
    int64_t step_ns;        /* of that profile; 0 = not known */
    int64_t tried_ns;       /* Unix time */
    char why_not[256];      /* nothing is predicted from it: why; "" */
    struct ab_arm without;
    struct tried change[TRY_TOP + 1]; /* the last may be all of them together */
    size_t count;
    struct passed { /* advice that comes before the last one tried, but has no setting (""), or one
                       that is turned on request alone */
        char rule[64], setting[64];
    } passed[TRY_ADVICE];
    size_t passed_count;
    int asked;       /* changes that --top asked for; 0: one is enough */
    char fewer[160]; /* why fewer than that are tried; "" */
    bool marks;  /* reruns record the steps' marks alone: these tell the pace as well as all does */
    size_t warm; /* steps at the start that are not steady */
};

/* FILE in `gpuprof try FILE`: is it a profile, and the words that started what was recorded in it (for the life of the process;
 * NULL with *e set: they are not known). Sets *device to the virtual GPU that it chose, where *device is NULL. */
bool trial_is_profile(const char *path);
char **trial_recorded(const char *path, const char **device, struct err *e);

void trial_catch_signals(void);
bool trial_interrupted(void);
/* The program under `gpuprof run` (marks: nothing but steps is recorded), its output to `log`
 * (NULL: where ours goes), with the change's settings (NULL: as it is). The status as a shell tells
 * it; -1 with *e set: it did not start. */
int trial_record(const struct trial *t, const char *profile, const char *log, const struct tried *c,
                 bool marks, struct err *e);
/* A rerun that is not timed, recorded in full: does the program obey? Sets c->refused, refusal,
 * silent; and t->marks to false where marks mislead. */
int trial_probe(struct trial *t, struct tried *c, struct err *e);
/* Of a full recording: marks mislead where the host runs ahead of the GPU. Grows t->warm. */
bool trial_marks_tell(struct trial *t, const struct advice *a);
/* One rerun, added to the arm of the change (NULL: without any). -1 with *e set: it failed (status
 * and last lines are in *e). */
int trial_again(struct trial *t, struct tried *c, struct err *e);
void trial_remove(struct trial *t);

/* What is to be tried: the settings in `apply`; else the `top` first findings that a program can
 * be told to follow. Predictions come from the loaded profile. -1 with *e set: there are none. */
int trial_choose(struct trial *t, struct loaded *l, const char *apply, int top, struct err *e);
/* Adds the change that is all of those that the program obeys, where there are two or more. */
int trial_join(struct trial *t, struct loaded *l, struct err *e);

/* Adds a row to the table trial of a profile, and a line to the history that the user named
 * (analyzer/profile/history.h), if it says anything about predictions. */
int trial_keep(const struct trial *t, const struct tried *c, const char *profile, struct err *e);
int trial_remember(const struct trial *t, const struct tried *c, const char *history,
                   struct err *e);

const char *trial_verdict(const struct tried *c);
const char *trial_why(const struct tried *c);
void trial_print(const struct trial *t);
void trial_print_json(const struct trial *t);

#endif
