/* The outcome of one rule for a recording: fires, silent, suppressed or cannot tell, with its
 * evidence. */
#ifndef GPUPROF_ADVICE_OUTCOME_H
#define GPUPROF_ADVICE_OUTCOME_H

#include "analyzer/dialects/dialect.h"
#include "analyzer/whatif/whatif.h"

struct rule;

/* Of one rule. */
enum verdict {
    RULE_SILENT, /* looked and found nothing ("checked and fine") */
    RULE_FIRES,
    RULE_SUPPRESSED, /* found, but already fixed or impossible here: `why` */
    /* The recording lacks data that the rule needs: `why` names it and how to record it. */
    RULE_CANNOT_TELL
};

enum error_class { ERROR_STRUCTURAL, ERROR_KERNEL_MODEL, ERROR_RERUN_DECIDES };

/* What a value refers to, and so which words of scope.h follow its text. */
enum evidence_per {
    EVIDENCE_OF_ALL,   /* to the whole recording: no words */
    EVIDENCE_PER_UNIT, /* to a unit of the loop: "per step" */
    EVIDENCE_SHARE     /* to that unit's time: "of the step" */
};

struct evidence {
    /* What was counted: "pageable H2D copies". It ends in a comma if one must stand before the
     * words of `per`. */
    const char *text;
    enum evidence_per per;
    double value;
    const char *unit; /* "ms", "count", "GB/s", "%", "" */
    const char *sql;  /* query that lists the rows behind it in the profile, or NULL */
};

/* A place on the timeline that shows the finding. */
struct example {
    int64_t start_ns, end_ns;
    const char *text;
    const char *caller; /* the program's line that makes the call, or NULL */
    uint32_t op;        /* index of the operation, or TL_NONE */
};

struct outcome {
    const struct rule *rule;
    enum verdict verdict;
    const char *title;   /* the rule's title for steps or for a window; words of a library may
                            replace it */
    const char *why;     /* suppressed, cannot tell: one sentence; silent: the measured value */
    const char *summary; /* fires: one sentence with the numbers */
    int64_t saves_low_ns, saves_mid_ns, saves_high_ns; /* per step */
    int64_t least_ns; /* if predicted: the low end if the rerun's host keeps its recorded pace */
    /* If PyTorch's profiler recorded stacks of Python: the middle, and least_ns, where nobody records
     * them, as shares of that run's step. The finding ranks by these. */
    bool usual_known;
    int64_t usual_mid_ns, usual_least_ns;
    /* 0, or the most that may be saved if that is more than the exclusive time. */
    int64_t most_ns;
    /* The saving never exceeds this: what the rule knows, or what a window contains besides
     * start-up. */
    int64_t limit_ns;
    bool upper_bound; /* true: saves_high_ns is an upper bound, not a prediction */
    /* The savings are spread over all steps of the run, those with other work included, and are
     * shares of the mean of all these steps. */
    bool of_run;
    bool put_off; /* suppressed by the prediction: alone it saves next to nothing */
    int64_t own_low_ns, own_high_ns; /* predicted interval before past trials widened it (past.h) */
    int64_t widened_ns;              /* ns that past trials added at either end (past.h) */
    size_t widened_after;            /* number of these trials */
    enum ledger_kind change; /* if predicted: the group of changes in the ledger of real cards */
    /* Added at the low and the high end because predictions of such changes missed by this much on
     * real cards (past.h). */
    int64_t ledger_low_ns, ledger_high_ns;
    enum error_class error_class;
    struct edit edit; /* the recommended change, for the replay */
    struct evidence evidence[8];
    size_t evidence_count;
    struct example examples[3];
    size_t example_count;
    /* The finding whose change has to be made first, because this change cannot hold what that one
     * takes out (waits in a CUDA graph). NULL: none. */
    const struct outcome *after;
    struct remedy remedy; /* what to do: first a copy of the rule's remedy, which the check makes
                             more precise */
    /* The remedy in each framework's words, written last (advice_speak). NULL: that framework has
     * no words for it. */
    const char *words[FRAMEWORKS];
    bool trains_not; /* the rule's change would change the training, but nothing is trained here */
    /* Silent now, because nothing is lost by it, but it may save time after other changes. Its edit
     * and remedy are filled in. */
    bool later;
    /* Text of GPUPROF_APPLY that applies the remedy, e.g. "num_workers=4". NULL: there is none, or
     * the recorded program does not obey it. */
    const char *setting;
};

