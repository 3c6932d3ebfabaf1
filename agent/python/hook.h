/* Functions for the hooks inside an interpreter (agent/python/). The hooks load nothing: they find
 * these by name in the agent that was loaded before the program.
 *   hook.c         records
 *   hook_watch.h   watched callables: the other files
 *   hook_tensor.c  what is known of tensors whose methods are watched
 *   hook_numbers.c what a matrix of whole numbers holds
 *   hook_lines.c   lines of launches
 *   hook_piece.c   memory that an allocator gave out
 *   hook_py.c      Python's C API
 *   instrument_python.c  brings the Python hook into Python processes, and into no other
 *   instrument_reader.c  lets the recorder read their stacks from outside */
#ifndef GPUPROF_AGENT_PYTHON_HOOK_H
#define GPUPROF_AGENT_PYTHON_HOOK_H

#include "agent/core/agent.h"

/* what: enum spool_loader_kind. worker: -1: the training process. loader: 0: unknown. cpu_ns: -1:
 * unknown. */
AGENT_EXPORT void gpuprof_hook_loader(int what, int worker, int loader, int64_t start_ns,
                                      int64_t end_ns, int64_t cpu_ns);
AGENT_EXPORT void gpuprof_hook_range(const char *name, int64_t start_ns, int64_t end_ns, int depth);
/* Of a matrix of whole numbers of 4 or 8 bytes, row by row: its columns without those at the end in
 * which all numbers are alike (0: all are alike); how many numbers are PyTorch's mark for labels that
 * a loss ignores. */
AGENT_EXPORT int64_t gpuprof_hook_columns_used(const void *numbers, int bytes, int64_t rows,
                                               int64_t columns);
AGENT_EXPORT int64_t gpuprof_hook_ignored(const void *numbers, int bytes, int64_t count);
/* Memory that an allocator gave out at that time, or took back (bytes below 0): see struct
 * spool_rec_piece. file "": the line that asked is not known. */
AGENT_EXPORT void gpuprof_hook_piece(int device, int64_t time_ns, int64_t bytes, int64_t address,
                                     int64_t in_use, int64_t held, const char *file,
                                     const char *function, int line);
AGENT_EXPORT void gpuprof_hook_fact(const char *key, const char *value);
AGENT_EXPORT void gpuprof_hook_health(const char *code, const char *text);

// clang-format off
/* Watches a Python function, or a function or method in C. The object stays at its place and keeps
 * its type (hook_function.c, hook_method.c).
 *   kind        enum hook_kind
 *   name        of the range
 *   skip        files whose path begins with this are not the user's (NULL: all are)
 *   everywhere  1: calls from Python count, too
 *               0: only the interpreter calls it, as it does __next__
 *               2: it is watched even while a compiler reads it (Python 3.11 only; hook_type.c)
 *   note        called with the arguments of the call (or its result: see the kinds), None: no
 *               note. Exceptions that it raises are dropped. After it has returned True it is
 *               called no more.
 * The caller holds the interpreter's lock. Returns a handle for gpuprof_hook_detach; NULL: the
 * callable cannot be watched. */
// clang-format on
AGENT_EXPORT void *gpuprof_hook_attach(void *callable, int kind, const char *name, const char *skip,
                                       int everywhere, void *note);
AGENT_EXPORT void gpuprof_hook_detach(void *handle);

/* A watched callable that does what `callable` does, for an attribute of one instance. A new
 * reference. It is `callable` itself if this interpreter lacks what the hook needs (before 3.9). */
AGENT_EXPORT void *gpuprof_hook_wrap(void *callable, int kind, const char *name, const char *skip,
                                     void *note);
