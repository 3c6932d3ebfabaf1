/* A line on the terminal while a command works for more than a second: what it does, and for how
 * long already. It is not shown if stderr is no terminal, in CI, and with --quiet. */
#ifndef GPUPROF_CLI_COMMON_PROGRESS_H
#define GPUPROF_CLI_COMMON_PROGRESS_H

/* what, name: "reading" "train.gpuprof". One at a time. Without memory or a thread nothing is
 * shown. */
void progress_begin(const char *what, const char *name);
/* Erases the line. All other output to stderr erases it too. Call it before printing results. Does
 * nothing without progress_begin. */
void progress_end(void);

#endif
