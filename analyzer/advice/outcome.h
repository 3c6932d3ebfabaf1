/* What a rule says of a recording: fires, silent, suppressed or cannot tell, with its evidence. */
#ifndef GPUPROF_ADVICE_OUTCOME_H
#define GPUPROF_ADVICE_OUTCOME_H

#include "analyzer/dialects/dialect.h"
#include "analyzer/whatif/whatif.h"

struct rule;

enum verdict {              /* of one rule */
               RULE_SILENT, /* looked, nothing there ("checked and fine") */
               RULE_FIRES,
               RULE_SUPPRESSED, /* there, but already applied or impossible here: `why` */
               RULE_CANNOT_TELL /* the data it needs was not recorded: `why` names it and how to
                                   record it */
};

enum error_class { ERROR_STRUCTURAL, ERROR_KERNEL_MODEL, ERROR_RERUN_DECIDES };

/* Per what a value is, and so which words of scope.h stand behind its text. */
enum evidence_per {
    EVIDENCE_OF_ALL,   /* none */
    EVIDENCE_PER_UNIT, /* of the loop: "per step" */
    EVIDENCE_SHARE     /* of that unit: "of the step" */
};

struct evidence {
    const char *text; /* what was counted: "pageable H2D copies"; a comma at its end if one belongs
                         before those words */
    enum evidence_per per;
    double value;
    const char *unit; /* "ms", "count", "GB/s", "%", "" */
    const char *sql;  /* query that lists the rows behind it in the profile, NULL */
};

struct example { /* a place on the timeline */
    int64_t start_ns, end_ns;
    const char *text;
    const char *caller; /* the program's line that makes the call behind it, NULL */
    uint32_t op;        /* index, TL_NONE */
};

struct outcome {
    const struct rule *rule;
    enum verdict verdict;
    const char *title;   /* the rule's; where no step repeats that for a window */
    const char *why;     /* suppressed, cannot tell: one sentence; fine: the measured value */
    const char *summary; /* fires: one sentence with the numbers */
    int64_t saves_low_ns, saves_mid_ns, saves_high_ns; /* per step */
    int64_t least_ns; /* predicted: the low end if the host keeps its recorded pace */
    int64_t most_ns;  /* 0, or more than the exclusive time may be saved: this */
    int64_t limit_ns; /* but no more: what the rule knows, what a window has beside start-up */
    bool upper_bound; /* true: high is the most that it could save */
    bool put_off;     /* predicted: suppressed, for alone it saves next to nothing */
    int64_t own_low_ns, own_high_ns; /* predicted: before past trials widened it (past.h) */
    int64_t widened_ns;      /* of that, added at either end because of past trials (past.h) */
    size_t widened_after;    /* so many of them */
    enum ledger_kind change; /* predicted: one of the kinds that the ledger of real cards has */
    int64_t ledger_low_ns, ledger_high_ns; /* added at the low and high end by what such changes
                                              missed on real cards (past.h) */
    enum error_class error_class;
    struct edit edit; /* what is recommended, as a change that can be replayed */
    struct evidence evidence[8];
    size_t evidence_count;
    struct example examples[3];
    size_t example_count;
    struct remedy remedy; /* what to do; at first the rule's, which a check makes more exact */
    const char *words[FRAMEWORKS]; /* the same in the dialect of each, told at the end
                                      (advice_speak); NULL: that has no words for it */
    bool later; /* silent now: nothing is lost by it, but may be once others are applied. Its
                       edit and remedy are there */
    const char *setting; /* GPUPROF_APPLY text that applies it, e.g. "num_workers=4"; NULL: none, or
                         the recorded program does not obey it */
};

/* It cannot tell because it is about work on a GPU, and the program did none: no record would tell
 * (rank.c). */
bool outcome_wants_gpu(const struct facts *f, const struct outcome *o);
/* The remedy in the words of that framework. Never NULL. */
const char *outcome_remedy(const struct facts *f, const struct outcome *o);
void outcome_evidence(struct outcome *o, const char *text, double value, const char *unit,
                      const char *sql);
void outcome_evidence_per(struct outcome *o, const char *text, double value, const char *unit,
                          const char *sql);
void outcome_evidence_share(struct outcome *o, const char *text, double pct, const char *sql);
/* Idle time of the GPU per unit of the loop by its cause. */
void outcome_evidence_idle(struct outcome *o, const struct facts *f, const char *text, double value,
                           enum part part);
/* The query for the gaps that the part is most of; NULL where it is the smaller part of each. */
const char *outcome_idle_sql(const struct facts *f, enum part part);
/* The words behind an evidence's text, "per step", and what stands between: "", "" where the value
 * is of all. */
const char *evidence_scope(const struct facts *f, const struct evidence *e);
const char *evidence_gap(const struct evidence *e);
void outcome_example(struct outcome *o, int64_t start_ns, int64_t end_ns, const char *text,
                     uint32_t op);
/* The line that makes a call, NULL: not known, or there is no call (TL_NONE). */
const char *outcome_caller(const struct timeline *t, uint32_t api);
/* Of one operation, of one API call; TL_NONE: there is none to show. */
void outcome_example_op(struct outcome *o, const struct timeline *t, uint32_t op, const char *text);
void outcome_example_call(struct outcome *o, const struct timeline *t, uint32_t api,
                          const char *text);
/* "fires" with a saving that is only bounded above by `exclusive_ns` per step. Set error_class
 * before. */
void outcome_fires(struct outcome *o, int64_t exclusive_ns, const char *summary);

/* The finding is about this line: title, place and remedy say so. */
struct query_cause;
void outcome_look_at(struct outcome *o, struct arena *arena, const struct query_cause *c);

/* Adds to a finding's remedy what a framework's hook recorded of the program: the line to change
 * and what is there now. */
void outcome_in_program(const struct facts *f, struct arena *arena, struct outcome *o);
/* The remedy in words, and the setting that tries it (speak.c). */
void outcome_speak(const struct facts *f, struct arena *arena, struct outcome *o);
/* "k=v;k=v": false when the program's runtime said which settings it obeys, and not all of these.
 */
bool outcome_obeyed(const struct facts *f, const char *settings);

/* The longest gaps whose main part is `part`, as examples. */
void outcome_example_gaps(struct outcome *o, const struct facts *f, enum part part,
                          const char *text);

#endif
