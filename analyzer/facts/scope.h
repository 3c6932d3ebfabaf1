/* What the numbers of a recording are per, in words: a step; a batch, where nothing but batches was
 * seen; the window that was recorded, where no step repeats. Whoever makes a text asks here, and
 * puts the names that the recording contains beside these words: so no name is ever taken for one
 * of them. */
#ifndef GPUPROF_FACTS_SCOPE_H
#define GPUPROF_FACTS_SCOPE_H

#include <stddef.h>

struct facts;

struct scope_words {      /* of a step; of a window */
    const char *unit;     /* "step"; "window" */
    const char *units;    /* "steps"; "windows" */
    const char *label;    /* "Step"; "Window" */
    const char *per;      /* behind a number: "per step"; "in the window" */
    const char *per_of;   /* between a number and what is counted: " per step"; "" */
    const char *of;       /* behind a share: "of the step"; "of the recorded window" */
    const char *of_each;  /* "of each step"; "of the recorded window" */
    const char *in_each;  /* "in each step"; "in the window" */
    const char *each;     /* "each"; "the" */
    const char *everyone; /* who does it: "every step"; "the program" */
    const char *in_loop;  /* " in the loop"; "" */
};

/* Static, never NULL. */
const struct scope_words *scope_words(const struct facts *f);

/* "step" of one, "steps" of others. */
static inline const char *scope_units(const struct scope_words *w, size_t n)
{
    return n == 1 ? w->unit : w->units;
}

#endif
