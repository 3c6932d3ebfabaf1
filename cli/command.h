/* A command: one file cli/cmd_NAME.c defines `const struct command cmd_NAME`; the list is made from
 * the folder. main only walks it. Results go to stdout, status and progress to stderr. run returns
 * the exit status: 0 done, 1 a finding of the command's own (gate: slower), 2 usage or bad input, 3
 * inconclusive; `run` passes on the program's. */
#ifndef GPUPROF_CLI_COMMAND_H
#define GPUPROF_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

enum option_kind { OPTION_FLAG, OPTION_STRING, OPTION_INT, OPTION_DOUBLE };

struct option_spec {
    const char *name; /* "output", used as --output */
    char letter;      /* 'o', 0 = none */
    enum option_kind kind;
    void *value;     /* bool *, const char **, int *, double * */
    const char *arg; /* name of the value in help: "FILE" */
    const char *help;
};

struct command {
    const char *name;
    const char *usage;                 /* after "gpuprof NAME " */
    const char *help;                  /* one line */
    const char *details;               /* paragraphs and examples for --help; may be NULL */
    const struct option_spec *options; /* ends with a zeroed row; may be NULL */
    int (*run)(int argc, char **argv); /* what is left after the options, argv[0] = first operand */
};

extern const struct command *const commands[];
extern const size_t command_count;

/* Parses options up to the first operand or `--` (options may follow operands when `mixed`).
 * Unknown option: one line with the nearest name, -1. Returns how many of argv are left, moved to
 * its front. */
int options_parse(const struct command *c, int argc, char **argv, bool mixed);
void options_help(const struct command *c);

/* One line on stderr: "gpuprof: ...". usage errors return 2. */
int usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
