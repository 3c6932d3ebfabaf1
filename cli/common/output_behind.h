/* A stream that is passed on by a thread of its own, so that whoever writes it need not wait for
 * the compression or the disk. The thread begins with the second half megabyte; less is passed on
 * at the end. Where no thread can be had the text is passed on at once. */
#ifndef GPUPROF_CLI_COMMON_OUTPUT_BEHIND_H
#define GPUPROF_CLI_COMMON_OUTPUT_BEHIND_H

#include <stddef.h>
#include <stdio.h>

struct behind_to {
    void *to;
    int (*write)(void *to, const char *data, size_t n); /* all of it; -1 with errno set */
    int (*close)(void *to);                             /* 0 or -1 with errno set */
};

/* NULL: out of memory, nothing is closed. Closing the stream waits for the thread; what the thread
 * could not write is told by the stream's error and by fclose, with errno. */
FILE *behind_open(struct behind_to to);

#endif
