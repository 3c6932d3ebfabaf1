/* A line on the terminal while a command works for longer than a second: what it does, and for how long already. Elsewhere
 * than on a terminal, in CI and with --quiet there is none. */
#ifndef GPUPROF_CLI_COMMON_PROGRESS_H
#define GPUPROF_CLI_COMMON_PROGRESS_H

/* `what`: "reading train.gpuprof". One at a time; without memory or a thread nothing is shown. */
void progress_begin(const char *what, const char *name);
/* Takes the line away, as everything does that is said on stderr. Call it before results are printed. Harmless without
 * progress_begin. */
void progress_end(void);

#endif
