/* A rule: one recommendation. Pure: it reads the facts and fills an outcome; no I/O, no constants
 * that stand for savings. Each file rules/rule_NAME.c defines `const struct rule rule_NAME`; the
 * list is made from the folder. Everything that a rule allocates comes from the arena given. */
#ifndef GPUPROF_ADVICE_RULE_H
#define GPUPROF_ADVICE_RULE_H

#include "analyzer/advice/outcome.h"

struct program_facts { /* facts of a framework's hook about what the advice changes */
    const char *line;  /* the line to change: "torch.loader.made"; NULL: none is recorded */
    const char *now;   /* what is there now: "torch.loader"; NULL: nothing is recorded */
};

/* A piece of advice that training engineers read everywhere, which the rule answers. Rules that
 * answer the same one use the same id and words. */
struct tip {
    const char *id;   /* short, for tests: "tf32" */
    const char *text; /* the advice, in our words */
    const char *note; /* what of it is seen, NULL */
};
enum { TIPS = 4 };

struct rule {
    const char *id;    /* "num-workers" */
    const char *title; /* imperative: "Load data in parallel workers" */
    uint32_t needs;    /* enum have bits; without them the outcome is RULE_CANNOT_TELL */
    void (*check)(const struct facts *f, struct arena *arena,
                  struct outcome *o); /* o is zeroed, o->rule set, RULE_SILENT */
    const char *looks_for;            /* doc: what evidence */
    const char *doc;                  /* doc: why it costs time, when the advice does not hold */
    struct remedy remedy;             /* what to do, as far as that holds for every program */
    struct program_facts program;
    bool about_input; /* how batches are made, rather than what is done with them */
    bool cheaper;     /* makes computing cheaper; else it takes away time that the program loses */
    bool no_core;     /* the training thread lacks a core */
    bool stands_in;   /* names what costs the time, where no other rule knows what to do about it:
                         gives way to one of its group that does (order.c) */
    bool changes_training; /* what is learnt, not only how fast: ranked behind the rest */
    bool in_window;        /* what it finds is so whether or not a step repeats: asked of a window,
                              too, with shares of all that was recorded */
    const char *window_title; /* of a window, where `title` is about steps; NULL: that */
    bool start_up;            /* what it finds does not come back in later steps */
    bool late_rank;           /* what it finds is one rank that the others wait for */
    bool host_pace;        /* what it finds is the host's own pace, which recording stacks slows */
    bool one_launch;       /* the remedy launches whole steps at once: why it does not hold is told
                              where slow launching is what is lost most */
    struct tip tips[TIPS]; /* up to the first without an id; one at least */
};

extern const struct rule *const rules[];
extern const size_t rule_count;
const struct rule *rule_find(const char *id);
/* Of a step or of a window, as the facts have it. */
const char *rule_title(const struct facts *f, const struct rule *r);

#endif
