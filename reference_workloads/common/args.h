/* Settings of a reference trainer, as a table: one row is a command line option (--pin-memory 1), a
 * key of GPUPROF_APPLY (pin_memory=1) and a line of --help. `-` and `_` in names are the same.
 */
#ifndef WORKLOAD_ARGS_H
#define WORKLOAD_ARGS_H

#include <stddef.h>

enum knob_kind {
    KNOB_INT,    /* int between min and max */
    KNOB_FLOAT,  /* float between min and max */
    KNOB_BOOL,   /* int: 0|1, false|true, off|on */
    KNOB_CHOICE, /* int: index into choices, "a|b|c" */
    KNOB_FLAG    /* int: --name without a value sets 1 */
};

struct knob {
    const char *name;
    enum knob_kind kind;
    size_t offset; /* of the field in the settings struct */
    double min, max;
    const char *choices;
    const char *help;
};

struct knobs {
    const struct knob *at;
    size_t count;
    void *settings;
};

/* Sets one knob; a wrong name or value is one line on stderr and exit 2. `where` names the source.
 */
void knob_set(const struct knobs *k, const char *name, const char *value, const char *where);

/* "k=v;k=v" (also with commas), as in GPUPROF_APPLY. NULL and "" set nothing. */
void knobs_apply(const struct knobs *k, const char *text, const char *where);

/* The options of the command line. --help is answered here: `usage`, then the table. */
void knobs_parse(const struct knobs *k, int argc, char **argv, const char *usage);

/* The value of `--name` in argv, NULL without it: for options that must be known first. */
const char *args_find(int argc, char **argv, const char *name);

/* Writes the current value as text. */
void knob_text(const struct knobs *k, const char *name, char *out, size_t bytes);

#endif
