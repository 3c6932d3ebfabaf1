/* Python callables timed in C. About 100 ns a call, 400 ns where file and line are looked up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/clock.h"
#include "agent/hook.h"
#include "agent/hook_py.h"
#include "agent/hook_tensor.h"
#include "agent/spool.h"

enum { METH_VARARGS_KEYWORDS = 3 };

struct method_def { /* PyMethodDef */
    const char *name;
    void *(*call)(void *self, void *args, void *kwargs);
    int flags;
    const char *doc;
};

struct wrapped { /* lives as long as the capsule in the wrapper's self */
    struct method_def def;
    void *callable, *note;
    enum hook_kind kind;
    char name[40], skip[512];
};

static __thread unsigned char inside[HOOK_KINDS] AGENT_TLS;
static int worker = -1;

void gpuprof_hook_worker(int number)
{
    worker = number;
}

static void record(const struct wrapped *w, const char *text, int64_t start_ns, int64_t cpu_ns)
{
    int64_t end_ns = clock_now_ns();
    switch (w->kind) {
    case HOOK_WAIT:
        gpuprof_hook_loader(SPOOL_LOADER_WAIT, -1, -1, start_ns, end_ns, -1);
        break;
    case HOOK_FETCH:
        cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
        gpuprof_hook_loader(SPOOL_LOADER_FETCH, worker, -1, start_ns, end_ns, cpu_ns);
        break;
    case HOOK_COLLATE:
        gpuprof_hook_loader(SPOOL_LOADER_COLLATE, worker, -1, start_ns, end_ns, -1);
        break;
    case HOOK_PIN:
        gpuprof_hook_loader(SPOOL_LOADER_PIN, worker, -1, start_ns, end_ns, -1);
        break;
    default:
        if (text[0])
            gpuprof_hook_range(text, start_ns, end_ns, 1);
        break;
    }
}

static void forget_note(struct wrapped *w)
{
    void *note = w->note;
    w->note = NULL;
    py.decref(note);
}

/* The note, with the call's arguments or (args NULL) with its result. -1: the program is to see
 * what was raised. The note may drop the wrapper, or be called from another thread at once. */
static int tell(struct wrapped *w, void *args, void *kwargs, void *result)
{
    void *note = w->note;
    if (!note)
        return 0;
    py.incref(note);
    enum hook_noted said =
        hook_noted(args ? py.call(note, args, kwargs) : py.call_one(note, result, NULL));
    if (said == NOTE_ENOUGH && w->note == note)
        forget_note(w);
    py.decref(note);
    return said == NOTE_RAISED ? -1 : 0;
}

/* The same for a result that is there: instead of it what the note raised. */
static void *told_result(struct wrapped *w, void *args, void *kwargs, void *result)
{
    if (!result || tell(w, args, kwargs, result) == 0)
        return result;
    py.decref(result);
    return NULL;
}

static void *read_or_sync(struct wrapped *w, void *args, void *kwargs)
{
    char text[160], place[96];
    if (w->kind == HOOK_READ) {
        hook_tensor_read(args, w->name, w->skip, text, sizeof text);
    } else {
        hook_place(w->skip, place, sizeof place);
        snprintf(text, sizeof text, "sync %s() %s", w->name, place);
    }
    int64_t start_ns = clock_now_ns();
    void *result = py.call(w->callable, args, kwargs);
    record(w, text, start_ns, 0);
    return result;
}

static void *copying(struct wrapped *w, void *args, void *kwargs)
{
    char text[160];
    struct hook_copy c = {.method = w->name, .skip = w->skip};
    int64_t start_ns = clock_now_ns();
    void *result = hook_tensor_copy(&c, w->callable, args, kwargs, text, sizeof text);
    if (text[0])
        record(w, text, start_ns, 0);
    return c.to_gpu ? told_result(w, NULL, NULL, result) : result;
}

static void *timing(struct wrapped *w, void *args, void *kwargs)
{
    if (w->kind == HOOK_BACKWARD)
        gpuprof_hook_evaluating(0);
    int64_t cpu_ns = w->kind == HOOK_FETCH ? clock_read_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
    int64_t start_ns = clock_now_ns();
    void *result = py.call(w->callable, args, kwargs);
    record(w, w->name, start_ns, cpu_ns);
    return result;
}

static bool of_tensors(enum hook_kind kind)
{
    return kind == HOOK_READ || kind == HOOK_COPY;
}

static void *timed_call(void *self, void *args, void *kwargs)
{
    struct wrapped *w = py.capsule_get(self, NULL);
    void *result;
    if (w->kind == HOOK_AFTER || w->kind == HOOK_RESULT) {
        result = py.call(w->callable, args, kwargs);
        return told_result(w, w->kind == HOOK_AFTER ? args : NULL, kwargs, result);
    }
    if (w->kind != HOOK_COPY && tell(w, args, kwargs, NULL) < 0)
        return NULL;
    if (w->kind == HOOK_NOTE || inside[w->kind] || agent_passive() ||
        (of_tensors(w->kind) && (inside[HOOK_READ] || !hook_tensor_plain(args))))
        return py.call(w->callable, args, kwargs);
    inside[w->kind]++;
    if (w->kind == HOOK_READ || w->kind == HOOK_SYNC)
        result = read_or_sync(w, args, kwargs);
    else if (w->kind == HOOK_COPY)
        result = copying(w, args, kwargs);
    else
        result = timing(w, args, kwargs);
    inside[w->kind]--;
    return result;
}

/* The last one that knew the wrapper is gone. */
static void destroy(void *capsule)
{
    void *type, *value, *trace;
    py.error_fetch(&type, &value, &trace);
    struct wrapped *w = py.capsule_get(capsule, NULL);
    if (w) {
        py.decref(w->callable);
        if (w->note)
            py.decref(w->note);
        free(w);
    }
    py.error_restore(type, value, trace);
}

/* Takes over w. */
static void *make(struct wrapped *w, bool method)
{
    void *self = py.capsule_new(w, NULL, destroy);
    if (!self)
        return NULL;
    void *function = py.function_new(&w->def, self, NULL);
    py.decref(self);
    if (!method || !function)
        return function;
    void *bound = py.method_new(function);
    py.decref(function);
    return bound;
}

void *gpuprof_hook_wrap(void *callable, int kind, const char *name, const char *skip, int method,
                        void *note)
{
    struct wrapped *w = hook_py_ready() ? calloc(1, sizeof *w) : NULL;
    if (w) {
        snprintf(w->name, sizeof w->name, "%s", name);
        snprintf(w->skip, sizeof w->skip, "%s", skip ? skip : "");
        w->def = (struct method_def){w->name, timed_call, METH_VARARGS_KEYWORDS, NULL};
        w->kind = (enum hook_kind)kind;
        w->callable = callable;
        w->note = note;
        py.incref(callable);
        if (note)
            py.incref(note);
        void *made = make(w, method);
        if (made)
            return made;
        py.error_clear();
    }
    if (py.incref)
        py.incref(callable);
    return callable;
}
