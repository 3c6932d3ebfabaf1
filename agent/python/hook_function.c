/* Watches Python functions in place. The object, its type (except in Python 3.11: hook_type.c) and
 * its attributes stay as they are. The slot through which the interpreter calls the function leads
 * here, and from here to the slot's former value. The hook adds no frame. */
#include <stdlib.h>
#include <string.h>

#include "agent/core/agent.h"
#include "agent/python/hook_py.h"
#include "agent/python/hook_watch.h"

/* TABLE: a power of two. MOST: functions watched at the same time. */
enum { TABLE = 512, MOST = 256 };

typedef void *vector_fn(void *callable, void *const *args, size_t nargsf, void *names);

struct target {
    void *function; /* stays after detaching: a thread may be about to call it */
    vector_fn *inner;
    struct watch *first; /* NULL: no longer watched */
    bool hides;          /* its type is changed while no compiler reads it (hook_type.c) */
    bool hidden;
};

static struct target table[TABLE], *taken[MOST];
static size_t used;
/* Threads in which a compiler reads functions; needs the interpreter's lock. */
static int compilers;
static long slot; /* offset of the call in a function object; 0: not looked for; -1: not found */

static struct target *find(void *function)
{
    size_t at = ((uintptr_t)function >> 4) * 0x9e3779b97f4a7c15u >> 32;
    while (table[at % TABLE].function && table[at % TABLE].function != function)
        at++;
    return &table[at % TABLE];
}

static void *called(void *callable, void *const *args, size_t nargsf, void *names)
{
    const struct target *t = find(callable);
    struct act a = {.form = ACT_VECTOR,
                    .inner = t->inner ? (void *)t->inner : (void *)py.vectorcall,
                    .callable = callable,
                    .args = args,
                    .nargsf = nargsf,
                    .names = names};
    return watch_run(t->first, &a);
}

/* Where a function object keeps its call: the only offset that holds _PyFunction_Vectorcall. -1:
 * none, or several. */
static long find_slot(void *function)
{
    void *size = py.attribute(py.function_type, "__basicsize__");
    long bytes = size ? py.number(size) : -1, found = -1;
    if (size)
        py.decref(size);
    if (bytes <= 0 || bytes > 1024)
        py.error_clear();
    else
        for (long at = 16; at + 8 <= bytes; at += 8)
            if (*(void **)((char *)function + at) == (void *)py.vectorcall)
                found = found == -1 ? at : -2;
    return found > 0 ? found : -1;
}

static void set_call(void *function, vector_fn *call)
{
    if (py.set_vectorcall) /* also tells the interpreter's own short cuts */
        py.set_vectorcall(function, (void *)call);
    else
        *(vector_fn **)((char *)function + slot) = call;
}

/* Takes over a function's call. False if other code has changed the call in this way already: then
 * it stays. */
static bool take(struct target *t, void *function)
{
    if (((struct hook_object *)function)->type != py.function_type || used >= MOST)
        return false;
    long at = slot ? slot : find_slot(function);
    if (at < 0 || *(void **)((char *)function + at) != (void *)py.vectorcall)
        return false;
    slot = at;
    if (!t->function)
        taken[used++] = t;
    t->function = function;
    t->inner = (vector_fn *)py.vectorcall;
    py.incref(function); /* a watched function must exist until it is detached */
    set_call(function, called);
    return true;
}

static void show(struct target *t)
{
    if (t->hidden)
        hook_type_show(t->function);
    t->hidden = false;
}

static void hide(struct target *t)
{
    if (t->hides && !t->hidden && (compilers == 0 || t->first->stays))
        t->hidden = hook_type_hide(t->function);
}

bool hook_function_attach(struct watch *w, void *function, int everywhere)
{
    struct target *t = find(function);
    if (!t->first && !take(t, function))
        return false;
    w->stays = everywhere == 2;
    w->callable = function;
    w->next = t->first;
    t->first = w;
    t->hides |= everywhere != 0;
    hide(t);
    return true;
}

void hook_function_detach(struct watch *w)
{
    struct target *t = find(w->callable);
    struct watch **at = &t->first;
    w->off = true;
    while (*at && *at != w)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = w->next; /* w->next stays: a call may be running in it */
    if (t->first)
        return;
    show(t);
    t->hides = false;
    if (*(void **)((char *)t->function + slot) == (void *)called)
        set_call(t->function, t->inner);
    py.decref(t->function);
}

/* A compiler goes by the type of a function, and must find the type that it has without the hook.
 * Takes about 0.1 us if 60 functions are watched. */
void hook_function_compiling(bool begins)
{
    compilers += begins ? 1 : -1;
    for (size_t i = 0; i < used; i++)
        if (taken[i]->first && begins && !taken[i]->first->stays)
            show(taken[i]);
        else if (taken[i]->first && !begins)
            hide(taken[i]);
}

/* Older versions of PyTorch do not tell when they have compiled, so functions keep their own types
 * from now on. */
void gpuprof_hook_compiling(void)
{
    hook_function_compiling(true);
}

void gpuprof_hook_steps_stay(int stay)
{
    for (size_t i = 0; i < used; i++)
        if (taken[i]->first && taken[i]->first->kind == HOOK_STEP_END) {
            taken[i]->first->stays = stay != 0;
            if (!stay && compilers)
                show(taken[i]);
        }
}
