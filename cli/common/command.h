/* A command: one file cli/cmd_NAME.c defines `const struct command cmd_NAME`; the list is made from
 * the folder. main only walks it: it parses the options, calls run, and looks at stdout afterwards.
 * Results go to stdout, status and progress to stderr. run returns the exit status: 0 done, 1 a
 * finding of the command's own (gate: slower), 2 usage or bad input, 3 inconclusive; `run` passes
 * on the program's. */
#ifndef GPUPROF_CLI_COMMON_COMMAND_H
#define GPUPROF_CLI_COMMON_COMMAND_H

#include "base/err.h"

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
    bool own_program;                  /* gpuprof-NAME, not a command of gpuprof */
    bool takes_program; /* options end at the first operand: from there on it is another program */
    bool keeps_status;  /* a full disk under stdout does not change the status (run's program's) */
};

extern const struct command *const commands[];
extern const size_t command_count;

enum { OPTIONS_ERROR = -1, OPTIONS_HELP = -2 };

/* Parses options up to the first operand or `--` (options may follow operands when `mixed`).
 * Unknown option: one line with the nearest name, OPTIONS_ERROR. --help: prints it, OPTIONS_HELP.
 * Otherwise returns how many of argv are left, moved to its front. argv[0] is an argument already.
 * Every command also knows --help, --color WHEN and --quiet. */
int options_parse(const struct command *c, int argc, char **argv, bool mixed);
/* In 24 lines at most, or in full with explanations and examples. */
void options_help(const struct command *c, bool in_full);

/* How close two words are: edit distance, for "did you mean". */
int word_distance(const char *a, const char *b);

/* May `stream_fd` be coloured? --color, then FORCE_COLOR and CLICOLOR_FORCE, then NO_COLOR, then
 * whether it is a terminal. */
bool color_wanted(int stream_fd);
/* CI=true or 1, as GitHub, GitLab and others set it: a second run in the same folder replaces
 * files. */
bool in_ci(void);
bool quiet_wanted(void); /* --quiet: no status lines */
int terminal_width(void);

/* One line on stderr: "gpuprof: ...". usage errors return 2, and so does fail, which prints *e. */
int usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int fail(const struct err *e);
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* status; not with --quiet */
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* with --quiet as well */

#endif
