/* Which line of the program launches what: where the program is about to put work on a GPU, the
 * launching thread looks at its own Python frames (frames.c) and writes the innermost line of the
 * user's own code into its ring, if that is another one than before. In the thread of a backward
 * pass it writes the line of the forward call that the pass goes back through (autograd.c).
 *
 * Only single steps carry lines, spread over the run (instrument_lines.c): a "stretch". In all
 * others a launch costs one load here. */
#ifndef GPUPROF_AGENT_LINES_LINES_H
#define GPUPROF_AGENT_LINES_LINES_H

#include "agent/core/spool.h"

extern _Atomic bool lines_are_on; /* in a stretch, and the frames can be read */

void lines_look(void);
/* The calling thread is about to launch work. No allocation, no lock: 4 to 60 ns for the frames,
 * and the clock and 48 bytes where the line is a new one. */
static inline void lines_see(void)
{
    if (AGENT_UNLIKELY(atomic_load_explicit(&lines_are_on, memory_order_relaxed)))
        lines_look();
}

/* What the interpreter says of the calling thread: its innermost frames, the innermost first. */
struct lines_frame {
    const void *code;
    int line;
};
/* Lines can be read from now on, if what this reads of the thread's frames agrees with them.
 * minor: 11 for Python 3.11. NULL: they can; else why not. With the interpreter's lock held. */
const char *lines_open(int minor, const struct lines_frame *frames, size_t n);
/* A node of PyTorch's graph (the object in Python) and its sequence number: finds where nodes have
 * it. Before that, backward passes have the line that calls backward(). */
void lines_know_node(const void *object, uint64_t number);
/* A module of PyTorch (an object that lives on) and its name: work that is launched from within one
 * of its methods runs in it. */
void lines_know_module(const void *object, const char *name);
/* The calling thread is in backward(), or has left it. */
void lines_backward(bool begins);

/* ---- between the files of this folder ---- */

struct line {
    uint32_t file, function, module; /* string ids; module 0: in none */
    int32_t number;
};

/* frames.c: where the thread's innermost user frame is, or the innermost one of a package if it has
 * none. False: it runs no such Python. */
struct frame_place {
    uint64_t code;
    int64_t at; /* bytes behind its first instruction */
    uint32_t file, function;
    uint32_t module; /* of the innermost method of one, anywhere on the stack; where none is, what
                        runs there: "optimizer"; 0: not known */
};
bool frames_find(struct frame_place *place);
int32_t frames_line(const struct frame_place *place);
void frames_begin(void);  /* a stretch begins */
void frames_forget(void); /* string ids are of another spool */

/* modules.c: the name of the module at this address; 0: none is known there. */
extern _Atomic uint32_t modules_known; /* how many */
uint32_t modules_name(uint64_t address);
void modules_begin(void); /* a stretch begins */
void modules_forget(void);

/* autograd.c */
uint64_t autograd_next(void); /* number of the thread's next node; 0: not known */
void autograd_keep(uint64_t from, uint64_t to, const struct line *line); /* nodes [from, to) */
/* The line of the node that the thread goes back through. False: it is in no backward pass, or the
 * node has none. */
bool autograd_find(struct line *line);
void autograd_forget(void);

/* lines.c: a stretch begins, or the open one ends. */
void lines_begin(void);
void lines_end(struct thread *t);
bool lines_ready(void);
void lines_forget(void);

#endif
