/* State of a thread from files in /proc that stay open: a look takes some two microseconds each. */
#ifndef GPUPROF_SAMPLER_PROC_H
#define GPUPROF_SAMPLER_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_thread {
    int stat, schedstat;
};

struct proc_look {
    int64_t cpu_ns, queue_ns; /* total time with a core, and ready without one */
    int64_t turns;            /* number of times it got a core; -1: the kernel does not count */
    char state;               /* R runs or is ready, S sleeps, D waits for a disk, T is stopped */
};

bool proc_open(struct proc_thread *t, pid_t pid, pid_t tid); /* false: the thread has ended */
void proc_close(struct proc_thread *t);
/* false: the thread has ended */
bool proc_look(const struct proc_thread *t, struct proc_look *look);
/* The system call that a thread sleeps in; "" = none, or not known. Static text. */
const char *proc_call(pid_t pid, pid_t tid);

#endif
