/* Python callables timed in C. Nothing of Python is linked: what is needed of its C API (stable
 * since 3.9) is looked up in the process. About 100 ns a call, 300 ns where file and line are
 * looked up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/clock.h"
#include "agent/cupti.h"
#include "agent/hook.h"
#include "agent/resolve.h"
#include "agent/spool.h"

enum { METH_VARARGS_KEYWORDS = 3, FRAMES = 24 };

struct method_def { /* PyMethodDef */
    const char *name;
    void *(*call)(void *self, void *args, void *kwargs);
    int flags;
    const char *doc;
};

struct wrapped { /* lives as long as the process */
    struct method_def def;
    void *callable, *note;
    enum hook_kind kind;
    char name[40], skip[512];
};

static struct {
    bool asked, usable;
    void *(*call)(void *callable, void *args, void *kwargs);
    void *(*function_new)(struct method_def *def, void *self, void *module);
    void *(*method_new)(void *function);
    void *(*capsule_new)(void *pointer, const char *name, void *destructor);
    void *(*capsule_get)(void *capsule, const char *name);
    void (*incref)(void *object), (*decref)(void *object);
    void (*error_clear)(void);
    void *(*frame)(void);
    void *(*frame_code)(void *frame);
    void *(*frame_back)(void *frame);
    int (*frame_line)(void *frame);
    void *(*attribute)(void *object, const char *name);
    const char *(*utf8)(void *text);
    int (*is_true)(void *object);
    void *(*item)(void *tuple, long i);
    void *(*type)(void *object);
} py;

static __thread unsigned char inside[HOOK_READ + 1] AGENT_TLS;
static int worker = -1;

static void *plain_types[4];
static size_t plain_count;

void gpuprof_hook_plain(void *type)
{
    if (plain_count < AGENT_ARRAY_LEN(plain_types))
        plain_types[plain_count++] = type;
}

void gpuprof_hook_worker(int number)
{
    worker = number;
}

static bool look_up(void)
{
    const struct {
        const char *name;
        void **to;
    } need[] = {
        {"PyObject_Call", (void **)&py.call},
        {"PyCFunction_NewEx", (void **)&py.function_new},
        {"PyInstanceMethod_New", (void **)&py.method_new},
        {"PyCapsule_New", (void **)&py.capsule_new},
        {"PyCapsule_GetPointer", (void **)&py.capsule_get},
        {"Py_IncRef", (void **)&py.incref},
        {"Py_DecRef", (void **)&py.decref},
        {"PyErr_Clear", (void **)&py.error_clear},
        {"PyEval_GetFrame", (void **)&py.frame},
        {"PyFrame_GetCode", (void **)&py.frame_code},
        {"PyFrame_GetBack", (void **)&py.frame_back},
        {"PyFrame_GetLineNumber", (void **)&py.frame_line},
        {"PyObject_GetAttrString", (void **)&py.attribute},
        {"PyUnicode_AsUTF8", (void **)&py.utf8},
        {"PyObject_IsTrue", (void **)&py.is_true},
        {"PyTuple_GetItem", (void **)&py.item},
        {"PyObject_Type", (void **)&py.type},
    };
    for (size_t i = 0; i < AGENT_ARRAY_LEN(need); i++)
        if (!(*need[i].to = resolve_global(need[i].name)))
            return false;
    return true;
}

/* "train.py:42" of the innermost frame that is the user's. */
static void where(const struct wrapped *w, char *out, size_t size)
{
    void *frame = py.frame();
    size_t skip = strlen(w->skip);
    out[0] = 0;
    if (frame)
        py.incref(frame);
    for (int i = 0; frame && i < FRAMES; i++) {
        void *code = py.frame_code(frame);
        void *file = code ? py.attribute(code, "co_filename") : NULL;
        const char *path = file ? py.utf8(file) : NULL;
        bool found = path && (!skip || strncmp(path, w->skip, skip) != 0);
        if (found) {
            const char *slash = strrchr(path, '/');
            snprintf(out, size, "%s:%d", slash ? slash + 1 : path, py.frame_line(frame));
        } else if (!path) {
            py.error_clear();
        }
        if (file)
            py.decref(file);
        if (code)
            py.decref(code);
        void *back = found ? NULL : py.frame_back(frame);
        py.decref(frame);
        frame = back;
    }
    if (frame)
        py.decref(frame);
}

