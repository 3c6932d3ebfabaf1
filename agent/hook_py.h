/* The part of Python's C API that the hook uses, looked up in the process: nothing of Python is
 * linked. Everything here is called with the interpreter's lock held; objects are void *. */
#ifndef GPUPROF_HOOK_PY_H
#define GPUPROF_HOOK_PY_H

#include <stdbool.h>
#include <stddef.h>

struct hook_py {
    void *(*call)(void *callable, void *args, void *kwargs);
    void *(*call_one)(void *callable, void *arg, ...); /* PyObject_CallFunctionObjArgs */
    void *(*function_new)(void *def, void *self, void *module);
    void *(*method_new)(void *function);
    void *(*capsule_new)(void *pointer, const char *name, void (*destructor)(void *));
    void *(*capsule_get)(void *capsule, const char *name);
    void (*incref)(void *object), (*decref)(void *object);
    void (*error_clear)(void);
    int (*error_matches)(void *exception);
    void (*error_fetch)(void **type, void **value, void **trace);
    void (*error_restore)(void *type, void *value, void *trace);
    void *(*frame)(void);
    void *(*frame_code)(void *frame);
    void *(*frame_back)(void *frame);
    int (*frame_line)(void *frame);
    void *(*attribute)(void *object, const char *name);
    const char *(*utf8)(void *text);
    int (*is_true)(void *object);
    long (*size)(void *tuple);
    void *(*item)(void *tuple, long i);
    void *(*type)(void *object);
    void *(*dict_new)(void);
    void *(*dict_copy)(void *dict);
    void *(*dict_get)(void *dict, const char *name); /* borrowed */
    int (*dict_set)(void *dict, const char *name, void *value);
    void *true_object, *bool_type, **exception;
};
extern struct hook_py py;

bool hook_py_ready(void); /* everything is there: Python 3.9 or newer */

bool hook_attribute_true(void *object, const char *name); /* false without it */

/* "train.py:42" of the innermost frame whose file does not begin with `skip`; of installed packages
 * with their folder. Empty: none. True: it is the innermost frame of all. */
bool hook_place(const char *skip, char *out, size_t size);

/* A wrapper's note (hook.h) has answered, NULL = it raised. What it raised is dropped, but for what
 * is no Exception: a Ctrl-C that arrived there is the program's. Takes over `answer`. */
enum hook_noted { NOTE_ON, NOTE_ENOUGH, NOTE_RAISED } hook_noted(void *answer);

#endif