/* Returns true if the change changes what is learnt: it ranks behind all others. */
bool outcome_changes_training(const struct outcome *o);
/* Returns true if the rule cannot tell because it checks GPU work and the program did none: then no
 * way of recording helps (rank.c). */
bool outcome_wants_gpu(const struct facts *f, const struct outcome *o);
/* Returns what the savings are shares of: the step, or the mean step of the run. */
int64_t outcome_of_ns(const struct facts *f, const struct outcome *o);
/* Returns the words for what the savings are per. */
const struct scope_words *outcome_scope(const struct facts *f, const struct outcome *o);
/* Returns the remedy in the words of the program's framework; never NULL. */
const char *outcome_remedy(const struct facts *f, const struct outcome *o);
/* Returns the line to change, e.g. "train.py:9", else the line that makes the first example's call, else NULL. */
const char *outcome_place(const struct outcome *o);
void outcome_evidence(struct outcome *o, const char *text, double value, const char *unit,
                      const char *sql);
void outcome_evidence_per(struct outcome *o, const char *text, double value, const char *unit,
                          const char *sql);
void outcome_evidence_share(struct outcome *o, const char *text, double pct, const char *sql);
/* Adds the GPU's idle time of one part as evidence, per unit of the loop. */
void outcome_evidence_idle(struct outcome *o, const struct facts *f, const char *text, double value,
                           enum part part);
/* Returns the query for the gaps in which that part is the largest, or NULL if there are none. */
const char *outcome_idle_sql(const struct facts *f, enum part part);
/* evidence_scope returns the words that follow an evidence's text, e.g. "per step", or "".
 * evidence_gap returns what stands between text and words: a blank, or "" without words. */
const char *evidence_scope(const struct facts *f, const struct evidence *e);
const char *evidence_gap(const struct evidence *e);
void outcome_example(struct outcome *o, int64_t start_ns, int64_t end_ns, const char *text,
                     uint32_t op);
/* Returns the line that makes a call, or NULL if it is not known or there is no call (TL_NONE). */
const char *outcome_caller(const struct timeline *t, uint32_t api);
/* Add an operation or an API call as an example; TL_NONE adds nothing. */
void outcome_example_op(struct outcome *o, const struct timeline *t, uint32_t op, const char *text);
void outcome_example_call(struct outcome *o, const struct timeline *t, uint32_t api,
                          const char *text);
/* Makes the rule fire with a saving of at most `exclusive_ns` per step, an upper bound. Set
 * error_class and most_ns before. */
void outcome_fires(struct outcome *o, int64_t exclusive_ns, const char *summary);

/* Makes the finding about this line: sets title, place and remedy. */
struct query_cause;
void outcome_look_at(struct outcome *o, struct arena *arena, const struct query_cause *c);

/* Adds to a finding's remedy what a framework's hook recorded of the program: the line to change
 * and the present setting. */
void outcome_in_program(const struct facts *f, struct arena *arena, struct outcome *o);
/* Writes the remedy in words, and the setting that tries it (speak.c). */
void outcome_speak(const struct facts *f, struct arena *arena, struct outcome *o);
/* Returns false if the program's runtime reported which settings it obeys, and one of `settings`
 * ("k=v;k=v") is not among them. */
bool outcome_obeyed(const struct facts *f, const char *settings);

/* Adds the longest gaps with time of `part` as examples. */
void outcome_example_gaps(struct outcome *o, const struct facts *f, enum part part,
                          const char *text);

#endif
