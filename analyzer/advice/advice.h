/* The advice: what the rules find in the facts, in which order to look at it, and what the changes
 * would save. Exporters print it and do not change it. */
#ifndef GPUPROF_ADVICE_ADVICE_H
#define GPUPROF_ADVICE_ADVICE_H

#include "analyzer/advice/outcome.h"
#include "analyzer/advice/rule.h"
#include "analyzer/whatif/replayed.h"

enum { STACK_MOST = 16 };

/* The verdict in one word. X(NAME, ID): VERDICT_NAME in C, ID in JSON and tables. */
#define VERDICT_CLASSES(X)                                                                         \
    X(NOT_ENOUGH, "not-enough-data")                                                               \
    X(START_UP, "start-up")                                                                        \
    X(CONTENTION, "contention")                                                                    \
    X(STRAGGLER, "straggler")                                                                      \
    X(INPUT, "input")                                                                              \
    X(HOST, "host")                                                                                \
    X(COMMUNICATION, "communication")                                                              \
    X(COPY, "copy")                                                                                \
    X(SYNC, "sync")                                                                                \
    X(QUEUE, "queue")                                                                              \
    X(UNEXPLAINED, "unexplained")                                                                  \
    X(GPU, "gpu")                                                                                  \
    X(BALANCED, "balanced")                                                                        \
    X(CPU, "cpu")                                                                                  \
    X(GC, "gc")                                                                                    \
    X(VALIDATION, "validation")
enum verdict_class {
    VERDICT_NONE, /* not written yet */
#define X(name, id) VERDICT_##name,
    VERDICT_CLASSES(X)
#undef X
};

struct past_trial; /* analyzer/profile/history.h */
struct kept_trial; /* analyzer/profile/trials.h */

/* A finding in the order in which to make the changes. */
struct stacked {
    const struct outcome *outcome;
    int64_t step_ns; /* predicted step time with this change and all before it */
    int64_t step_low_ns, step_high_ns;
    int64_t saves_ns;
};

/* Findings form two groups: time that the program loses, and computing made cheaper. Changes of the
 * training itself are in neither. */
struct group_total {
    size_t findings;
    int64_t most_ns; /* most that they save together: at most a step, because savings overlap */
    bool of_run;     /* per step of the run, because a finding among them is */
};

struct advice {
    const struct facts *facts;
    struct facts *own;    /* the same facts if advise() computed them, else NULL */
    struct arena arena;   /* owns everything below */
    struct whatif whatif; /* the replay's self-checks and bounds; zero without predictions */
    struct stacked stack[STACK_MOST]; /* in the order in which to make the changes */
    size_t stack_count;

    struct past_trial *past; /* how predictions compared with trials, of this and other profiles
                                (past.h) */
    size_t past_count;

    struct outcome *outcomes;
    size_t outcome_count; /* one per rule, in the registry's order */
    const struct outcome **ranked;
    size_t ranked_count; /* findings, best first */
    enum verdict_class class;
    const char *verdict_class; /* its ID, for programs */
    const char *verdict;       /* one sentence */
    const char *why;           /* one sentence */
    const char *next;          /* one sentence: the first finding's remedy, or what to record */
    /* Where an allocation of the GPU's memory failed, and then the program; else ACTION_NONE. */
    struct remedy memory_remedy;
    const char *memory_words[FRAMEWORKS];
};

/* Trials from which predictions learn. A trial that is in both lists counts once. */
struct past_trials {
    const struct past_trial *history; /* of other profiles */
    size_t count;
    const struct kept_trial *own; /* of this profile */
    size_t own_count;
};

/* Computes the facts of a timeline, asks every rule, and ranks the findings by their upper bounds.
 * The timeline must outlive the result. Returns NULL with *e set; the caller frees the result by
 * advice_free(). */
struct advice *advise(const struct timeline *t, struct err *e);
/* Like advise(), and replays the steps with each finding's change: if the replay passes its
 * self-checks, bounds become predictions, and findings rank by the least that they save. It reads
 * `past` but does not keep it; NULL: no trials. */
struct advice *advise_predicted(const struct timeline *t, const struct past_trials *past,
                                struct err *e);
void advice_free(struct advice *a);
/* Returns true if too little was recorded for any advice. */
bool advice_blind(const struct advice *a);
/* Returns which records are missing, if that matters, in the words of the health row, or NULL if
 * none are. */
const char *advice_missing(const struct advice *a);
/* Predicts what n findings of `a` save together. Returns 1; 0 if that cannot be predicted; -1
 * without memory. */
int advice_together(struct advice *a, const struct outcome *const *o, size_t n,
                    struct span_ns *saved, struct err *e);

/* A finding's change in one step, event by event, as the replay makes it (after.c). */
struct after {
    const struct outcome *outcome;
    struct replayed_step step;
};
/* Fills out[] for those of the n findings whose change was predicted and whose replayed step agrees
 * with the prediction. Returns their number, or -1 with *e set. The caller frees their contents by
 * advice_after_release. */
int advice_after(const struct advice *a, const struct outcome *const *o, size_t n,
                 struct after *out, struct err *e);
void advice_after_release(struct after *all, size_t n);

/* Counts the findings of one group (order.c). */
struct group_total advice_group(const struct advice *a, bool cheaper);

#endif
