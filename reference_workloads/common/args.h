/* Settings of a reference trainer, as a table: one row is a command line option (--pin-memory 1), a
 * key of GPUPROF_APPLY (pin_memory=1) and a line of --help. `-` and `_` in names are the same.
 */
#ifndef WORKLOAD_ARGS_H
#define WORKLOAD_ARGS_H

#include <stddef.h>

enum setting_kind {
    SETTING_INT,    /* int between min and max */
    SETTING_FLOAT,  /* float between min and max */
    SETTING_BOOL,   /* int: 0|1, false|true, off|on */
    SETTING_CHOICE, /* int: index into choices, "a|b|c" */
    SETTING_FLAG    /* int: --name without a value sets 1 */
};

struct setting {
    const char *name;
    enum setting_kind kind;
    size_t offset; /* of the field in the settings struct */
    double min, max;
    const char *choices;
    const char *help;
};

struct settings {
    const struct setting *at;
    size_t count;
    void *settings;
};

/* Sets one setting; a wrong name or value is one line on stderr and exit 2. `where` names the
 * source.
 */
void setting_set(const struct settings *k, const char *name, const char *value, const char *where);

/* The next setting of "k=v;k=v" (also with commas) as in GPUPROF_APPLY, which it cuts into pieces:
 * its name, and its value in *value, NULL where it is not of that form. NULL at the end. */
char *settings_next(char **rest, char **value);

/* Sets all of such a text. NULL and "" set nothing. */
void settings_apply(const struct settings *k, const char *text, const char *where);

/* The options of the command line. --help is answered here: `usage`, then the table. */
void settings_parse(const struct settings *k, int argc, char **argv, const char *usage);

/* The value of `--name` in argv, NULL without it: for options that must be known first. */
const char *args_find(int argc, char **argv, const char *name);

/* Writes the current value as text. */
void setting_text(const struct settings *k, const char *name, char *out, size_t bytes);

#endif
