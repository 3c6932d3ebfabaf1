/* The words for what a recording's numbers refer to: a step; a batch, if only batches were seen;
 * or the recorded window, if no step repeats. Code that writes a text takes these words from
 * here and inserts names from the recording as separate values, so that a name that contains
 * "step" is never replaced. */
#ifndef GPUPROF_FACTS_SCOPE_H
#define GPUPROF_FACTS_SCOPE_H

#include <stddef.h>

struct facts;

struct scope_words {      /* examples: of a step; of a window */
    const char *unit;     /* "step"; "window" */
    const char *units;    /* "steps"; "windows" */
    const char *label;    /* "Step"; "Window" */
    const char *per;      /* after a number: "per step"; "in the window" */
    const char *per_of;   /* between a number and what it counts: " per step"; "" */
    const char *of;       /* after a share: "of the step"; "of the recorded window" */
    const char *of_each;  /* "of each step"; "of the recorded window" */
    const char *in_each;  /* "in each step"; "in the window" */
    const char *each;     /* "each"; "the" */
    const char *everyone; /* as a subject: "every step"; "the program" */
    const char *in_loop;  /* " in the loop"; "" */
};

/* Static, never NULL. */
const struct scope_words *scope_words(const struct facts *f);
/* Of the run's mean step, to which those with other work belong: "per step of the run". */
const struct scope_words *scope_words_of_run(const struct facts *f);

/* "step" for n = 1, "steps" otherwise. */
static inline const char *scope_units(const struct scope_words *w, size_t n)
{
    return n == 1 ? w->unit : w->units;
}

#endif
