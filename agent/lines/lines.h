/* Finds out which line of the program launches work on the GPU. Just before a launch, the launching
 * thread reads its own Python frames (frames.c). It writes the innermost line of the user's own
 * code into its ring, if that differs from the line of its previous launch. In the thread of a
 * backward pass it writes the line of the forward call that the pass goes back through
 * (autograd.c).
 *
 * Only single steps, spread over the run, carry lines (instrument_lines.c); such a time is a
 * "stretch". In all others a launch costs one load here. */
#ifndef GPUPROF_AGENT_LINES_LINES_H
#define GPUPROF_AGENT_LINES_LINES_H

#include "agent/core/spool.h"

extern _Atomic bool lines_are_on; /* a stretch is open, and frames can be read */

void lines_look(void);
/* The calling thread is about to launch work. Takes no memory and no lock. It takes 4 to 60 ns for
 * the frames; a new line costs a clock read and a record of 48 bytes besides. */
static inline void lines_see(void)
{
    if (AGENT_UNLIKELY(atomic_load_explicit(&lines_are_on, memory_order_relaxed)))
        lines_look();
}

/* A frame of the calling thread, as the interpreter reports it. */
struct lines_frame {
    const void *code;
    int line;
};
/* Tries to read the calling thread's frames and compares them with `frames`, the innermost first.
 * If they agree, lines can be read from now on. minor: 11 for Python 3.11. Returns NULL, or why
 * lines cannot be read. The caller holds the interpreter's lock. */
const char *lines_open(int minor, const struct lines_frame *frames, size_t n);
/* Tells a node of PyTorch's autograd graph (the Python object) and its sequence number, from which
 * the place of this number in nodes is found. Before that, work of a backward pass has the line
 * that calls backward(). */
void lines_know_node(const void *object, uint64_t number);
/* How many nodes the calling thread has made; 0: not known. */
uint64_t lines_nodes(void);
/* Tells a module of PyTorch (an object that stays alive) and its name: work launched from within
 * one of its methods counts for this module. */
void lines_know_module(const void *object, const char *name);
/* The n-th of the user's own functions that stood on the stack of a launch ("Net.forward"), with its
 * file. NULL: there are no more. */
const char *launchers_at(size_t n, const char **file);
void launchers_note(const char *file, const char *function); /* tells of one */
/* Nobody uses what the backward pass of the nodes with these numbers, both among them, computes. */
void lines_unused(uint64_t from, uint64_t to);
/* The calling thread enters backward(), or has left it. */
void lines_backward(bool begins);

/* ---- between the files of this folder ---- */

struct line {
    uint32_t file, function, module; /* string ids; module 0: none */
    int32_t number;
};

/* frames.c: the thread's innermost frame of the user's code, or of a package if the user has none
 * on the stack, or if that frame calls a library that runs the loop. backward: the thread enters
 * backward(). False: no such Python runs in this thread. */
struct frame_place {
    uint64_t code;
    int64_t at; /* offset of the running instruction, in bytes */
    uint32_t file, function;
    /* Name of the innermost module that has a method on the stack; without one, what runs there
     * ("optimizer"); 0: unknown. */
    uint32_t module;
};
bool frames_find(struct frame_place *place, bool backward);
int32_t frames_line(const struct frame_place *place);
/* loop_call.c: the user's frame is in a call of a package. backward: below it the thread enters
 * backward(); optimizer: below it an optimizer launches. True: in this call a library runs the loop. */
bool loop_call(uint64_t frame, int64_t at, bool backward, bool optimizer);
void frames_begin(void);  /* a stretch begins */
void frames_forget(void); /* after a fork: string ids of the parent's spool do not hold */

/* modules.c: name of the module at this address; 0: unknown. */
extern _Atomic uint32_t modules_known; /* number of modules */
uint32_t modules_name(uint64_t address);
void modules_begin(void); /* a stretch begins */
void modules_forget(void);

/* autograd.c */
uint64_t autograd_next(void); /* number of the thread's next node; 0: unknown */
/* Notes the line of nodes [from, to) */
void autograd_keep(uint64_t from, uint64_t to, const struct line *line);
/* The line that made the node which the thread's backward pass evaluates; *unused: nobody uses what
 * that node's pass computes. False: the thread is in no backward pass, or the node has no line. */
bool autograd_find(struct line *line, bool *unused);
void autograd_forget(void);

/* lines.c: a stretch begins, or the open one ends. */
void lines_begin(void);
void lines_end(struct thread *t);
bool lines_ready(void);
void lines_forget(void);

#endif
