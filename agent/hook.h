/* For hooks inside an interpreter (agent/python/): they load nothing, and find these by name in the
 * agent that was loaded before the program.
 *   hook.c         records
 *   hook_call.c    Python callables wrapped in C
 *   hook_tensor.c  what is known of tensors whose methods are wrapped
 *   hook_py.c      Python's C API
 *   hook_python.c  brings the Python hook into Python processes, and into no other */
#ifndef GPUPROF_HOOK_H
#define GPUPROF_HOOK_H

#include "agent/agent.h"

/* what: enum spool_loader_kind; worker -1 = the training process; -1 = not known for the rest. */
AGENT_EXPORT void gpuprof_hook_loader(int what, int worker, int64_t batch, int64_t start_ns,
                                      int64_t end_ns, int64_t cpu_ns);
AGENT_EXPORT void gpuprof_hook_range(const char *name, int64_t start_ns, int64_t end_ns, int depth);
AGENT_EXPORT void gpuprof_hook_fact(const char *key, const char *value);
AGENT_EXPORT void gpuprof_hook_health(const char *code, const char *text);

/* A callable that does what `callable` does and records how long it took. It has no Python frame:
 * tracebacks, line numbers and the program's own look at its stack stay as they are.
 *   kind      enum hook_kind
 *   name      of the range
 *   skip      files whose path begins with this are not the user's (NULL: all are)
 *   method    it is to be an attribute of a class and bind
 *   note      called with its arguments (or result: below), None = nothing; what it raises is
 *             dropped; it is called no more once it has returned True
 * The caller holds the interpreter's lock. A new reference; `callable` itself when this interpreter
 * lacks what it needs (before 3.9). */
AGENT_EXPORT void *gpuprof_hook_wrap(void *callable, int kind, const char *name, const char *skip,
                                     int method, void *note);
enum hook_kind {
    HOOK_NOTE,    /* only the note, before */
    HOOK_AFTER,   /* only the note, afterwards, when nothing was raised */
    HOOK_RESULT,  /* the same, with the result alone */
    HOOK_WAIT,    /* SPOOL_LOADER_WAIT */
    HOOK_FETCH,   /* SPOOL_LOADER_FETCH; the number of the worker as told last */
    HOOK_COLLATE, /* SPOOL_LOADER_COLLATE */
    HOOK_PIN,     /* SPOOL_LOADER_PIN */
    HOOK_RANGE,
    HOOK_BACKWARD, /* a range, and evaluation is over */
    HOOK_READ,     /* reads a tensor: the range "sync NAME file:line", or "read ..." off the GPU */
    HOOK_COPY, /* may copy a tensor: "sync ..." off the GPU, "copy ..." to it, when the host waits;
                  the note gets each result that came to the GPU */
    HOOK_SYNC, /* waits for the GPU: the range "sync NAME file:line" */
    HOOK_KINDS
};
AGENT_EXPORT void gpuprof_hook_worker(int worker); /* this process is a loader's worker */

/* A class whose instances HOOK_READ and HOOK_COPY record; borrowed, lives as long as the process.
 */
AGENT_EXPORT void gpuprof_hook_plain(void *type);

/* HOOK_COPY adds non_blocking=True to copies of pinned tensors that do not say. */
AGENT_EXPORT void gpuprof_hook_non_blocking(int on);

/* The model was told to evaluate (1), or trains (0): reads of results that hang on a graph are told
 * from then on, as the fact torch.evaluation.grad_enabled. */
AGENT_EXPORT void gpuprof_hook_evaluating(int on);

/* Agent's constructor: puts the hook's folder ($GPUPROF_PYTHON) first on PYTHONPATH when this is
 * Python and its options let it look there. NULL: leave the variable alone. */
char *hook_python_path(int argc, char **argv);

#endif
