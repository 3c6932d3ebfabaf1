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
    bool over;                /* there is nothing more to sample */
    int64_t tries;            /* attempts to find its Python */
    int64_t walks;            /* stacks read successfully */
    int64_t failed;           /* failed reads since the last success */
    int64_t works_ns;         /* CLOCK_MONOTONIC since which it does its actual work; 0 = not yet */
    int64_t cost_ns;          /* average CPU time of one look at it */
    int64_t next_ns, list_ns; /* CLOCK_MONOTONIC of the next look, and of the next list of
                                 threads */
    struct pyframes *frames;
    struct VEC(struct followed_thread) threads;
};

/* Looks once at all threads of a process. Samples that cannot be prolonged
 * any more go to `done`. */
void followed_look(struct followed *f, struct stacks *stacks, int64_t now_ns, struct samples *done);
/* Moves samples that could still be prolonged to `done`, too. */
void followed_flush(struct followed *f, struct samples *done);
void followed_release(struct followed *f);

#endif
