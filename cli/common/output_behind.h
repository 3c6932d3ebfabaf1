/* A stream that a thread of its own passes on, so that the writer need not wait for compression or
 * for the disk. The thread starts with the second half megabyte; a shorter text is passed on at the
 * end. If no thread can be created, the writer passes the text on itself. */
#ifndef GPUPROF_CLI_COMMON_OUTPUT_BEHIND_H
#define GPUPROF_CLI_COMMON_OUTPUT_BEHIND_H

#include <stddef.h>
#include <stdio.h>

struct behind_to {
    void *to;
    int (*write)(void *to, const char *data, size_t n); /* writes all of it; -1 with errno set */
    int (*close)(void *to);                             /* 0 or -1 with errno set */
};

/* NULL: out of memory; `to` is not closed. Closing the stream waits for the thread. What the thread
 * could not write shows in the stream's error state and in fclose, with errno. */
FILE *behind_open(struct behind_to to);

#endif
