/* The part of Python's C API that the hook uses, looked up in the process: the agent links nothing
 * of Python. All of these need the interpreter's lock; objects are void *. */
#ifndef GPUPROF_AGENT_PYTHON_HOOK_PY_H
#define GPUPROF_AGENT_PYTHON_HOOK_PY_H

#include <stdbool.h>
#include <stddef.h>

struct hook_py {
    void *(*call)(void *callable, void *args, void *kwargs);
    void *(*call_one)(void *callable, void *arg, ...); /* PyObject_CallFunctionObjArgs */
    void *(*function_new)(void *def, void *self, void *module);
    void (*incref)(void *object), (*decref)(void *object);
    void (*error_clear)(void);
    int (*error_matches)(void *exception);
    void (*error_fetch)(void **type, void **value, void **trace);
    void (*error_restore)(void *type, void *value, void *trace);
    int (*trace_set)(void *exception, void *trace);
    void *(*frame)(void);
    void *(*frame_code)(void *frame);
    void *(*frame_back)(void *frame);
    int (*frame_line)(void *frame);
    void *(*attribute)(void *object, const char *name);
    void *(*attribute_of)(void *object, void *name);
    void *(*name)(const char *text); /* PyUnicode_InternFromString */
    const char *(*utf8)(void *text);
    long (*number)(void *number); /* PyLong_AsLong */
    void *(*number_new)(long long value);
    int (*is_true)(void *object);
    long (*size)(void *tuple);
    void *(*item)(void *tuple, long i);
    void *(*tuple_new)(long size);
    int (*tuple_set)(void *tuple, long i, void *item); /* takes over the reference to item */
    void *(*type)(void *object);
    void *(*dict_new)(void);
    void *(*dict_copy)(void *dict);
    void *(*dict_get)(void *dict, const char *name); /* borrowed */
    int (*dict_set)(void *dict, const char *name, void *value);
    int (*dict_put)(void *dict, void *name, void *value);
    int (*list_append)(void *list, void *item);
    void *(*weak_new)(void *object, void *callback);
    void *(*modules)(void);                                              /* sys.modules, borrowed */
    void *(*thread)(void);                                               /* PyThreadState_Get */
    void (*enter_tracing)(void *thread), (*leave_tracing)(void *thread); /* since 3.11, else NULL */
    void *(*vectorcall)(void *callable, void *const *args, size_t nargsf, void *names);
    void (*set_vectorcall)(void *function, void *call); /* since 3.12, else NULL */
    void *true_object, *false_object, *none, *bool_type, **exception;
    void *function_type, *type_type, *object_type, *builtin_type, *descriptor_type;
    int version; /* 309 to 3xx */
};
extern struct hook_py py;

bool hook_py_ready(void); /* true if all was found: Python 3.9 or newer */

/* The head of each object. */
struct hook_object {
    long references;
    void *type;
};
/* PyMethodDef */
struct hook_method_def {
    const char *name;
    void *call;
    int flags;
    const char *doc;
};

/* The text as an interned string of Python, borrowed. `text` must be the same literal at each call,
 * because the result is cached by its address. */
void *hook_name(const char *text);

void *hook_py_find(const char *symbol); /* a symbol of the interpreter; NULL: there is none */

/* True if the attribute exists and is true. name: see hook_name. */
bool hook_attribute_true(void *object, const char *name);

/* Between the two calls the program's tracers do not see what this thread does in Python. */
void hook_trace_off(void);
void hook_trace_on(void);

/* Writes the innermost frame whose file does not begin with `skip`, such as "train.py:42", into
 * `out`; files of installed packages with their folder. Empty: there is none. Returns true if it is
 * the innermost frame of all. */
bool hook_place(const char *skip, char *out, size_t size);

/* Handles what a note (hook.h) has returned, NULL: it raised. Exceptions are dropped, except those
 * not derived from Exception: a Ctrl-C that arrived in the note is the program's. Takes over
 * `answer`. */
enum hook_noted { NOTE_ON, NOTE_ENOUGH, NOTE_RAISED } hook_noted(void *answer);

#endif