/* Of a class told by gpuprof_hook_plain: others may run the program's code when looked at. */
static bool is_plain(void *args)
{
    void *object = py.item(args, 0), *type = object ? py.type(object) : NULL;
    bool plain = false;
    if (!type)
        py.error_clear();
    for (size_t i = 0; type && i < plain_count; i++)
        plain |= plain_types[i] == type;
    if (type)
        py.decref(type);
    return plain;
}

static bool on_gpu(void *args)
{
    void *tensor = cupti_running() ? py.item(args, 0) : NULL;
    void *answer = tensor ? py.attribute(tensor, "is_cuda") : NULL;
    if (!answer) {
        py.error_clear();
        return false;
    }
    bool yes = py.is_true(answer) == 1;
    py.decref(answer);
    return yes;
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
    case HOOK_PIN:
        gpuprof_hook_loader(SPOOL_LOADER_PIN, worker, -1, start_ns, end_ns, -1);
        break;
    default:
        gpuprof_hook_range(text, start_ns, end_ns, 1);
        break;
    }
}

static void tell(const struct wrapped *w, void *args)
{
    void *answer = w->note ? py.call(w->note, args, NULL) : NULL;
    if (answer)
        py.decref(answer);
    else
        py.error_clear();
}

static void *timed_call(void *self, void *args, void *kwargs)
{
    const struct wrapped *w = py.capsule_get(self, NULL);
    char text[128], place[80];
    if (w->kind == HOOK_AFTER) {
        void *result = py.call(w->callable, args, kwargs);
        if (result)
            tell(w, args);
        return result;
    }
    tell(w, args);
    if (w->kind == HOOK_NOTE || inside[w->kind] || agent_passive())
        return py.call(w->callable, args, kwargs);
    if (w->kind == HOOK_READ && !is_plain(args))
        return py.call(w->callable, args, kwargs);
    snprintf(text, sizeof text, "%s", w->name);
    if (w->kind == HOOK_READ) {
        where(w, place, sizeof place);
        bool internal = w->name[0] == '_'; /* bool(x) rather than x.__bool__() */
        snprintf(text, sizeof text, internal ? "%s %s %s" : "%s .%s() %s",
                 on_gpu(args) ? "sync" : "read", w->name, place);
    }
    inside[w->kind]++;
    int64_t cpu_ns = w->kind == HOOK_FETCH ? clock_read_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
    int64_t start_ns = clock_now_ns();
    void *result = py.call(w->callable, args, kwargs);
    record(w, text, start_ns, cpu_ns);
    inside[w->kind]--;
    return result;
}

static void *make(struct wrapped *w, bool method)
{
    void *self = py.capsule_new(w, NULL, NULL);
    void *function = self ? py.function_new(&w->def, self, NULL) : NULL;
    void *bound = function && method ? py.method_new(function) : NULL;
    if (self)
        py.decref(self);
    if (!method || !function)
        return function;
    py.decref(function);
    return bound;
}

void *gpuprof_hook_wrap(void *callable, int kind, const char *name, const char *skip, int method,
                        void *note)
{
    if (!py.asked) { /* under the interpreter's lock */
        py.usable = look_up();
        py.asked = true;
    }
    struct wrapped *w = py.usable ? calloc(1, sizeof *w) : NULL;
    void *made = NULL;
    if (w) {
        snprintf(w->name, sizeof w->name, "%s", name);
        snprintf(w->skip, sizeof w->skip, "%s", skip ? skip : "");
        w->def = (struct method_def){w->name, timed_call, METH_VARARGS_KEYWORDS, NULL};
        w->kind = (enum hook_kind)kind;
        w->callable = callable;
        w->note = note;
        made = make(w, method);
        if (made) { /* the wrapper keeps both for ever */
            py.incref(callable);
            if (note)
                py.incref(note);
            return made;
        }
        py.error_clear();
        free(w);
    }
    if (py.incref)
        py.incref(callable);
    return callable;
}
