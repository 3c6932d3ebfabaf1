/* Samples the threads of Python programs from outside, two hundred times a second at first: what
 * each one does (computes, waits for a core, sleeps, waits for a disk), and the Python stack that
 * it does it in (analyzer/pyframes/). A thread of the recorder does this; it shares nothing with
 * the sampled program, and takes no more than one per cent of a core: where there is more to look
 * at, it looks less often.
 *
 * A thread that has not run since its last sample is where it was: its sample is prolonged, and
 * no stack is read. */
#ifndef GPUPROF_SAMPLER_SAMPLER_H
#define GPUPROF_SAMPLER_SAMPLER_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sampler;

enum sample_state {
    SAMPLE_ASLEEP,  /* waits for something: a lock, a child, a clock, a pipe */
    SAMPLE_RUNNING, /* has a core */
    SAMPLE_READY,   /* would run, but has no core */
    SAMPLE_DISK     /* waits for a disk or a driver, and cannot be interrupted */
};

/* What one thread did at one moment; of one that did not run meanwhile, until a later one. */
struct sample {
    int64_t process; /* as sampler_follow was told */
    pid_t tid;
    int64_t start_ns, end_ns; /* CLOCK_MONOTONIC; of the first and the last look */
    int64_t looks;            /* that found it so */
    uint8_t state;            /* enum sample_state */
    const char *call;         /* that it sleeps in: "futex", "wait4"; "" = not known */
    uint32_t stack;           /* its innermost frame; 0 = it runs no Python code */
};
struct samples VEC(struct sample);

/* Stacks are a tree: each frame knows its caller. Texts are valid until sampler_stop. */
struct stack_frame {
    uint32_t caller; /* 0 = it has none */
    int line;        /* 0 = not known */
    const char *file, *function;
};

enum sampler_trouble {
    SAMPLER_FINE,      /* it gets samples, or may still */
    SAMPLER_FORBIDDEN, /* by the kernel: another user's, ptrace_scope, a container's filter */
    SAMPLER_UNKNOWN    /* a Python that pyframes cannot read */
};

/* Starts the thread. Frames in files of `hidden_folder` are left out (NULL: there is none). NULL:
 * out of memory, or no thread can be made. */
struct sampler *sampler_start(const char *hidden_folder);
/* A process that is sampled from now on, if it runs Python. `helper`: it works for another one (a
 * loader's worker): all of these together get as much of the sampler's time as the others. */
void sampler_follow(struct sampler *s, pid_t pid, int64_t process, bool helper);
/* The process has begun what it is there for: it is looked at more often from now on. */
void sampler_works(struct sampler *s, int64_t process);
void sampler_forget(struct sampler *s, int64_t process);
/* Moves the samples that are complete to the end of `out`; with `all` also those that may still be
 * prolonged. */
void sampler_take(struct sampler *s, struct samples *out, bool all);
struct stack_frame sampler_frame(struct sampler *s, uint32_t stack);
enum sampler_trouble sampler_trouble(struct sampler *s, int64_t process);
int64_t sampler_cpu_ns(struct sampler *s); /* that the thread has used so far */
void sampler_stop(struct sampler *s);      /* NULL is fine */

#endif
