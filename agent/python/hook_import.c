/* Brings the Python hook into its interpreter, and tells it when modules that it awaits have been
 * imported.
 *
 * The hook's sitecustomize.py has the interpreter load `gpuprof_agent` from this library: a module
 * that is in no table. Imports are seen by watching importlib's own function in place. */
#include <string.h>

#include "agent/core/agent.h"
#include "agent/python/hook_py.h"
#include "agent/python/hook_watch.h"

enum { MOST = 32, METH_ONE = 8 };

static char awaited[MOST][64];
static struct watch *imports;

static bool is_awaited(const char *name, size_t *at)
{
    for (*at = 0; *at < MOST; ++*at)
        if (strcmp(awaited[*at], name) == 0)
            return true;
    return false;
}

void hook_import_done(struct watch *w, struct act *a)
{
    size_t at;
    void *name = act_arg(a, 0), *kwargs = NULL;
    const char *text = name ? py.utf8(name) : NULL;
    if (!text) {
        py.error_clear();
        return;
    }
    if (!*text || !is_awaited(text, &at) || !w->note)
        return;
    void *args = py.tuple_new(1);
    if (args) {
        py.incref(name);
        py.tuple_set(args, 0, name);
    }
    if (watch_tell(w, args, kwargs) < 0)
        py.error_clear();
}

/* expect(name): from now on the callable given to begin() is called when this module has been
 * imported. */
static void *expect(void *self, void *name)
{
    const char *text = py.utf8(name);
    size_t at;
    (void)self;
    if (!text)
        return NULL;
    if (strlen(text) < sizeof awaited[0] && !is_awaited(text, &at) && is_awaited("", &at))
        strcpy(awaited[at], text);
    py.incref(py.none);
    return py.none;
}

/* arrived(name): the module is awaited no more. */
static void *arrived(void *self, void *name)
{
    const char *text = py.utf8(name);
    size_t at;
    (void)self;
    if (!text)
        return NULL;
    if (*text && is_awaited(text, &at))
        awaited[at][0] = 0;
    for (at = 0; at < MOST && !awaited[at][0]; at++)
        continue;
    if (at == MOST && imports)
        hook_function_detach(imports);
    py.incref(py.none);
    return py.none;
}

/* begin(callable): True if imports are seen from now on. */
static void *begin(void *self, void *callable)
{
    (void)self;
    void *modules = py.modules(), *bootstrap = NULL, *find = NULL;
    bool done = false;
    if (modules)
        bootstrap = py.dict_get(modules, "_frozen_importlib");
    if (bootstrap)
        find = py.attribute(bootstrap, "_find_and_load");
    if (find && (imports = watch_new(HOOK_IMPORT, "import", "", callable)))
        done = hook_function_attach(imports, find, 2);
    if (!find)
        py.error_clear();
    else
        py.decref(find);
    void *answer = done ? py.true_object : py.false_object;
    py.incref(answer);
    return answer;
}

static void *health(void *self, void *text)
{
    const char *said = py.utf8(text);
    (void)self;
    if (!said)
        return NULL;
    gpuprof_hook_health("python-hook", said);
    py.incref(py.none);
    return py.none;
}

static struct hook_method_def methods[] = {
    {"begin", (void *)begin, METH_ONE, NULL},
    {"expect", (void *)expect, METH_ONE, NULL},
    {"arrived", (void *)arrived, METH_ONE, NULL},
    {"health", (void *)health, METH_ONE, NULL},
    {0},
};

static struct { /* PyModuleDef */
    struct hook_object head;
    void *init;
    long index;
    void *copy;
    const char *name, *doc;
    long size;
    struct hook_method_def *methods;
    void *slots[5]; /* m_slots, m_traverse, m_clear, m_free */
} module;

AGENT_EXPORT void *PyInit_gpuprof_agent(void);

/* Called by the interpreter, which holds its lock. It takes NULL without an exception as an
 * error. */
void *PyInit_gpuprof_agent(void)
{
    static struct {
        int slot;
        void *value;
    } none[1];
    if (!hook_py_ready()) {
        gpuprof_hook_health(
            "python-hook",
            "The PyTorch hook was off: it needs CPython 3.9 or newer, not free-threaded.");
        return NULL;
    }
    void *(*init)(void *) = (void *(*)(void *))hook_py_find("PyModuleDef_Init");
    module.head.references = 1;
    module.name = "gpuprof_agent";
    module.methods = methods;
    module.slots[0] = none;
    return init ? init(&module) : NULL;
}
