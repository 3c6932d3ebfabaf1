/* Callables of ours that replace one in an instance's attribute. They look like the callable behind
 * them: each attribute is that one's. To tracers they are neither a Python function nor a function
 * in C. */
#include <stdlib.h>

#include "agent/python/hook_py.h"
#include "agent/python/hook_watch.h"

struct callable {
    struct hook_object head;
    void *callable;
    struct watch *watch;
};

typedef int visit_fn(void *object, void *with);

static struct {
    void *(*new)(void *type, long n); /* PyType_GenericAlloc */
    void (*untrack)(void *object), (*free)(void *object);
} gc;

static void *called(void *self, void *args, void *kwargs)
{
    struct callable *c = self;
    struct act a = {.form = ACT_CALL, .callable = c->callable, .tuple = args, .kwargs = kwargs};
    py.incref(self); /* the note may drop the last other reference */
    void *result = watch_run(c->watch, &a);
    py.decref(self);
    return result;
}

static void *get(void *self, void *name)
{
    return py.attribute_of(((struct callable *)self)->callable, name);
}

static int traverse(void *self, visit_fn *visit, void *with)
{
    struct callable *c = self;
    void *note = c->watch ? c->watch->note : NULL;
    int stop = c->callable ? visit(c->callable, with) : 0;
    if (!stop && note)
        stop = visit(note, with);
    return stop ? stop : visit(c->head.type, with);
}

static void destroy(void *self)
{
    struct callable *c = self;
    void *type = c->head.type;
    gc.untrack(self);
    if (c->callable)
        py.decref(c->callable);
    if (c->watch && c->watch->note)
        py.decref(c->watch->note);
    free(c->watch);
    gc.free(self);
    py.decref(type);
}

static void *make_type(void)
{
    enum { CALL = 50, DEALLOC = 52, GETATTR = 58, TRAVERSE = 71, HAVE_GC = 1 << 14 };
    static struct { /* PyType_Slot */
        int slot;
        void *function;
    } slots[] = {{CALL, (void *)called},
                 {DEALLOC, (void *)destroy},
                 {GETATTR, (void *)get},
                 {TRAVERSE, (void *)traverse},
                 {0, NULL}};
    static struct { /* PyType_Spec */
        const char *name;
        int size, item_size;
        unsigned flags;
        void *slots;
    } spec = {"gpuprof.call", sizeof(struct callable), 0, HAVE_GC, slots};
    void *(*from_spec)(void *) = (void *(*)(void *))hook_py_find("PyType_FromSpec");
    gc.new = (void *(*)(void *, long))hook_py_find("PyType_GenericAlloc");
    gc.untrack = (void (*)(void *))hook_py_find("PyObject_GC_UnTrack");
    gc.free = (void (*)(void *))hook_py_find("PyObject_GC_Del");
    return from_spec && gc.new &&gc.untrack &&gc.free ? from_spec(&spec) : NULL;
}

void *gpuprof_hook_wrap(void *callable, int kind, const char *name, const char *skip, void *note)
{
    static void *type;
    struct watch *w = hook_py_ready() ? watch_new(kind, name, skip, note) : NULL;
    if (w && !type)
        type = make_type();
    struct callable *made = w && type ? gc.new(type, 0) : NULL;
    if (!made) {
        if (w)
            py.error_clear();
        if (w && note)
            py.decref(note);
        free(w);
        if (py.incref)
            py.incref(callable);
        return callable;
    }
    made->callable = callable;
    made->watch = w;
    py.incref(callable);
    return made;
}

void *gpuprof_hook_attach(void *callable, int kind, const char *name, const char *skip,
                          int everywhere, void *note)
{
    struct watch *w = hook_py_ready() ? watch_new(kind, name, skip, note) : NULL;
    if (w && (hook_function_attach(w, callable, everywhere) || hook_method_attach(w, callable)))
        return w;
    if (w && note)
        py.decref(note);
    free(w);
    return NULL;
}

void gpuprof_hook_detach(void *handle)
{
    struct watch *w = handle;
    if (((struct hook_object *)w->callable)->type == py.descriptor_type ||
        ((struct hook_object *)w->callable)->type == py.builtin_type)
        hook_method_detach(w);
    else
        hook_function_detach(w);
}
