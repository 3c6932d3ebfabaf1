/* A watched call: reads its arguments, in each of the forms in which CPython passes them, and makes
 * the call. */
#include <string.h>

#include "agent/core/agent.h"
#include "agent/python/hook_py.h"
#include "agent/python/hook_watch.h"

#define COUNT(a) ((a)->nargsf & ~((size_t)1 << 63)) /* PyVectorcall_NARGS */

enum { VARARGS = 1, KEYWORDS = 2 };

typedef void *vector_fn(void *callable, void *const *args, size_t nargsf, void *names);
typedef void *fast_fn(void *self, void *const *args, long n);
typedef void *fast_named_fn(void *self, void *const *args, long n, void *names);
typedef void *tuple_fn(void *self, void *args);
typedef void *tuple_named_fn(void *self, void *args, void *kwargs);

static bool as_array(const struct act *a)
{
    return a->form == ACT_VECTOR || a->form == ACT_FAST;
}

size_t act_count(const struct act *a)
{
    size_t n = a->bound ? 1 : 0;
    if (as_array(a))
        return n + COUNT(a);
    if (a->form == ACT_ONE)
        return n + (a->tuple != NULL);
    return n + (size_t)py.size(a->tuple);
}

void *act_arg(const struct act *a, size_t i)
{
    if (i >= act_count(a))
        return NULL;
    if (a->bound && i-- == 0)
        return a->self;
    if (as_array(a))
        return a->args[i];
    return a->form == ACT_ONE ? a->tuple : py.item(a->tuple, (long)i);
}

void *act_named(const struct act *a, const char *name)
{
    if (a->form == ACT_ONE)
        return NULL;
    if (!as_array(a))
        return a->kwargs ? py.dict_get(a->kwargs, name) : NULL;
    long n = a->names ? py.size(a->names) : 0;
    for (long i = 0; i < n; i++) {
        const char *text = py.utf8(py.item(a->names, i));
        if (!text)
            py.error_clear();
        else if (strcmp(text, name) == 0)
            return a->args[COUNT(a) + (size_t)i];
    }
    return NULL;
}

static void *named_dict(const struct act *a)
{
    void *dict = py.dict_new();
    long n = py.size(a->names);
    for (long i = 0; dict && i < n; i++)
        if (py.dict_put(dict, py.item(a->names, i), a->args[COUNT(a) + (size_t)i]) < 0) {
            py.decref(dict);
            return NULL;
        }
    return dict;
}

void *act_as_tuple(const struct act *a, void **kwargs)
{
    size_t n = act_count(a);
    void *tuple = py.tuple_new((long)n);
    *kwargs = NULL;
    if (!tuple)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        void *arg = act_arg(a, i);
        py.incref(arg);
        py.tuple_set(tuple, (long)i, arg);
    }
    if (as_array(a) && a->names)
        *kwargs = named_dict(a);
    else if (!as_array(a) && a->form != ACT_ONE && a->kwargs)
        *kwargs = py.dict_copy(a->kwargs);
    else
        return tuple;
    if (*kwargs)
        return tuple;
    py.decref(tuple);
    return NULL;
}

void *act_go(const struct act *a)
{
    switch (a->form) {
    case ACT_VECTOR:
        return ((vector_fn *)a->inner)(a->callable, a->args, a->nargsf, a->names);
    case ACT_FAST:
        if (a->flags & KEYWORDS)
            return ((fast_named_fn *)a->inner)(a->self, a->args, (long)a->nargsf, a->names);
        return ((fast_fn *)a->inner)(a->self, a->args, (long)a->nargsf);
    case ACT_TUPLE:
        if (a->flags & KEYWORDS)
            return ((tuple_named_fn *)a->inner)(a->self, a->tuple, a->kwargs);
        return ((tuple_fn *)a->inner)(a->self, a->tuple);
    case ACT_ONE:
        return ((tuple_fn *)a->inner)(a->self, a->tuple);
    default:
        return py.call(a->callable, a->tuple, a->kwargs);
    }
}

/* Calls with one more argument by name. The arguments become a tuple and a dictionary where the
 * form has no room for another one; here the names get a new tuple. */
static void *vector_adding(const struct act *a, const char *name, void *value)
{
    enum { MOST = 16 };
    void *args[MOST];
    size_t n = COUNT(a), named = a->names ? (size_t)py.size(a->names) : 0;
    void *names = n + named < MOST ? py.tuple_new((long)named + 1) : NULL;
    void *added = names ? py.name(name) : NULL;
    if (!added) {
        if (names)
            py.decref(names);
        py.error_clear();
        return act_go(a);
    }
    memcpy(args, a->args, (n + named) * sizeof *args);
    args[n + named] = value;
    for (size_t i = 0; i < named; i++) {
        void *one = py.item(a->names, (long)i);
        py.incref(one);
        py.tuple_set(names, (long)i, one);
    }
    py.tuple_set(names, (long)named, added);
    struct act more = *a;
    more.args = args;
    more.nargsf = n;
    more.names = names;
    void *result = act_go(&more);
    py.decref(names);
    return result;
}

void *act_go_adding(const struct act *a, const char *name, void *value)
{
    if (a->form == ACT_VECTOR || (a->form == ACT_FAST && (a->flags & KEYWORDS)))
        return vector_adding(a, name, value);
    if (a->form != ACT_CALL && !(a->form == ACT_TUPLE && (a->flags & KEYWORDS)))
        return act_go(a);
    void *more = a->kwargs ? py.dict_copy(a->kwargs) : py.dict_new();
    if (!more || py.dict_set(more, name, value) < 0) {
        if (more)
            py.decref(more);
        py.error_clear();
        return act_go(a);
    }
    struct act with = *a;
    with.kwargs = more;
    void *result = act_go(&with);
    py.decref(more);
    return result;
}
