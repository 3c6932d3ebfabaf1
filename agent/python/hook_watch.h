/* What happens around a watched call, in whichever way it is watched:
 *   hook_watch.c     notes and times
 *   hook_act.c       the call's arguments, and the call itself
 *   hook_call.c      callables of ours in an instance's attribute
 *   hook_function.c  Python functions, in place
 *   hook_type.c      the same in Python 3.11, which goes by the type alone
 *   hook_method.c    functions and methods in C, in place
 *   hook_step.c      steps of optimizers, pauses of the garbage collector
 *   hook_import.c    awaited modules
 * All of these need the interpreter's lock. */
#ifndef GPUPROF_AGENT_PYTHON_HOOK_WATCH_H
#define GPUPROF_AGENT_PYTHON_HOOK_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/python/hook.h"

/* One watch on a callable. It lives as long as the process, because a call may be inside it. */
struct watch {
    struct watch *next; /* another watch on the same callable, nearer to the call */
    void *callable, *note;
    enum hook_kind kind;
    bool off;
    bool stays; /* it stays in place while a compiler reads the function */
    char name[40], skip[512];
};

/* A call, in the form in which CPython made it. */
struct act {
    enum {
        ACT_VECTOR, /* Python function: callable, args, nargsf, names */
        ACT_FAST,   /* function in C: self, args, nargsf, names */
        ACT_TUPLE,  /* function in C: self, tuple, kwargs */
        ACT_ONE,    /* function in C: self, one argument (in tuple) or none */
        ACT_CALL    /* any callable: callable, tuple, kwargs */
    } form;
    bool bound;  /* self is the first argument (not a function's module) */
    int flags;   /* PyMethodDef.ml_flags */
    void *inner; /* the function behind the watch, in its own form */
    void *callable, *self;
    void *const *args;
    size_t nargsf;
    void *names, *tuple, *kwargs;
};

/* hook_act.c. Return borrowed references; NULL: not given. */
void *act_arg(const struct act *a, size_t i);
void *act_named(const struct act *a, const char *name);
size_t act_count(const struct act *a); /* number of positional arguments */
/* The arguments as PyObject_Call takes them: new references; *kwargs NULL: none. */
void *act_as_tuple(const struct act *a, void **kwargs);
void *act_go(const struct act *a); /* makes the call */
/* With one more argument by name. */
void *act_go_adding(const struct act *a, const char *name, void *value);

/* hook_watch.c. NULL: no such kind, or no memory. */
struct watch *watch_new(int kind, const char *name, const char *skip, void *note);
/* Makes the call within every watch from `w` on. Returns what the call returns: a new reference or
 * NULL. */
void *watch_run(struct watch *w, struct act *a);
/* Calls a note, unseen by tracers. -1: the program must see the exception that it raised. Takes
 * over `args` and `kwargs`. */
int watch_tell(struct watch *w, void *args, void *kwargs);

/* hook_function.c, hook_method.c. attach returns false if the callable cannot be watched. */
bool hook_function_attach(struct watch *w, void *function, int everywhere);
void hook_function_detach(struct watch *w);
void hook_function_compiling(bool begins); /* a compiler begins or stops reading Python functions */
bool hook_method_attach(struct watch *w, void *callable);
void hook_method_detach(struct watch *w);

/* hook_type.c: only for Python 3.11, which calls functions of exactly its own type without reading
 * how they are to be called. False: the function keeps its type. */
bool hook_type_hide(void *function);
void hook_type_show(void *function);

/* hook_step.c */
void hook_step_begin(struct act *a);
void hook_step_end(struct watch *w, struct act *a);

/* hook_import.c: a module was imported. */
void hook_import_done(struct watch *w, struct act *a);

#endif
