/* A rule: one recommendation. It reads the facts and fills an outcome, without I/O. Its numbers
 * come from the facts and from limits.def, never from a fixed saving. Each file rules/rule_NAME.c
 * defines `const struct rule rule_NAME`; CMake makes the list from the folder. A rule allocates
 * only from the arena that it gets. */
#ifndef GPUPROF_ADVICE_RULE_H
#define GPUPROF_ADVICE_RULE_H

#include "analyzer/advice/outcome.h"

/* Names of facts that a framework's hook records about the code to change. */
struct program_facts {
    const char *line; /* the line to change, e.g. "torch.loader.made"; NULL: not recorded */
    const char *now;  /* the present setting, e.g. "torch.loader"; NULL: not recorded */
};

/* A common tip for training engineers that this rule checks. Rules that check the same tip use the
 * same id and text. */
struct tip {
    const char *id;   /* short, for tests: "tf32" */
    const char *text; /* the advice, in our words */
    const char *note; /* what gpuprof sees of it; NULL: all */
};
enum { TIPS = 4 };

struct rule {
    const char *id;    /* "num-workers" */
    const char *title; /* imperative: "Load data in parallel workers" */
    uint32_t needs;    /* bits of enum have; if one is missing, the outcome is RULE_CANNOT_TELL */
    /* On entry *o is zeroed, except that o->rule, title and remedy are set; verdict is
     * RULE_SILENT. */
    void (*check)(const struct facts *f, struct arena *arena, struct outcome *o);
    const char *looks_for; /* documentation: the evidence */
    const char *doc;       /* documentation: why it costs time, and when the advice does not
                              apply */
    struct remedy remedy;  /* what to do, as far as it is the same for every program */
    struct program_facts program;
    /* Also asked of a program that computes without a GPU (facts.on_cpu): it then needs no GPU's work. */
    bool asks_cpu;
    bool about_input;  /* about how batches are made, not about what is done with them */
    bool about_update; /* about the optimizer's step */
    bool cheaper;      /* makes computing cheaper; otherwise it removes time that the program
                         loses */
    bool no_core;      /* its finding: the training thread lacks a core */
    /* Only names what costs the time, for cases in which no other rule knows a remedy. It gives way
     * to a rule of the same group that does (order.c). */
    bool stands_in;
    bool changes_training; /* changes what is learnt, not only how fast: ranks behind all others */
    /* Its finding does not depend on repeating steps. It is also asked of a window, with shares of
     * all that was recorded. */
    bool in_window;
    const char *window_title; /* title for a window if `title` speaks of steps; NULL: use `title` */
    bool start_up;            /* its finding is start-up: later steps do not have it */
    bool late_rank;           /* its finding: the others wait for one rank */
    bool host_pace; /* its finding depends on the host's pace, which recording stacks slows down */
    /* The remedy launches whole steps at once. If most of the lost time is slow launching, the
     * verdict says why this remedy does not apply. */
    bool one_launch;
    struct tip tips[TIPS]; /* at least one; an entry without an id ends the list */
};

extern const struct rule *const rules[];
extern const size_t rule_count;
const struct rule *rule_find(const char *id);
/* Returns the rule's title for steps or for a window, depending on the facts. */
const char *rule_title(const struct facts *f, const struct rule *r);

#endif
