/* The processes and threads that are sampled, for the files of this folder. */
#ifndef GPUPROF_SAMPLER_FOLLOWED_H
#define GPUPROF_SAMPLER_FOLLOWED_H

#include "analyzer/sampler/proc.h"
#include "analyzer/sampler/stacks.h"

enum { ROOTS = 8 };

struct followed_thread {
    struct pythread py;
    struct proc_thread proc;
    struct proc_look last, before; /* looks at it: the last, and the one before that */
    struct sample sample;          /* that the last look made, or prolonged */
    bool sampled, listed;
    uint64_t root[ROOTS]; /* outermost functions that it was seen in */
    uint8_t next_root;
};

struct followed {
    pid_t pid;
    int64_t process;
    bool helper;
    enum sampler_trouble trouble;
    bool over;                /* there is nothing to look at any more */
    int64_t tries;            /* to find its Python */
    int64_t walks;            /* that succeeded */
    int64_t failed;           /* those that did not since the last one that did */
    int64_t works_ns;         /* CLOCK_MONOTONIC, since when it does what it is for; 0 = not yet */
    int64_t cost_ns;          /* of one look at it, CPU time, averaged */
    int64_t next_ns, list_ns; /* CLOCK_MONOTONIC: of the next look, and the next list of threads */
    struct pyframes *frames;
    struct VEC(struct followed_thread) threads;
};

/* One look at all threads of a process; samples that cannot be prolonged any more go to `done`. */
void followed_look(struct followed *f, struct stacks *stacks, int64_t now_ns, struct samples *done);
/* Those that could be. */
void followed_flush(struct followed *f, struct samples *done);
void followed_release(struct followed *f);

#endif
