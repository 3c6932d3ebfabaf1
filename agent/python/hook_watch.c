/* Calls the notes and takes the times around a watched call. Takes about 100 ns, 400 ns if it looks
 * up file and line. */
#include "agent/python/hook_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/clock.h"
#include "agent/lines/lines.h"
#include "agent/python/hook_py.h"
#include "agent/python/hook_tensor.h"

static __thread unsigned char inside[HOOK_KINDS] AGENT_TLS;
static int worker = -1;
static __thread int loader AGENT_TLS;
static __thread bool compiling
    AGENT_TLS; /* Dynamo reads every frame of this thread: the hook must add none */
/* Functions have their own types, because Dynamo reads them. */
static __thread bool looked_at AGENT_TLS;
static __thread unsigned compiles AGENT_TLS;
static bool ends; /* HOOK_COMPILES shows when a frame is compiled */

/* Reading a thread's CPU time costs 1.2 us a batch, so it is not read if the last batch took less
 * than this. */
enum { SHORT_NS = 50000 };
static __thread bool short_fetches AGENT_TLS;

void gpuprof_hook_worker(int number)
{
    worker = number;
}

void gpuprof_hook_loading(int number)
{
    loader = number;
}

/* When a kind acts: around the call (it times or reads), before it, or after it. */
enum place { AROUND, BEFORE, AFTERWARDS };

#define KIND(name, where) [HOOK_##name] = {#name, where}
static const struct {
    const char *name; /* by which gpuprof_torch.py finds the kind */
    enum place where;
} kinds[HOOK_KINDS] = {
    KIND(NOTE, AROUND),       KIND(AFTER, AFTERWARDS),
    KIND(RESULT, AFTERWARDS), KIND(WAIT, AROUND),
    KIND(FETCH, AROUND),      KIND(COLLATE, AROUND),
    KIND(PIN, AROUND),        KIND(RANGE, AROUND),
    KIND(BACKWARD, AROUND),   KIND(READ, AROUND),
    KIND(COPY, AROUND),       KIND(SYNC, AROUND),
    KIND(BEGIN, AROUND),      KIND(BEFORE_BACKWARD, BEFORE),
    KIND(TRAIN, BEFORE),      KIND(STEP_BEGIN, BEFORE),
    KIND(COMPILER, BEFORE),   KIND(COMPILES, BEFORE),
    KIND(STEP, AFTERWARDS),   KIND(STEP_END, AFTERWARDS),
    KIND(LAUNCH, BEFORE),     KIND(IMPORT, AFTERWARDS),
};
#undef KIND

