/* The processes and threads that are sampled; for the files of this folder. */
#ifndef GPUPROF_SAMPLER_FOLLOWED_H
#define GPUPROF_SAMPLER_FOLLOWED_H

#include "analyzer/sampler/proc.h"
#include "analyzer/sampler/stacks.h"

enum { ROOTS = 8 };

struct followed_thread {
    struct pythread py;
    struct proc_thread proc;
    struct proc_look last, before; /* states of the thread at the last look and at the one before */
    struct sample sample;          /* the sample that the last look made or prolonged */
    bool sampled, listed;
    uint64_t root[ROOTS]; /* the outermost functions that it was seen in */
    uint8_t next_root;
};

struct followed {
    pid_t pid;
    int64_t process;
    bool helper;
    enum sampler_trouble trouble;
    bool rests;               /* nothing of it is recorded now */
    bool over;                /* there is nothing more to sample */
    int64_t tries;            /* attempts to find its Python */
    int64_t walks;            /* stacks read successfully */
    int64_t failed;           /* failed reads since the last success */
    int64_t works_ns;         /* CLOCK_MONOTONIC since which it does its actual work; 0 = not yet */
    int64_t since_ns;         /* CLOCK_MONOTONIC since which it is followed */
    int64_t cost_ns;          /* average CPU time of one look at it */
    int64_t spent_ns;         /* CPU time of all looks at it */
    int64_t next_ns, list_ns; /* CLOCK_MONOTONIC of the next look, and of the next list of
                                 threads */
    struct pyframes *frames;
    struct VEC(struct followed_thread) threads;
};

/* Looks once at all threads of a process. Samples that cannot be prolonged
 * any more go to `done`. */
void followed_look(struct followed *f, struct stacks *stacks, int64_t now_ns, struct samples *done);
/* Returns the pause before the next look. All looks together may cost one part in `share` of the time
 * since the process is followed. The pause is the usual one while the looks at its import, which are
 * few, have left something of that. */
int64_t followed_pause(const struct followed *f, int64_t now_ns, int64_t usual_ns, int64_t share);
/* Moves samples that could still be prolonged to `done`, too. */
void followed_flush(struct followed *f, struct samples *done);
void followed_release(struct followed *f);

#endif
