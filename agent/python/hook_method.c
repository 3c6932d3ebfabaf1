/* Watches functions and methods in C, in place: the pointer in their PyMethodDef leads here. A C
 * function is not told under which name it was called, so each watched one has an entry function of
 * its own. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/core/agent.h"
#include "agent/python/hook_py.h"
#include "agent/python/hook_watch.h"

enum { VARARGS = 1, KEYWORDS = 2, NOARGS = 4, ONE = 8, FAST = 0x80 };
enum { MOST = 32 };

struct entry {
    struct hook_method_def *def;
    void *inner;
    struct watch *first;
    bool bound;
};
static struct entry entries[MOST];

static void *called(size_t n, int form, void *self, void *tuple, void *kwargs, void *const *args,
                    long count, void *names)
{
    const struct entry *e = &entries[n];
    struct act a = {.bound = e->bound,
                    .flags = e->def->flags,
                    .inner = e->inner,
                    .self = self,
                    .args = args,
                    .nargsf = (size_t)count,
                    .names = names,
                    .tuple = tuple,
                    .kwargs = kwargs};
    a.form = form;
    return watch_run(e->first, &a);
}

#define ENTRY(n)                                                                                   \
    static void *one_##n(void *self, void *arg)                                                    \
    {                                                                                              \
        return called(n, ACT_ONE, self, arg, NULL, NULL, 0, NULL);                                 \
    }                                                                                              \
    static void *tuple_##n(void *self, void *args)                                                 \
    {                                                                                              \
        return called(n, ACT_TUPLE, self, args, NULL, NULL, 0, NULL);                              \
    }                                                                                              \
    static void *named_##n(void *self, void *args, void *kwargs)                                   \
    {                                                                                              \
        return called(n, ACT_TUPLE, self, args, kwargs, NULL, 0, NULL);                            \
    }                                                                                              \
    static void *fast_##n(void *self, void *const *args, long count)                               \
    {                                                                                              \
        return called(n, ACT_FAST, self, NULL, NULL, args, count, NULL);                           \
    }                                                                                              \
    static void *fast_named_##n(void *self, void *const *args, long count, void *names)            \
    {                                                                                              \
        return called(n, ACT_FAST, self, NULL, NULL, args, count, names);                          \
    }
#define ROW(n)                                                                                     \
    {(void *)one_##n, (void *)tuple_##n, (void *)named_##n, (void *)fast_##n,                      \
     (void *)fast_named_##n},
#define EACH(X)                                                                                    \
    X(0)                                                                                           \
    X(1)                                                                                           \
    X(2)                                                                                           \
    X(3)                                                                                           \
    X(4)                                                                                           \
    X(5)                                                                                           \
    X(6)                                                                                           \
    X(7)                                                                                           \
    X(8)                                                                                           \
    X(9)                                                                                           \
    X(10)                                                                                          \
    X(11)                                                                                          \
    X(12)                                                                                          \
    X(13)                                                                                          \
    X(14)                                                                                          \
    X(15)                                                                                          \
    X(16)                                                                                          \
    X(17)                                                                                          \
    X(18)                                                                                          \
    X(19)                                                                                          \
    X(20)                                                                                          \
    X(21)                                                                                          \
    X(22)                                                                                          \
    X(23)                                                                                          \
    X(24)                                                                                          \
    X(25)                                                                                          \
    X(26)                                                                                          \
    X(27)                                                                                          \
    X(28)                                                                                          \
    X(29)                                                                                          \
    X(30)                                                                                          \
    X(31)

EACH(ENTRY)
static void *const ways_in[MOST][5] = {EACH(ROW)};

static void *way_in(size_t n, int flags)
{
    switch (flags & (VARARGS | KEYWORDS | NOARGS | ONE | FAST)) {
    case NOARGS:
    case ONE:
        return ways_in[n][0];
    case VARARGS:
        return ways_in[n][1];
    case VARARGS | KEYWORDS:
        return ways_in[n][2];
    case FAST:
        return ways_in[n][3];
    case FAST | KEYWORDS:
        return ways_in[n][4];
    default:
        return NULL;
    }
}

/* True if the word may be written. The kernel tests it without a fault: it writes the word's value
 * over the word. */
static bool writable(void *word)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        return false;
    bool yes = write(fds[1], word, sizeof(void *)) == (ssize_t)sizeof(void *) &&
               read(fds[0], word, sizeof(void *)) == (ssize_t)sizeof(void *);
    close(fds[0]);
    close(fds[1]);
    return yes;
}

/* The PyMethodDef of a callable: PyMethodDescrObject.d_method or PyCFunctionObject.m_ml. NULL: it
 * is neither. */
static struct hook_method_def *def_of(void *callable, bool *bound)
{
    void *type = ((struct hook_object *)callable)->type, **words = callable;
    *bound = type == py.descriptor_type;
    if (!*bound && type != py.builtin_type)
        return NULL;
    struct hook_method_def *def = words[*bound ? 5 : 2];
    void *name = py.attribute(callable, "__name__");
    const char *text = name ? py.utf8(name) : NULL;
    bool same = text && def && def->name && strcmp(def->name, text) == 0;
    if (!text)
        py.error_clear();
    if (name)
        py.decref(name);
    /* None of METH_CLASS, METH_STATIC, METH_METHOD. */
    return same && !(def->flags & 0x230) ? def : NULL;
}

bool hook_method_attach(struct watch *w, void *callable)
{
    bool bound;
    struct hook_method_def *def = def_of(callable, &bound);
    size_t n = 0;
    while (def && n < MOST && entries[n].def && entries[n].def != def)
        n++;
    void *way = def && n < MOST ? way_in(n, def->flags) : NULL;
    if (!way)
        return false;
    struct entry *e = &entries[n];
    if (!e->first) {
        if (!writable(&def->call))
            return false;
        *e = (struct entry){def, def->call, NULL, bound};
        def->call = way;
        py.incref(callable);
    }
    w->callable = callable;
    w->next = e->first;
    e->first = w;
    return true;
}

/* The entry stays: with nothing to watch, it calls the function behind it. */
void hook_method_detach(struct watch *w)
{
    w->off = true;
}