int gpuprof_hook_kind(const char *name)
{
    for (int i = 0; i < HOOK_KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return i;
    return -1;
}

struct watch *watch_new(int kind, const char *name, const char *skip, void *note)
{
    struct watch *w = kind >= 0 && kind < HOOK_KINDS ? calloc(1, sizeof *w) : NULL;
    if (!w)
        return NULL;
    snprintf(w->name, sizeof w->name, "%s", name);
    snprintf(w->skip, sizeof w->skip, "%s", skip ? skip : "");
    w->kind = (enum hook_kind)kind;
    w->note = note;
    if (note)
        py.incref(note);
    return w;
}

/* Records what a data loader did; done: the call returned a result. False: the kind is not about a
 * loader. */
static bool record_loader(enum hook_kind kind, bool done, int of, int64_t start_ns, int64_t cpu_ns)
{
    int64_t end_ns = clock_now_ns();
    switch (kind) {
    case HOOK_BEGIN:
        gpuprof_hook_loader(SPOOL_LOADER_BEGIN, -1, of, start_ns, end_ns, -1);
        break;
    case HOOK_WAIT:
        gpuprof_hook_loader(done ? SPOOL_LOADER_WAIT : SPOOL_LOADER_END, -1, of, start_ns, end_ns,
                            -1);
        break;
    case HOOK_FETCH:
        short_fetches = end_ns - start_ns < SHORT_NS;
        if (cpu_ns >= 0)
            cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
        gpuprof_hook_loader(SPOOL_LOADER_FETCH, worker, of, start_ns, end_ns, cpu_ns);
        break;
    case HOOK_COLLATE:
        gpuprof_hook_loader(SPOOL_LOADER_COLLATE, worker, of, start_ns, end_ns, -1);
        break;
    case HOOK_PIN:
        gpuprof_hook_loader(SPOOL_LOADER_PIN, worker, of, start_ns, end_ns, -1);
        break;
    default:
        return false;
    }
    return true;
}

static void record(const char *text, int64_t start_ns)
{
    if (text[0])
        gpuprof_hook_range(text, start_ns, clock_now_ns(), 1);
}

static void forget_note(struct watch *w)
{
    void *note = w->note;
    w->note = NULL;
    py.decref(note);
}

/* The note may drop the watch, or another thread may call it at the same time. */
int watch_tell(struct watch *w, void *args, void *kwargs)
{
    void *note = w->note;
    enum hook_noted said = NOTE_ON;
    if (note && args && !compiling) {
        py.incref(note);
        hook_trace_off();
        void *answer = py.call(note, args, kwargs);
        hook_trace_on();
        said = hook_noted(answer);
        if (said == NOTE_ENOUGH && w->note == note)
            forget_note(w);
        py.decref(note);
    } else if (!args) {
        py.error_clear();
    }
    if (args)
        py.decref(args);
    if (kwargs)
        py.decref(kwargs);
    return said == NOTE_RAISED ? -1 : 0;
}

static int tell(struct watch *w, const struct act *a)
{
    if (!w->note)
        return 0;
    void *kwargs, *args = act_as_tuple(a, &kwargs);
    return watch_tell(w, args, kwargs);
}

static void put(void *tuple, int at, void *object)
{
    py.incref(object);
    py.tuple_set(tuple, at, object);
}

/* Calls the note with the arguments, or (a is NULL) with the result and, unless it is NULL, the
 * tensor that was copied. Returns the result, or NULL if the note raised something that the program
 * must see. */
static void *call_note(struct watch *w, const struct act *a, void *result, void *copied)
{
    if (!result || !w->note)
        return result;
    void *kwargs = NULL, *args = a ? act_as_tuple(a, &kwargs) : py.tuple_new(copied ? 2 : 1);
    if (args && !a)
        put(args, 0, result);
    if (args && copied)
        put(args, 1, copied);
    if (watch_tell(w, args, kwargs) == 0)
        return result;
    py.decref(result);
    return NULL;
}

static void *read_or_sync(struct watch *w, struct act *a)
{
    char text[160], place[96];
    if (w->kind == HOOK_READ) {
        hook_tensor_read(act_arg(a, 0), w->name, w->skip, text, sizeof text);
    } else {
        hook_place(w->skip, place, sizeof place);
        snprintf(text, sizeof text, "sync %s() %s", w->name, place);
    }
    int64_t start_ns = clock_now_ns();
    void *result = watch_run(w->next, a);
    record(text, start_ns);
    return result;
}

static void *copying(struct watch *w, struct act *a)
{
    char text[160];
    struct hook_copy c = {.method = w->name, .skip = w->skip};
    int64_t start_ns = clock_now_ns();
    void *result = hook_tensor_copy(&c, w->next, a, text, sizeof text);
    if (text[0] && w->name[0])
        record(text, start_ns);
    return c.to_gpu ? call_note(w, NULL, result, act_arg(a, 0)) : result;
}

static void *timing(struct watch *w, struct act *a)
{
    if (w->kind == HOOK_BACKWARD)
        gpuprof_hook_evaluating(HOOK_GOES_BACK);
    bool cpu = w->kind == HOOK_FETCH && !short_fetches;
    int64_t cpu_ns = cpu ? clock_read_ns(CLOCK_THREAD_CPUTIME_ID) : -1;
    /* Of this call, as its note told; the call itself may loop over another loader. */
    int of = loader;
    int64_t start_ns = clock_now_ns();
    if (w->kind == HOOK_BACKWARD)
        lines_backward(true);
    void *result = watch_run(w->next, a);
    if (w->kind == HOOK_BACKWARD)
        lines_backward(false);
    if (!record_loader(w->kind, result != NULL, of, start_ns, cpu_ns))
        record(w->name, start_ns);
    return result;
}

/* True unless the engine's run_backward() was called for torch.autograd.grad(), which accumulates
 * no gradients: one of its arguments says so. */
static bool accumulates(const struct act *a)
{
    if (a->form == ACT_VECTOR || a->form == ACT_CALL)
        return true; /* torch.autograd.backward itself */
    void *said = act_named(a, "accumulate_grad");
    if (!said)
        said = act_arg(a, 7);
    return said && py.is_true(said) == 1;
}

/* The same for torch.autograd.grad(create_graph=True): a later backward pass goes through this one. */
static bool keeps_graph(const struct act *a)
{
    void *said = act_named(a, "create_graph");
    if (!said)
        said = act_arg(a, 4);
    return said && py.is_true(said) == 1;
}

static void *differentiate(struct watch *w, struct act *a)
{
    char place[96], text[144];
    if (!keeps_graph(a))
        return watch_run(w->next, a);
    hook_place(w->skip, place, sizeof place);
    snprintf(text, sizeof text, "autograd.grad(create_graph=True) %s", place);
    int64_t start_ns = clock_now_ns();
    void *result = watch_run(w->next, a);
    record(text, start_ns);
    return result;
}

/* Reads the argument of Module.train(mode=True). */
static void look_at_mode(const struct act *a)
{
    void *mode = act_named(a, "mode");
    if (!mode)
        mode = act_arg(a, 1);
    if (!mode || mode == py.true_object)
        gpuprof_hook_evaluating(HOOK_TRAINS);
    else if (mode == py.false_object)
        gpuprof_hook_evaluating(HOOK_EVALUATES);
}

/* Calls of the kinds that act after the call. */
static void *afterwards(struct watch *w, struct act *a)
{
    if (w->kind == HOOK_STEP)
        hook_step_begin(NULL);
    void *result = watch_run(w->next, a);
    if (!result)
        return NULL;
    if (w->kind == HOOK_STEP || w->kind == HOOK_STEP_END)
        hook_step_end(w, a);
    else if (w->kind == HOOK_IMPORT)
        hook_import_done(w, a);
    else
        return call_note(w, w->kind == HOOK_AFTER ? a : NULL, result, NULL);
    return result;
}

/* Dynamo is switched on or off. It is off also while it compiles a frame. Once it has compiled the
 * last one, watched functions may change their type again. */
static void switch_compiler(bool on)
{
    compiling = on;
    if (looked_at == on || (!on && (compiles || !ends)))
        return;
    looked_at = on;
    hook_function_compiling(on);
}

static void *compile_frame(struct watch *w, struct act *a)
{
    ends = true;
    compiles++;
    void *result = watch_run(w->next, a);
    compiles--;
    return result;
}

static void *before(struct watch *w, struct act *a)
{
    if (w->kind == HOOK_BEFORE_BACKWARD && accumulates(a) && tell(w, a) < 0)
        return NULL;
    if (w->kind == HOOK_LAUNCH)
        lines_see();
    else if (w->kind == HOOK_TRAIN)
        look_at_mode(a);
    else if (w->kind == HOOK_STEP_BEGIN)
        hook_step_begin(a);
    else if (w->kind == HOOK_COMPILER)
        switch_compiler(act_arg(a, 0) != py.none);
    else if (w->kind == HOOK_COMPILES)
        return compile_frame(w, a);
    return watch_run(w->next, a);
}

/* True if there is nothing to record: within a call of the same kind, or for a method of a tensor
 * that is not plain. */
static bool has_nothing_to_record(const struct watch *w, const struct act *a)
{
    if (w->kind == HOOK_NOTE || inside[w->kind] || agent_passive())
        return true;
    return (w->kind == HOOK_READ || w->kind == HOOK_COPY) &&
           (inside[HOOK_READ] || !hook_tensor_plain(act_arg(a, 0)));
}

void *watch_run(struct watch *w, struct act *a)
{
    void *result;
    while (w && w->off)
        w = w->next;
    if (!w)
        return act_go(a);
    if (kinds[w->kind].where == AFTERWARDS)
        return afterwards(w, a);
    if (kinds[w->kind].where == BEFORE)
        return before(w, a);
    if (w->kind == HOOK_BACKWARD && !accumulates(a))
        return differentiate(w, a);
    if (w->kind != HOOK_COPY && tell(w, a) < 0)
        return NULL;
    if (has_nothing_to_record(w, a))
        return watch_run(w->next, a);
    inside[w->kind]++;
    if (w->kind == HOOK_READ || w->kind == HOOK_SYNC)
        result = read_or_sync(w, a);
    else if (w->kind == HOOK_COPY)
        result = copying(w, a);
    else
        result = timing(w, a);
    inside[w->kind]--;
    return result;
}
