/* What happens around a call that is watched, whichever way it was reached:
 *   hook_watch.c     what is told and timed
 *   hook_act.c       the call's arguments, and the call itself
 *   hook_call.c      callables of ours in an instance's attribute
 *   hook_function.c  Python functions, in place
 *   hook_type.c      the same in Python 3.11, which looks at the type alone
 *   hook_method.c    functions and methods in C, in place
 *   hook_step.c      steps of optimizers, pauses of the garbage collector
 *   hook_import.c    modules that are awaited
 * Everything here is called with the interpreter's lock held. */
#ifndef GPUPROF_AGENT_PYTHON_HOOK_WATCH_H
#define GPUPROF_AGENT_PYTHON_HOOK_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/python/hook.h"

/* One thing that is watched. Lives as long as the process, since a call may be inside it. */
struct watch {
    struct watch *next; /* of the same callable: that one is inside this one */
    void *callable, *note;
    enum hook_kind kind;
    bool off;
    bool stays; /* a compiler that looks at it does no harm */
    char name[40], skip[512];
};

/* One call, in the form in which it came. */
struct act {
    enum {
        ACT_VECTOR, /* Python function: callable, args, nargsf, names */
        ACT_FAST,   /* function in C: self, args, nargsf, names */
        ACT_TUPLE,  /* function in C: self, tuple, kwargs */
        ACT_ONE,    /* function in C: self, one argument (in tuple) or none */
        ACT_CALL    /* any callable: callable, tuple, kwargs */
    } form;
    bool bound;  /* self is the first argument, not the module of a function */
    int flags;   /* PyMethodDef.ml_flags */
    void *inner; /* the function behind, in its own form */
    void *callable, *self;
    void *const *args;
    size_t nargsf;
    void *names, *tuple, *kwargs;
};

/* hook_act.c. Borrowed references; NULL: not given. */
void *act_arg(const struct act *a, size_t i);
void *act_named(const struct act *a, const char *name);
size_t act_count(const struct act *a); /* of positional arguments */
/* The arguments as PyObject_Call wants them, new references; NULL in *kwargs: none. */
void *act_as_tuple(const struct act *a, void **kwargs);
void *act_go(const struct act *a);                                       /* the call itself */
void *act_go_adding(const struct act *a, const char *name, void *value); /* with one more by name */

/* hook_watch.c. A new one; NULL: no such kind, or no memory. */
struct watch *watch_new(int kind, const char *name, const char *skip, void *note);
/* The call, inside of every watch from `w` on. As the call: a new reference or NULL. */
void *watch_run(struct watch *w, struct act *a);
/* Calls a note unseen by tracers. -1: the program is to see what was raised. Takes over `args`
 * and `kwargs`. */
int watch_tell(struct watch *w, void *args, void *kwargs);

/* hook_function.c, hook_method.c. False: it cannot be watched. */
bool hook_function_attach(struct watch *w, void *function, int everywhere);
void hook_function_detach(struct watch *w);
void hook_function_compiling(bool begins); /* a compiler looks at Python functions from now on */
bool hook_method_attach(struct watch *w, void *callable);
void hook_method_detach(struct watch *w);

/* hook_type.c: Python 3.11 alone calls functions of exactly its own type without a look at how they
 * want to be called. False: left as it is. */
bool hook_type_hide(void *function);
void hook_type_show(void *function);

/* hook_step.c */
void hook_step_begin(struct act *a);
void hook_step_end(struct watch *w, struct act *a);

/* hook_import.c: a module has been imported. */
void hook_import_done(struct watch *w, struct act *a);

#endif
