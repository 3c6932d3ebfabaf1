/* Steps of optimizers, and pauses of the garbage collector. Python code of the hook runs here only
 * at the first step of each optimizer. */
#include <string.h>

#include "agent/core/clock.h"
#include "agent/python/hook_py.h"
#include "agent/python/hook_watch.h"

enum { SEEN = 64, OTHERS = 8, PAUSE_NS = 1000000 };

/* A step of the training lasts from the end of one optimizer step to the end of the next, of the
 * same optimizer (`anchor`). */
static struct {
    void *anchor;
    unsigned others;
    bool told_begin;
    int64_t began_ns, last_ns;
    struct seen {
        void *optimizer, *ref; /* weak reference; NULL: objects of this class have none */
        long long count;       /* its steps */
    } seen[SEEN];
    size_t seen_count;
    void *after; /* called after each step, or NULL */
} steps;

void gpuprof_hook_after_step(void *callable)
{
    py.incref(callable);
    steps.after = callable;
}

/* An optimizer's step begins. PyTorch enters record_function("Optimizer.step#SGD.step") around
 * each; a == NULL: the call itself was seen. */
void hook_step_begin(struct act *a)
{
    if (a) {
        void *key = hook_name("name");
        void *name = key ? py.attribute_of(act_arg(a, 0), key) : NULL;
        const char *text = name ? py.utf8(name) : NULL;
        bool step = text && strncmp(text, "Optimizer.step#", 15) == 0;
        if (!text)
            py.error_clear();
        if (name)
            py.decref(name);
        if (!step)
            return;
    }
    steps.told_begin = true;
    steps.began_ns = clock_now_ns();
}

/* False if another optimizer now has the address of one that is gone. */
static bool is_same(const struct seen *s)
{
    void *there = s->ref ? py.call_one(s->ref, NULL) : NULL;
    bool same = !s->ref || there == s->optimizer;
    if (there)
        py.decref(there);
    else if (s->ref)
        py.error_clear();
    return same;
}

/* True at an optimizer's first step; remembers it, and counts its steps. */
static bool is_new(void *optimizer)
{
    size_t i = 0;
    while (i < steps.seen_count && steps.seen[i].optimizer != optimizer)
        i++;
    if (i == SEEN)
        return false;
    if (i < steps.seen_count && is_same(&steps.seen[i])) {
        steps.seen[i].count++;
        return false;
    }
    if (i < steps.seen_count)
        py.decref(steps.seen[i].ref);
    else
        steps.seen_count++;
    steps.seen[i] = (struct seen){optimizer, py.weak_new(optimizer, NULL), 1};
    if (!steps.seen[i].ref)
        py.error_clear();
    return true;
}

long long gpuprof_hook_steps(const void *optimizer)
{
    for (size_t i = 0; i < steps.seen_count; i++)
        if (steps.seen[i].optimizer == optimizer)
            return steps.seen[i].count;
    return 0;
}

/* Calls the note at an optimizer's first step. Exceptions that it raises are dropped here. */
static void first_step(struct watch *w, void *optimizer)
{
    if (!is_new(optimizer))
        return;
    void *args = py.tuple_new(1);
    if (args) {
        py.incref(optimizer);
        py.tuple_set(args, 0, optimizer);
    }
    if (watch_tell(w, args, NULL) < 0)
        py.error_clear();
}

static void call_after(void)
{
    if (!steps.after)
        return;
    hook_trace_off();
    void *answer = py.call_one(steps.after, NULL);
    hook_trace_on();
    if (answer)
        py.decref(answer);
    else
        py.error_clear();
}

void hook_step_end(struct watch *w, struct act *a)
{
    int64_t end_ns = clock_now_ns();
    void *optimizer = act_arg(a, 0);
    if (!optimizer || (steps.told_begin && !steps.began_ns))
        return; /* a step that called its base class's step, which has already ended */
    if (steps.began_ns && w->name[0])
        gpuprof_hook_range(w->name, steps.began_ns, end_ns, 1);
    steps.began_ns = 0;
    first_step(w, optimizer);
    if (optimizer != steps.anchor && steps.anchor) {
        /* One of several optimizers; after OTHERS steps of others the anchor has changed. */
        if (++steps.others < OTHERS)
            return;
        steps.last_ns = 0;
    }
    steps.anchor = optimizer;
    steps.others = 0;
    if (steps.last_ns)
        gpuprof_hook_range("gpuprof.step", steps.last_ns, end_ns, 0);
    steps.last_ns = end_ns;
    call_after();
}

static void *pause_note; /* called with the length of each pause, in ns */

static void paused(int64_t began_ns, int64_t end_ns)
{
    void *length = py.number_new(end_ns - began_ns);
    gpuprof_hook_range("gc", began_ns, end_ns, 1);
    hook_trace_off();
    void *answer = length ? py.call_one(pause_note, length, NULL) : NULL;
    hook_trace_on();
    if (!answer)
        py.error_clear();
    if (answer)
        py.decref(answer);
    if (length)
        py.decref(length);
}

/* The callback in gc.callbacks, called with (phase, info). */
static void *collecting(void *self, void *args)
{
    static int64_t began_ns;
    (void)self;
    void *phase = py.item(args, 0);
    const char *text = phase ? py.utf8(phase) : NULL;
    if (!text)
        py.error_clear();
    else if (strcmp(text, "start") == 0)
        began_ns = clock_now_ns();
    else if (clock_now_ns() - began_ns >= PAUSE_NS)
        paused(began_ns, clock_now_ns());
    py.incref(py.none);
    return py.none;
}

void gpuprof_hook_gc(void *callbacks, void *note)
{
    py.incref(note);
    pause_note = note;
    static struct hook_method_def def = {"gc", (void *)collecting, 1, NULL};
    void *made = py.function_new(&def, NULL, NULL);
    if (!made || py.list_append(callbacks, made) < 0)
        py.error_clear();
    if (made)
        py.decref(made);
}
