/* A pager for output on a terminal, as in git: $GPUPROF_PAGER, $PAGER, or less, which does not stop
 * for what fits on one screen. */
#ifndef GPUPROF_CLI_COMMON_PAGER_H
#define GPUPROF_CLI_COMMON_PAGER_H

#include <sys/types.h>

struct pager {
    pid_t pid; /* 0: there is no pager */
    int terminal;
};

/* Sends stdout to the pager from now on. Does nothing if no pager is wanted (the variable is empty
 * or `cat`), none is installed, or the terminal cannot show one (TERM=dumb). Call it only if stdout
 * is a terminal. */
void pager_open(struct pager *p);
/* Waits until the user leaves the pager. stdout is the terminal again. */
void pager_close(struct pager *p);

#endif
