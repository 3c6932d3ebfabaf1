/* The parts of `try`. A trial is a program and the changes that are tried on it; all changes are
 * compared with the same reruns without a change. The program runs under `gpuprof run`, with
 * GPUPROF_APPLY extended or not. Each rerun's output goes to a log of its own in a temporary
 * folder, which is removed unless a run failed. All arms are recorded in the same way, so that each
 * contains the cost of recording. A series is one trial, or, with --until, several: each tries the
 * next advice on the program with the changes that were kept. */
#ifndef GPUPROF_CLI_TRY_TRY_H
#define GPUPROF_CLI_TRY_TRY_H

#include "analyzer/compare/ab.h"
#include "analyzer/compare/losses.h"
#include "cli/load/load.h"

#include <limits.h>
#include <stdio.h>

struct json_tree;

enum { TRY_TOP = 8, TRY_ADVICE = 16, TRY_TEXT = 320 };

struct tried {
    char settings[1024]; /* separated by ;. Of a patch: the file's name */
    bool patch;          /* the program runs in the patched copy */
    char rule[64];       /* whose advice it is; "" if several rules advise it, or none */
    char title[160];     /* of that advice */
    char *diff;          /* of a patch: its text; malloc'ed */
    bool together;       /* all other changes together */
    /* The findings that advise it, while the profile is loaded. */
    const struct outcome *advice[TRY_ADVICE];
    size_t advice_count;
    struct ab_prediction predicted;
    char edit[24];            /* kind of the change, if it is of one kind; "" */
    double own_low, own_high; /* predicted, before past trials widened the interval */
    char advised[64];         /* what the advice of `rule` sets, if other values are tried; "" */
    double at_most;           /* share of the step, if only a bound is known; 0 */
    struct ab_arm arm;
    struct ab_result result;
    struct losses losses;
    struct losses_result computes; /* whether the change alters the losses */
    size_t acknowledged;
    bool obeys;        /* the program said that it applies the change */
    bool refused;      /* it did not apply a setting in the first run: not tried further */
    bool failed;       /* a run with the change failed; in a series it is then refused */
    char refusal[256]; /* the program's reason */
    char silent[64];   /* a setting about which the program said nothing; "" */
};

struct trial {
    const struct series *in;
    char base[PATH_MAX];    /* the copy that runs without the change; "": the current folder */
    char patched[PATH_MAX]; /* the patched copy of the current folder; "" */
    char profile[PATH_MAX]; /* the profile from which changes are predicted */
    char gpu[128];          /* name of the virtual GPU; "" */
    int64_t step_ns;        /* step time of that profile; 0: unknown */
    int64_t tried_ns;       /* Unix time */
    char why_not[256];      /* why nothing is predicted; "" */
    struct ab_arm without;
    struct losses losses_without;
    struct tried change[TRY_TOP + 1]; /* the last one may be all of them together */
    size_t count;
    /* Advice that ranks before the last one tried, but has no setting (""), or one that is tried
     * only on request. */
    struct passed {
        char rule[64], setting[64];
    } passed[TRY_ADVICE];
    size_t passed_count;
    char fewer[160]; /* why fewer are tried than --top wants; "" */
    /* Reruns record only the marks of steps: they show the pace as well as a full recording. */
    bool marks;
    size_t warm; /* steps at the start that are not steady */
};

struct series {
    char **argv;
    const char *device, *apply, *patch, *history;
    const char *fix;     /* the diff to make; NULL: none is wanted */
    const char *results; /* the profile that keeps results; NULL: none does */
    bool recorded;       /* the profile is there: no first run */
    /* The first run's stdout goes to stderr, since try's own stdout is for programs to read. */
    bool quiet_stdout;
    int runs;       /* in each arm; 0: by noise */
    int top;        /* number of changes that --top wants; 0: one is enough */
    int until;      /* the most changes one on top of another; 0: no series */
    int64_t end_ns; /* CLOCK_MONOTONIC: no run begins behind it; 0: no limit */
    char folder[PATH_MAX - 64];
    /* The trial behind the last one may be there: it found nothing to try. */
    struct trial at[TRY_TOP + 1];
    size_t count;
    char *kept;      /* the diffs of what was kept, as one; malloc'ed. NULL: nothing was */
    char ended[512]; /* why it ended; "" */
};

/* For `gpuprof try FILE`. trial_is_profile: is FILE a profile? trial_recorded: the command that was
 * recorded in it (valid until the process ends; NULL with *e set: unknown). Sets *device to its
 * virtual GPU if *device is NULL. */
bool trial_is_profile(const char *path);
char **trial_recorded(const char *path, const char **device, struct err *e);

