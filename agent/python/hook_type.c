/* Python 3.11 runs a function of exactly the type `function` in its own loop, and does not read the
 * slot that says how the function is to be called. A watched function therefore gets another type
 * there: a copy of `function` in every byte, which is a subclass of it. isinstance(), __class__,
 * pickle, copy and inspect answer as before; `type(f) is types.FunctionType` does not. */
#include <string.h>

#include "agent/python/hook_py.h"
#include "agent/python/hook_watch.h"

enum { WORDS = 51 }; /* sizeof(PyTypeObject) / 8 */
enum {               /* Offsets in PyTypeObject of 3.11, in words */
       NAME = 3,
       BASIC_SIZE = 4,
       FLAGS = 21,
       METHODS = 29,
       MEMBERS = 30,
       GETSET = 31,
       BASE = 32,
       DICT = 33,
       BASES = 42,
       MRO = 43,
       CACHE = 44,
       SUBCLASSES = 45,
       WEAK_LIST = 46,
       VERSION_TAG = 48
};
#define READY         (1ul << 12)
#define READYING      (1ul << 13)
#define VALID_VERSION (1ul << 19)

enum { METH_ONE = 8 };

struct getter { /* PyGetSetDef */
    const char *name;
    void *(*get)(void *self, void *closure);
    int (*set)(void *self, void *value, void *closure);
    const char *doc;
    void *closure;
};

static void *twin[WORDS];

static void *class_of(void *self, void *closure)
{
    (void)self;
    (void)closure;
    py.incref(py.function_type);
    return py.function_type;
}

/* Pickled and copied by its name, as every function is. */
static void *reduce(void *self, void *protocol)
{
    (void)protocol;
    return py.attribute(self, "__qualname__");
}

static struct hook_method_def methods[] = {{"__reduce_ex__", (void *)reduce, METH_ONE, NULL}, {0}};
static struct getter getters[] = {{"__class__", class_of, NULL, NULL, NULL}, {0}};

static bool as_expected(void *const *type, unsigned long flags)
{
    void *size = py.attribute((void *)type, "__basicsize__");
    bool same = size && (long)type[BASIC_SIZE] == py.number(size);
    if (size)
        py.decref(size);
    else
        py.error_clear();
    return same && type[1] == py.type_type && (unsigned long)type[FLAGS] == flags &&
           (flags & READY) && type[BASE] == py.object_type &&
           strcmp((const char *)type[NAME], "function") == 0;
}

static bool make(void)
{
    unsigned long (*flags_of)(void *) = (unsigned long (*)(void *))hook_py_find("PyType_GetFlags");
    int (*ready)(void *) = (int (*)(void *))hook_py_find("PyType_Ready");
    int (*forget)(void *, const char *) =
        (int (*)(void *, const char *))hook_py_find("PyDict_DelItemString");
    if (py.version != 311 || !flags_of || !ready || !forget ||
        !as_expected(py.function_type, flags_of(py.function_type)))
        return false;
    static const int own[] = {MEMBERS, DICT, BASES, MRO, CACHE, SUBCLASSES, WEAK_LIST, VERSION_TAG};
    memcpy(twin, py.function_type, sizeof twin);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        twin[own[i]] = NULL;
    twin[0] = (void *)1;
    twin[FLAGS] = (void *)((unsigned long)twin[FLAGS] & ~(READY | READYING | VALID_VERSION));
    twin[METHODS] = methods;
    twin[GETSET] = getters;
    twin[BASE] = py.function_type;
    /* Each type has a text of its own as __doc__, which would hide the function's. */
    if (ready(twin) == 0 && forget(twin[DICT], "__doc__") == 0)
        return true;
    py.error_clear();
    return false;
}

bool hook_type_hide(void *function)
{
    static bool asked, made;
    if (!asked)
        made = make();
    asked = true;
    if (made)
        ((struct hook_object *)function)->type = twin;
    return made;
}

void hook_type_show(void *function)
{
    ((struct hook_object *)function)->type = py.function_type;
}
