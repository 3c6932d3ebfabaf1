/* A command. One file cli/cmd_NAME.c defines `const struct command cmd_NAME`, and the build makes
 * the list from the folder. main parses the options, calls run, and checks stdout afterwards.
 * Results go to stdout, status and progress to stderr. run returns the exit status: 0 done, 1 a
 * result of the command's own (gate: slower), 2 usage or bad input, 3 inconclusive; `run` returns
 * the program's status. */
#ifndef GPUPROF_CLI_COMMON_COMMAND_H
#define GPUPROF_CLI_COMMON_COMMAND_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum option_kind { OPTION_FLAG, OPTION_STRING, OPTION_INT, OPTION_DOUBLE };

struct option_spec {
    const char *name; /* long name: "output" for --output */
    char letter;      /* 'o' for -o; 0: none */
    enum option_kind kind;
    void *value;      /* bool *, const char **, int *, double * */
    const char *arg;  /* name of the value in help: "FILE" */
    const char *help; /* NULL: the row above says it, and its line names both options */
};

struct command {
    const char *name;
    const char *usage;                 /* follows "gpuprof NAME " */
    const char *help;                  /* one line */
    const char *details;               /* paragraphs and examples for --help; may be NULL */
    const struct option_spec *options; /* the last row is all zero; may be NULL */
    /* Gets what is left after the options; argv[0]: the first operand. */
    int (*run)(int argc, char **argv);
    bool own_program;   /* a program gpuprof-NAME, not a command of gpuprof */
    bool takes_program; /* options end at the first operand: another program's command */
    /* A full disk under stdout does not change the status, which is the recorded program's. */
    bool keeps_status;
};

extern const struct command *const commands[];
extern const size_t command_count;

enum { OPTIONS_ERROR = -1, OPTIONS_HELP = -2 };

/* Parses options up to the first operand or `--` (mixed: options may follow operands). An unknown
 * option prints one line with the nearest name and returns OPTIONS_ERROR. --help prints the help
 * and returns OPTIONS_HELP. Otherwise returns how many of argv are left, moved to its front.
 * argv[0] already is an argument. Every command also has --help, --color WHEN and --quiet. */
int options_parse(const struct command *c, int argc, char **argv, bool mixed);
/* Prints the help in at most 24 lines, or in full with explanations and examples. */
void options_help(const struct command *c, bool in_full);

/* Edit distance of two words, for "did you mean". */
int word_distance(const char *a, const char *b);

/* True if output to `stream_fd` may have colours: decided by --color, else by FORCE_COLOR and
 * CLICOLOR_FORCE, else by NO_COLOR, else by whether it is a terminal. */
bool color_wanted(int stream_fd);
/* CI is set to anything but 0 or false, as GitHub, GitLab and others set it. There a second run in
 * the same folder replaces files. */
bool in_ci(void);
bool quiet_wanted(void); /* --quiet: no status lines */
int terminal_width(void);

/* Print one line "gpuprof: ..." on stderr and return 2. fail prints *e. */
int usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int fail(const struct err *e);
/* Status line; not with --quiet. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* also with --quiet */

#endif
