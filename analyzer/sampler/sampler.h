/* Samples the threads of Python programs from outside, two hundred times a second at first: what
 * each thread does (computes, waits for a core, sleeps, waits for a disk), and its Python stack
 * (analyzer/pyframes/). A thread of the recorder does this. It shares nothing with the sampled
 * program, and takes at most one per cent of a core: with many threads it looks less often.
 *
 * A thread that has not run since its last sample is where it was: its sample is
 * prolonged, and no stack is read. */
#ifndef GPUPROF_SAMPLER_SAMPLER_H
#define GPUPROF_SAMPLER_SAMPLER_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sampler;

enum sample_state {
    SAMPLE_ASLEEP,  /* waits for a lock, a child process, a timer, a pipe, ... */
    SAMPLE_RUNNING, /* has a core */
    SAMPLE_READY,   /* would run, but has no core */
    SAMPLE_DISK     /* waits for a disk or a driver, and cannot be interrupted */
};

/* What one thread did at one moment, or until a later one if it did not run in between. */
struct sample {
    int64_t process; /* the id that sampler_follow was given */
    pid_t tid;
    int64_t start_ns, end_ns; /* CLOCK_MONOTONIC of the first and the last look */
    int64_t looks;            /* number of looks with this result */
    uint8_t state;            /* enum sample_state */
    const char *call; /* the system call that it sleeps in: "futex", "wait4"; "" = not known */
    uint32_t stack;   /* its innermost frame; 0 = it runs no Python code */
};
struct samples VEC(struct sample);

/* Stacks form a tree: each frame refers to its caller. Texts are valid until sampler_stop. */
struct stack_frame {
    uint32_t caller; /* 0 = no caller */
    int line;        /* 0 = not known */
    const char *file, *function;
};

enum sampler_trouble {
    SAMPLER_FINE,      /* samples come, or may still come */
    SAMPLER_FORBIDDEN, /* the kernel refuses: another user's process,
                          ptrace_scope, a container's filter */
    SAMPLER_UNKNOWN    /* pyframes cannot read this Python */
};

/* Starts the thread. Frames in files of `hidden_folder` (may be NULL) are left out. NULL: out of
 * memory, or no thread can be created. */
struct sampler *sampler_start(const char *hidden_folder);
/* Samples a process from now on, if it runs Python. `helper`: it works for another
 * process, as a loader's worker does; all helpers together get as much of the sampler's
 * time as all other processes. */
void sampler_follow(struct sampler *s, pid_t pid, int64_t process, bool helper);
/* The process has begun its actual work: from now on it is sampled more often. */
void sampler_works(struct sampler *s, int64_t process);
/* While it rests it is not sampled. */
void sampler_rest(struct sampler *s, int64_t process, bool rests);
void sampler_forget(struct sampler *s, int64_t process);
/* Appends the complete samples to `out`; with `all` also those that could still be prolonged. */
void sampler_take(struct sampler *s, struct samples *out, bool all);
struct stack_frame sampler_frame(struct sampler *s, uint32_t stack);
enum sampler_trouble sampler_trouble(struct sampler *s, int64_t process);
int64_t sampler_cpu_ns(struct sampler *s); /* CPU time that the thread has used so far */
void sampler_stop(struct sampler *s);      /* accepts NULL */

#endif
