/* The advice: what the rules say of the facts, in which order, and what the changes would save. The
 * exporters print it and leave it alone. */
#ifndef GPUPROF_ADVICE_ADVICE_H
#define GPUPROF_ADVICE_ADVICE_H

#include "analyzer/advice/outcome.h"
#include "analyzer/advice/rule.h"
#include "analyzer/whatif/replayed.h"

enum { STACK_MOST = 16 };

/* What the verdict says in one word, X(NAME, ID): VERDICT_NAME in C, ID in JSON and tables. */
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
    VERDICT_NONE, /* none is written yet */
#define X(name, id) VERDICT_##name,
    VERDICT_CLASSES(X)
#undef X
};

struct past_trial; /* analyzer/profile/history.h */
struct kept_trial; /* analyzer/profile/trials.h */

struct stacked { /* a finding on top of those before it */
    const struct outcome *outcome;
    int64_t step_ns; /* predicted step with this and all before it */
    int64_t step_low_ns, step_high_ns;
    int64_t saves_ns;
};

/* Findings are of two groups: time that the program loses, and computing made cheaper. What changes
 * the training itself is in neither. */
struct group_total {
    size_t findings;
    int64_t most_ns; /* what they can save together, no more than a step; savings overlap */
};

struct advice {
    const struct facts *facts;
    struct facts *own;    /* the same, when advise() computed it; NULL */
    struct arena arena;   /* owns everything below */
    struct whatif whatif; /* of the replay: self-checks and bounds; zero without predictions */
    struct stacked stack[STACK_MOST]; /* the order in which to make the changes */
    size_t stack_count;

    struct past_trial *past; /* what predictions came to, elsewhere and here (past.h) */
    size_t past_count;

    struct outcome *outcomes;
    size_t outcome_count; /* one per rule, registry order */
    const struct outcome **ranked;
    size_t ranked_count; /* findings, best first */
    enum verdict_class class;
    const char *verdict_class; /* its id, for programs */
    const char *verdict;       /* one sentence */
    const char *why;           /* one sentence */
    const char *next;          /* one sentence: the first finding's remedy, or what to record */
};

struct past_trials { /* trials that predictions learn from; of those in both, one counts */
    const struct past_trial *history; /* of other profiles */
    size_t count;
    const struct kept_trial *own; /* of this profile */
    size_t own_count;
};

/* Computes the facts of a timeline, asks every rule, and ranks what fires by its bound. The
 * timeline must outlive the result. NULL with *e set. */
struct advice *advise(const struct timeline *t, struct err *e);
/* The same, and replays the steps without each finding's cause: where the replay passes its
 * self-checks bounds become predictions, and findings rank by what they save at least. `past` is
 * read and not kept; NULL: there are no trials. */
struct advice *advise_predicted(const struct timeline *t, const struct past_trials *past,
                                struct err *e);
void advice_free(struct advice *a);
/* True when too little was recorded for any advice. */
bool advice_blind(const struct advice *a);
/* Which records are missing, where that matters, in the words of the health row; NULL: none are. */
const char *advice_missing(const struct advice *a);
/* What n findings of `a` save together. 1, 0 when nobody can tell, -1 out of memory. */
int advice_together(struct advice *a, const struct outcome *const *o, size_t n,
                    struct span_ns *saved, struct err *e);

/* A finding's change as the replay makes it in one step (after.c). */
struct after {
    const struct outcome *outcome;
    struct replayed_step step;
};
/* Fills out[] for those of n findings that have a prediction, and whose replayed steps agree with
 * it; how many, or -1 with *e set. advice_after_release frees what is in them. */
int advice_after(const struct advice *a, const struct outcome *const *o, size_t n,
                 struct after *out, struct err *e);
void advice_after_release(struct after *all, size_t n);

/* order.c */
struct group_total advice_group(const struct advice *a, bool cheaper);

#endif
