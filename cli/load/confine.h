/* Shuts this process in before it reads a file that somebody else made: a fault in a reader then
 * reaches nothing but what the user named. From confine() on the process, and those it forks,
 * opens the files named and what the system itself needs, writes where it was told to, starts no
 * program, opens no socket, and looks into no other process. The kernel sees to it: Landlock (Linux
 * 5.13) guards the files, seccomp the calls; where one of them is missing, the other stays.
 * Nothing widens it again. Cost: a few system calls, 0.1 ms. */
#ifndef GPUPROF_CLI_LOAD_CONFINE_H
#define GPUPROF_CLI_LOAD_CONFINE_H

#include <stddef.h>

struct confined {
    const char *const *inputs; /* files and folders to read, with links in a folder; [count] */
    size_t count;
    const char *also[2];    /* further ones, such as a budget; NULL: none */
    const char *outputs[2]; /* files to write, beside which a temporary one is made; NULL: none */
};

/* Of an input that does not exist the folder may be read: who opens it says why it is missing. */
void confine(const struct confined *to);

#endif