enum hook_kind {
    HOOK_NOTE,    /* only calls the note, before the call */
    HOOK_AFTER,   /* only calls the note, after the call, unless it raised */
    HOOK_RESULT,  /* the same, and passes the result alone */
    HOOK_WAIT,    /* SPOOL_LOADER_WAIT; SPOOL_LOADER_END if the call raised: no batch is left */
    HOOK_FETCH,   /* SPOOL_LOADER_FETCH of the worker last told */
    HOOK_COLLATE, /* SPOOL_LOADER_COLLATE */
    HOOK_PIN,     /* SPOOL_LOADER_PIN */
    HOOK_RANGE,
    /* A range, which also ends evaluation; the engine's calls for torch.autograd.grad() do not
     * count. */
    HOOK_BACKWARD,
    /* Reads a tensor: the range "sync NAME file:line", or "read ..." if it is not on a GPU. */
    HOOK_READ,
    /* May copy a tensor. If the host waits: the range "sync ..." for a copy off the GPU, "copy ..."
     * for one to it; with the label "" none. The note gets each result that came to the GPU, and what
     * was copied. */
    HOOK_COPY,
    HOOK_SYNC,  /* waits for the GPU: the range "sync NAME file:line" */
    HOOK_BEGIN, /* SPOOL_LOADER_BEGIN */
    /* Only calls the note, before a call of which HOOK_BACKWARD records a range. */
    HOOK_BEFORE_BACKWARD,
    HOOK_TRAIN,      /* Module.train(mode): gpuprof_hook_evaluating */
    HOOK_STEP_BEGIN, /* record_function.__enter__: perhaps an optimizer's step begins */
    HOOK_COMPILER,   /* Dynamo is switched on: functions get their own types back (hook_type.c) */
    HOOK_COMPILES,   /* Dynamo compiles a frame: it reads functions even while it is switched off */
    HOOK_STEP,       /* an optimizer's step; the note gets each optimizer at its first step */
    /* The end of an optimizer's step, with the same note; records the range NAME since its begin,
     * "": none. */
    HOOK_STEP_END,
    HOOK_LAUNCH, /* Triton is about to launch work, which no library shows */
    HOOK_IMPORT, /* a module was imported (hook_import.c) */
    HOOK_KINDS
};
/* HOOK_NOTE for "NOTE"; -1: there is no such kind. */
AGENT_EXPORT int gpuprof_hook_kind(const char *name);
/* gpuprof_hook_compiling: Python 3.11: functions get their own types back, because a compiler is
 * about to read them. gpuprof_hook_steps_stay(1): not those of HOOK_STEP_END. */
AGENT_EXPORT void gpuprof_hook_compiling(void);
AGENT_EXPORT void gpuprof_hook_steps_stay(int stay);
AGENT_EXPORT void gpuprof_hook_after_step(void *callable); /* calls it after each step */
/* Registers a callback in gc.callbacks, which records long pauses and calls the note with the
 * length of each in nanoseconds. */
AGENT_EXPORT void gpuprof_hook_gc(void *callbacks, void *note);
AGENT_EXPORT void gpuprof_hook_worker(int worker); /* this process is a data loader's worker */
/* The loader to which the records of this thread, and of its children, belong from now on; 0:
 * unknown. */
AGENT_EXPORT void gpuprof_hook_loading(int loader);

/* A class whose instances HOOK_READ and HOOK_COPY record. A borrowed reference, which must stay
 * valid as long as the process. */
AGENT_EXPORT void gpuprof_hook_plain(void *type);

/* HOOK_COPY adds non_blocking=True to copies of pinned tensors that do not give it. */
AGENT_EXPORT void gpuprof_hook_non_blocking(int on);

/* The program has called model.eval() (1) or model.train() (0). While it evaluates, reads of
 * results that need gradients set the fact torch.evaluation.grad_enabled, and the range
 * "validation" covers this time. */
enum { HOOK_EVALUATES = 1, HOOK_TRAINS = 0, HOOK_GOES_BACK = -1 /* a backward pass begins */ };
AGENT_EXPORT void gpuprof_hook_evaluating(int mode);

/* Launches carry lines from now on, unless Python's frames cannot be read (health: no-launch-lines)
 * or GPUPROF_LINES=0. Called from Python. */
AGENT_EXPORT void gpuprof_hook_lines(void);
/* A node of PyTorch's autograd graph and its _sequence_nr(). */
AGENT_EXPORT void gpuprof_hook_node(const void *object, unsigned long long number);
/* Nobody uses what the backward pass of the nodes with these numbers computes. */
AGENT_EXPORT void gpuprof_hook_unused(unsigned long long from, unsigned long long to);
/* How many steps this optimizer has made, since its first was seen. */
AGENT_EXPORT long long gpuprof_hook_steps(const void *optimizer);
/* The n-th of the user's own functions that launched work, and its file; NULL: there are no more. */
AGENT_EXPORT const char *gpuprof_hook_launcher(int n, const char **file);
AGENT_EXPORT void gpuprof_hook_module(const void *object, const char *name);

bool hook_is_python(void); /* the program's file is named python... */

#endif
