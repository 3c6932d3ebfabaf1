/* A pager in front of the terminal, as git has it: $GPUPROF_PAGER, $PAGER, else less, which leaves
 * what fits on one screen alone. */
#ifndef GPUPROF_CLI_COMMON_PAGER_H
#define GPUPROF_CLI_COMMON_PAGER_H

#include <sys/types.h>

struct pager {
    pid_t pid; /* 0: there is none */
    int terminal;
};

/* From here on stdout goes to the pager. Nothing happens where none is wanted (the variable is
 * empty or `cat`), installed, or of use (TERM=dumb). Only where stdout is a terminal. */
void pager_open(struct pager *p);
/* Waits until the reader is done; stdout is the terminal again. */
void pager_close(struct pager *p);

#endif
