/* The Python stack of another process, read from outside: without taking a lock, sending a signal
 * or pausing anything. So a stack may be inconsistent if the thread ran while it was read. Every
 * address is checked, and a caller should drop stacks whose outermost frame it does not know.
 *
 * For CPython 3.9 to 3.14 on 64-bit Linux, but not for builds without the GIL. One reader
 * belongs to one thread. */
#ifndef GPUPROF_PYFRAMES_PYFRAMES_H
#define GPUPROF_PYFRAMES_PYFRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pyframes;

enum pyframes_result {
    PYFRAMES_OPEN,
    PYFRAMES_NOT_PYTHON, /* the process maps no interpreter now */
    PYFRAMES_NOT_YET,    /* its interpreter has not started yet: try again */
    PYFRAMES_FORBIDDEN,  /* the kernel does not allow reading its memory */
    PYFRAMES_UNKNOWN     /* an unknown version, build or system */
};

/* A thread that has run Python code. */
struct pythread {
    uint64_t state; /* address of its PyThreadState */
    pid_t tid;
};

struct pyframe {
    const char *file, *function; /* UTF-8, valid until pyframes_close */
    int line;                    /* 0 = not known */
    uint64_t code;               /* identifies the function while it exists */
};

enum pyframes_result pyframes_open(struct pyframes **out, pid_t pid);
void pyframes_close(struct pyframes *p);
bool pyframes_forbidden(const struct pyframes *p); /* the kernel refused the last read */
/* Lists its threads, at most `most`. 0: the process has ended, or its Python has. */
size_t pyframes_threads(struct pyframes *p, struct pythread *out, size_t most);
/* Reads the frames of a thread, innermost first. If the stack is deeper than `most`, out[most - 1]
 * is the outermost frame, and the frames between it and out[most - 2] are left out. -1: not
 * readable, or inconsistent; 0: the thread runs no Python code now. */
int pyframes_walk(struct pyframes *p, const struct pythread *t, struct pyframe *out, size_t most);

#endif
