/* The Python stack of another process, read from outside: no lock is taken in it, no signal sent,
 * nothing paused. So a stack may be torn, where the thread went on while it was read: every address
 * is checked, and a caller should drop stacks whose outermost frame it does not know.
 *
 * For CPython 3.9 to 3.14 on 64-bit Linux; not for builds without the GIL. One reader belongs to
 * one thread. */
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
    PYFRAMES_NOT_YET,    /* it has one that has not started: ask again */
    PYFRAMES_FORBIDDEN,  /* the kernel does not let us read its memory */
    PYFRAMES_UNKNOWN     /* a version, a build or a system that this reader does not know */
};

/* A thread that has run Python. */
struct pythread {
    uint64_t state; /* address of its PyThreadState */
    pid_t tid;
};

struct pyframe {
    const char *file, *function; /* UTF-8, valid until pyframes_close */
    int line;                    /* 0 = not known */
    uint64_t code;               /* identity of the function, while it exists */
};

enum pyframes_result pyframes_open(struct pyframes **out, pid_t pid);
void pyframes_close(struct pyframes *p);
int pyframes_minor(const struct pyframes *p);      /* 11 for Python 3.11 */
bool pyframes_forbidden(const struct pyframes *p); /* the kernel refused the last read */
/* Its threads now, `most` at most; 0: the process is gone, or its Python has ended. */
size_t pyframes_threads(struct pyframes *p, struct pythread *out, size_t most);
/* The frames of a thread, innermost first; of a deeper stack the inner ones and, as the last, the
 * outermost. -1: it could not be read, or is torn; 0: the thread runs no Python code now. */
int pyframes_walk(struct pyframes *p, const struct pythread *t, struct pyframe *out, size_t most);

#endif
