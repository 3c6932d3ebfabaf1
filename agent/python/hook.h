/* For hooks inside an interpreter (agent/python/): they load nothing, and find these by name in the
 * agent that was loaded before the program.
 *   hook.c         records
 *   hook_watch.h   callables that are watched: the other files
 *   hook_tensor.c  what is known of tensors whose methods are watched
 *   hook_lines.c   lines of launches
 *   hook_py.c      Python's C API
 *   instrument_python.c  brings the Python hook into Python processes, and into no other
 *   instrument_reader.c  lets the recorder read their stacks from outside
 */
#ifndef GPUPROF_AGENT_PYTHON_HOOK_H
#define GPUPROF_AGENT_PYTHON_HOOK_H

#include "agent/core/agent.h"

/* what: enum spool_loader_kind; worker -1 = the training process; loader 0 = not known; cpu_ns -1 =
 * not known. */
AGENT_EXPORT void gpuprof_hook_loader(int what, int worker, int loader, int64_t start_ns,
                                      int64_t end_ns, int64_t cpu_ns);
AGENT_EXPORT void gpuprof_hook_range(const char *name, int64_t start_ns, int64_t end_ns, int depth);
AGENT_EXPORT void gpuprof_hook_fact(const char *key, const char *value);
AGENT_EXPORT void gpuprof_hook_health(const char *code, const char *text);

// clang-format off
/* Watches a Python function, or a function or method in C, in place: the object stays what and
 * where it is (hook_function.c, hook_method.c).
 *   kind        enum hook_kind
 *   name        of the range
 *   skip        files whose path begins with this are not the user's (NULL: all are)
 *   everywhere  1: calls from Python count, too
 *               0: it is called by the interpreter alone, as __next__ is
 *               2: they count even while a compiler looks at it (Python 3.11 only; hook_type.c)
 *   note        called with its arguments (or result: below), None = nothing; what it raises is
 *               dropped; it is called no more once it has returned True
 * The caller holds the interpreter's lock. A handle for gpuprof_hook_detach; NULL: it cannot be
 * watched. */
// clang-format on
AGENT_EXPORT void *gpuprof_hook_attach(void *callable, int kind, const char *name, const char *skip,
                                       int everywhere, void *note);
AGENT_EXPORT void gpuprof_hook_detach(void *handle);

/* A callable that is watched and does what `callable` does, for an attribute of one instance. A new
 * reference; `callable` itself when this interpreter lacks what it needs (before 3.9). */
AGENT_EXPORT void *gpuprof_hook_wrap(void *callable, int kind, const char *name, const char *skip,
                                     void *note);
enum hook_kind {
    HOOK_NOTE,    /* only the note, before */
    HOOK_AFTER,   /* only the note, afterwards, when nothing was raised */
    HOOK_RESULT,  /* the same, with the result alone */
    HOOK_WAIT,    /* SPOOL_LOADER_WAIT; SPOOL_LOADER_END when it raised: there is no more */
    HOOK_FETCH,   /* SPOOL_LOADER_FETCH; the number of the worker as told last */
    HOOK_COLLATE, /* SPOOL_LOADER_COLLATE */
    HOOK_PIN,     /* SPOOL_LOADER_PIN */
    HOOK_RANGE,
    HOOK_BACKWARD, /* a range, and evaluation is over; of the engine: not torch.autograd.grad() */
    HOOK_READ,     /* reads a tensor: the range "sync NAME file:line", or "read ..." off the GPU */
    HOOK_COPY,  /* may copy a tensor: "sync ..." off the GPU, "copy ..." to it, when the host waits,
                   with the label "" none; the note gets each result that came to the GPU */
    HOOK_SYNC,  /* waits for the GPU: the range "sync NAME file:line" */
    HOOK_BEGIN, /* SPOOL_LOADER_BEGIN */
    HOOK_BEFORE_BACKWARD, /* only the note, where HOOK_BACKWARD has a range */
    HOOK_TRAIN,           /* Module.train(mode): gpuprof_hook_evaluating */
    HOOK_STEP_BEGIN,      /* record_function.__enter__: an optimizer's step may begin */
    HOOK_COMPILER,        /* Dynamo is switched on: functions get their types back (hook_type.c) */
    HOOK_COMPILES, /* it compiles: switched off meanwhile, it looks at functions all the same */
    HOOK_STEP,     /* an optimizer's step; the note gets each optimizer at its first */
    HOOK_STEP_END, /* the end of one, the same; the range NAME from its begin, "": none */
    HOOK_LAUNCH, /* work for the GPU is about to be launched where no library shows it: by Triton */
    HOOK_IMPORT, /* a module was imported (hook_import.c) */
    HOOK_KINDS
};
AGENT_EXPORT int gpuprof_hook_kind(const char *name); /* "NOTE" of HOOK_NOTE; -1: there is none */
/* Python 3.11: functions get their types back, since a compiler is about to look at them; that of
 * HOOK_STEP_END is not among them when its steps are to stay. */
AGENT_EXPORT void gpuprof_hook_compiling(void);
AGENT_EXPORT void gpuprof_hook_steps_stay(int stay);
AGENT_EXPORT void gpuprof_hook_after_step(void *callable); /* called after each step */
/* gc.callbacks: pauses are recorded, and the note is called with the nanoseconds of each. */
AGENT_EXPORT void gpuprof_hook_gc(void *callbacks, void *note);
AGENT_EXPORT void gpuprof_hook_worker(int worker); /* this process is a loader's worker */
/* Which loader this thread's records are about from now on, those of its children as well; 0 = not
 * known. */
AGENT_EXPORT void gpuprof_hook_loading(int loader);

/* A class whose instances HOOK_READ and HOOK_COPY record; borrowed, lives as long as the process.
 */
AGENT_EXPORT void gpuprof_hook_plain(void *type);

/* HOOK_COPY adds non_blocking=True to copies of pinned tensors that do not say. */
AGENT_EXPORT void gpuprof_hook_non_blocking(int on);

/* The model was told to evaluate (1), or trains (0): reads of results that hang on a graph are told
 * from then on, as the fact torch.evaluation.grad_enabled; the time between is the range
 * "validation". */
AGENT_EXPORT void gpuprof_hook_evaluating(int on);

/* Launches carry lines from now on, unless Python's frames cannot be read (health:
 * no-launch-lines) or GPUPROF_LINES=0. Called from Python. */
AGENT_EXPORT void gpuprof_hook_lines(void);
/* A node of PyTorch's graph and its _sequence_nr(). */
AGENT_EXPORT void gpuprof_hook_node(const void *object, unsigned long long number);
AGENT_EXPORT void gpuprof_hook_module(const void *object, const char *name);

bool hook_is_python(void); /* the program's file is called so */

#endif