void trial_catch_signals(void);
bool trial_interrupted(void);
/* Runs the program under `gpuprof run`, with its output to `log` (NULL: to try's own) and with the
 * settings of change c (NULL: without a change). marks: only steps are recorded. Returns the status
 * as a shell reports it; -1 with *e set: it did not start. */
int trial_record(const struct trial *t, const char *profile, const char *log, const struct tried *c,
                 bool marks, struct err *e);
/* A rerun that is not timed, recorded in full: does the program apply the change? Sets c->refused,
 * refusal and silent, and sets t->marks to false if marks mislead. */
int trial_probe(struct trial *t, struct tried *c, struct err *e);
/* From a full recording: false if marks mislead, because the host runs ahead of the GPU. May raise
 * t->warm. */
bool trial_marks_tell(struct trial *t, const struct advice *a);
/* One rerun, added to the arm of the change (NULL: without a change). -1 with *e set: it failed; *e
 * has its status and last lines. */
int trial_again(struct trial *t, struct tried *c, struct err *e);

/* From the choice of changes to the answer. -1 with *e set: there is none. If the user interrupts
 * it, it returns 0, and trial_compared says whether each arm has a run. */
int trial_compare(struct trial *t, struct err *e);
bool trial_compared(const struct trial *t);
/* The first trial, and with --until the others. -1 with *e set: the first one failed. */
int series_try(struct series *s, struct err *e);
bool series_late(const struct series *s); /* its time is over */
/* Removes the temporary folder, but for the output of a run that failed. */
void series_remove(const struct series *s);

/* Chooses what to try: the settings that the user named; else the first findings that have a
 * setting. Predictions come from the loaded profile. -1 with *e set: there are none. */
int trial_choose(struct trial *t, struct loaded *l, struct err *e);
/* Fills in what is predicted of a change, by the findings that advise it. */
int trial_predict(struct tried *c, const struct trial *t, struct loaded *l, struct err *e);
/* The change is what this finding advises. */
void trial_name(struct tried *c, const struct outcome *o);
/* Lists a finding among those that are not tried. */
void trial_pass(struct trial *t, const struct outcome *o);
/* Runs a program in a folder, with its output to stderr. Returns its exit status; 127: it is not
 * installed. */
int trial_run_in(const char *folder, const char *program, char *const *words);
/* Makes the copy for --patch. The change is then t->change[0], of which nothing is predicted. -1
 * with *e set: the file is no patch, leads out of the folder, or does not fit. */
int trial_patch(struct trial *t, const char *patch, struct err *e);
/* The text of a file; malloc'ed. NULL with *e set. */
char *trial_text(const char *path, struct err *e);
/* Makes a diff of the first finding for which that is possible, and the copy with it and with what
 * the series kept. -1 with *e set: there is none, or what is left is not worth it. */
int trial_fix(struct trial *t, struct loaded *l, struct err *e);
/* Adds the combination of all changes that the program applies, if there are two or more. */
int trial_join(struct trial *t, struct loaded *l, struct err *e);

/* Adds a row to the table trial of a profile, and a line to the history that the user named
 * (analyzer/profile/history.h) if the trial tells anything about predictions. */
int trial_keep(const struct trial *t, const struct tried *c, const char *profile, struct err *e);
int trial_remember(const struct trial *t, const struct tried *c, const char *history,
                   struct err *e);

/* The decision: a change is kept if it saves time for certain, and the losses stay. trial_decides:
 * why, one clause. */
bool trial_kept(const struct tried *c);
const char *trial_decides(const struct tried *c);
extern const char *const trial_decision[2]; /* by trial_kept */
/* The verdict, with its reason where trial_decides gives another. */
const char *trial_judged(char text[TRY_TEXT], const struct tried *c);

/* Whether the change alters the losses: one clause, written into `text`, and the object
 * "losses". */
const char *trial_losses_text(const struct trial *t, const struct losses_result *r,
                              char text[TRY_TEXT]);
void trial_losses_json(struct json_tree *j, const struct losses_result *r);
/* "71.2 % (69.0 to 73.1)", "at most 9.0 %" or "-". */
const char *trial_range(char text[48], bool known, double low, double mid, double high,
                        double at_most);
const char *trial_predicted(char text[48], const struct tried *c);
const char *trial_measured(char text[48], const struct tried *c);
const char *trial_verdict(const struct tried *c);
const char *trial_why(const struct tried *c);
/* Step time without a change, as used in the comparison; 0: unknown. */
int64_t trial_without_ns(const struct trial *t);
/* The trial that looked last for what to try. */
const struct trial *series_last(const struct series *s);
/* Share of the step that the kept changes save, one on top of another. */
double series_saved(const struct series *s);
void series_print(const struct series *s);
void series_print_json(const struct series *s);
/* The record of the decisions, as Markdown. */
void series_markdown(const struct series *s, FILE *f);

#endif
