/* An instrument records one kind of thing: CUPTI the GPU's work, the Python hook what a loop in
 * Python does, the NCCL hook the collectives. The core knows no instrument by name. It calls all of
 * them through this table, at moments in a process's life that only the core sees.
 *
 * Each file agent/ROOM/instrument_x.c defines `const struct instrument instrument_x`, and the build
 * lists them (cmake/registry.cmake). A function that an instrument does not need is NULL. An
 * ordinary record makes none of these calls, so the number of instruments costs it nothing. */
#ifndef GPUPROF_AGENT_CORE_INSTRUMENT_H
#define GPUPROF_AGENT_CORE_INSTRUMENT_H

#include "agent/core/spool.h"

struct instrument {
    /* The agent's constructor, before the program runs. Returns an assignment "NAME=value" for the
     * environment, in memory that stays valid, or NULL. */
    char *(*load)(int argc, char **argv);
    /* A new process begins, perhaps one made by fork: the instrument must drop what its parent
     * used. */
    void (*forget)(void);
    /* CUDA starts in this process (InitializeInjection). Runs in the program's thread. */
    void (*start)(struct thread *t);
    /* Wakes the instrument's own thread. False: it has none in this process. Any thread may call
     * it. */
    bool (*wake)(void);
    /* Thread `t` is about to write the record that marks the end of a step. */
    void (*step_over)(struct thread *t);
    /* A range that belongs to a communicator (open_range.comm) begins, or has ended. */
    void (*collective_begins)(const struct open_range *r);
    void (*collective_ended)(struct thread *t, const struct open_range *r, int64_t end_ns);
    /* The program is about to call exec. If exec fails, the process goes on. */
    void (*replaced)(void);
    /* The process is about to run its last exit handlers. Records may still be written. */
    void (*at_exit)(void);
    /* Hands over the records that the instrument still has, within timeout_ms. forced: also those
     * of work that still runs. False: there was not enough time. */
    bool (*finish)(int timeout_ms, bool forced);
};

extern const struct instrument *const instruments[];
extern const size_t instrument_count;

/* Each of these calls that function of every instrument that has it. */
void instruments_forget(void);
void instruments_start(struct thread *t);
bool instruments_wake(void); /* false: no instrument has a thread */
void instruments_step_over(struct thread *t);
void instruments_collective_begins(const struct open_range *r);
void instruments_collective_ended(struct thread *t, const struct open_range *r, int64_t end_ns);
void instruments_replaced(void);
void instruments_at_exit(void);
/* false: some instrument had not enough time */
bool instruments_finish(int timeout_ms, bool forced);

/* An instrument sets this when its thread goes to sleep for long, because the program records
 * nothing. The next record of the program then wakes the thread (instruments_rouse). */
extern _Atomic bool instruments_asleep;
void instruments_rouse(void);

#endif
