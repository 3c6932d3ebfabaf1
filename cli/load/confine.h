/* Restricts this process before it reads a file that somebody else made, so that a fault in a
 * reader reaches only what the user named. After confine() this process, and those that it forks,
 * open only the named files and what the system itself needs, write only where the user said, start
 * no program, open no socket, and read no other process. The kernel enforces it: Landlock (Linux
 * 5.13) for files, seccomp for calls; if it lacks one of them, the other still holds. It cannot be
 * undone. Cost: a few system calls, 0.1 ms. */
#ifndef GPUPROF_CLI_LOAD_CONFINE_H
#define GPUPROF_CLI_LOAD_CONFINE_H

#include <stddef.h>

struct confined {
    /* Files and folders to read, and what links in the folders point to; [count]. */
    const char *const *inputs;
    size_t count;
    const char *also[2];    /* further files to read, such as a budget; NULL: none */
    const char *outputs[2]; /* files to write; a temporary one is made beside each; NULL: none */
};

/* If an input does not exist, its folder may be read, so that the reader can say why it is
 * missing. */
void confine(const struct confined *to);

#endif
