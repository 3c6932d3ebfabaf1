/* An instrument records something of its own: CUPTI the GPU's work, the Python hook what a loop in
 * Python does, the NCCL hook the collectives. The core knows none of them by name. It calls all of
 * them through this table, at the moments in a process's life that it alone sees.
 *
 * Each file agent/ROOM/instrument_x.c defines `const struct instrument instrument_x`, and the build
 * lists them (cmake/registry.cmake). A function that an instrument does not need is NULL. None of
 * these calls is made for an ordinary record: the loop over the instruments costs the program
 * nothing there. */
#ifndef GPUPROF_AGENT_CORE_INSTRUMENT_H
#define GPUPROF_AGENT_CORE_INSTRUMENT_H

#include "agent/core/spool.h"

struct instrument {
    /* The agent's constructor, before the program runs. Returns an assignment "NAME=value" for the
     * environment, in memory that stays, or NULL. */
    char *(*load)(int argc, char **argv);
    /* A new process, also one made by fork: what its parent's instrument used is not its own. */
    void (*forget)(void);
    /* CUDA starts in this process (InitializeInjection). Runs in the program's thread. */
    void (*start)(struct thread *t);
    /* Wakes the instrument's own thread. False: it has none in this process. Any thread. */
    bool (*wake)(void);
    /* The record that marks the end of a step is about to be written by `t`. */
    void (*step_over)(struct thread *t);
    /* A range that belongs to a communicator (open_range.comm) begins, or has ended. */
    void (*collective_begins)(const struct open_range *r);
    void (*collective_ended)(struct thread *t, const struct open_range *r, int64_t end_ns);
    /* The process is about to become another program, or to go on where it cannot. */
    void (*replaced)(void);
    /* The process is about to run its last handlers; records may still be written. */
    void (*at_exit)(void);
    /* Hands over what it still has, within timeout_ms. forced: also what still runs. False: not
     * done in time. */
    bool (*finish)(int timeout_ms, bool forced);
};

extern const struct instrument *const instruments[];
extern const size_t instrument_count;

/* Each calls this function of every instrument that has it. */
void instruments_forget(void);
void instruments_start(struct thread *t);
bool instruments_wake(void); /* false: no instrument has a thread */
void instruments_step_over(struct thread *t);
void instruments_collective_begins(const struct open_range *r);
void instruments_collective_ended(struct thread *t, const struct open_range *r, int64_t end_ns);
void instruments_replaced(void);
void instruments_at_exit(void);
bool instruments_finish(int timeout_ms, bool forced); /* false: one was not done in time */

/* An instrument sets this when its thread goes to sleep for long, because nothing happens. The
 * next record of the program then wakes the thread (instruments_rouse). */
extern _Atomic bool instruments_asleep;
void instruments_rouse(void);

#endif
