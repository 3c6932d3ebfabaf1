/* Python's C API, looked up by name; and the place in the user's program that runs now, which takes
 * 300 ns. */
#include "agent/python/hook_py.h"

#include <stdio.h>
#include <string.h>

#include "agent/core/agent.h"
#include "agent/core/old_names.h"
#include "agent/core/resolve.h"

OLD_NUMBER(sscanf);

enum { FRAMES = 48 };

struct hook_py py;

/* False for versions that the hook does not know, and for a free-threaded interpreter, in which
 * several threads use these objects at the same time. */
static bool look_at_version(void)
{
    const char *(*ask)(void) = (const char *(*)(void))resolve_global("Py_GetVersion");
    int major = 0, minor = 0;
    if (!ask || sscanf(ask(), "%d.%d", &major, &minor) != 2 || major != 3 || minor < 9 ||
        strstr(ask(), "free-threading"))
        return false;
    py.version = major * 100 + minor;
    return minor < 12 || py.set_vectorcall;
}

/* Finds the call of a function that other code has not changed. Since 3.12 this function has no
 * exported name, but PyVectorcall_Function tells the call of an object: two functions of importlib
 * must agree on it. */
static bool look_at_functions(void)
{
    void *(*of)(void *) = (void *(*)(void *))resolve_global("PyVectorcall_Function");
    void *known = resolve_global("_PyFunction_Vectorcall");
    static const char *const names[] = {"_verbose_message", "_handle_fromlist"};
    void *importlib = py.dict_get(py.modules(), "_frozen_importlib"), *found[2] = {known, known};
    for (size_t i = 0; !known && of && importlib && i < 2; i++) {
        void *function = py.attribute(importlib, names[i]);
        if (function && ((struct hook_object *)function)->type == py.function_type)
            found[i] = of(function);
        if (function)
            py.decref(function);
        else
            py.error_clear();
    }
    py.vectorcall = (void *(*)(void *, void *const *, size_t, void *))found[0];
    return found[0] && found[0] == found[1];
}

/* Without any one of these there is no hook. */
static const struct {
    const char *name;
    void **to;
} need[] = {
    {"PyObject_Call", (void **)&py.call},
    {"PyObject_CallFunctionObjArgs", (void **)&py.call_one},
    {"PyCFunction_NewEx", (void **)&py.function_new},
    {"Py_IncRef", (void **)&py.incref},
    {"Py_DecRef", (void **)&py.decref},
    {"PyErr_Clear", (void **)&py.error_clear},
    {"PyErr_ExceptionMatches", (void **)&py.error_matches},
    {"PyExc_Exception", (void **)&py.exception},
    {"PyErr_Fetch", (void **)&py.error_fetch},
    {"PyErr_Restore", (void **)&py.error_restore},
    {"PyException_SetTraceback", (void **)&py.trace_set},
    {"PyEval_GetFrame", (void **)&py.frame},
    {"PyFrame_GetCode", (void **)&py.frame_code},
    {"PyFrame_GetBack", (void **)&py.frame_back},
    {"PyFrame_GetLineNumber", (void **)&py.frame_line},
    {"PyObject_GetAttrString", (void **)&py.attribute},
    {"PyObject_GetAttr", (void **)&py.attribute_of},
    {"PyUnicode_InternFromString", (void **)&py.name},
    {"PyUnicode_AsUTF8", (void **)&py.utf8},
    {"PyLong_AsLong", (void **)&py.number},
    {"PyLong_FromLongLong", (void **)&py.number_new},
    {"PyObject_IsTrue", (void **)&py.is_true},
    {"PyTuple_Size", (void **)&py.size},
    {"PyTuple_GetItem", (void **)&py.item},
    {"PyTuple_New", (void **)&py.tuple_new},
    {"PyTuple_SetItem", (void **)&py.tuple_set},
    {"PyObject_Type", (void **)&py.type},
    {"PyDict_New", (void **)&py.dict_new},
    {"PyDict_Copy", (void **)&py.dict_copy},
    {"PyDict_GetItemString", (void **)&py.dict_get},
    {"PyDict_SetItemString", (void **)&py.dict_set},
    {"PyDict_SetItem", (void **)&py.dict_put},
    {"PyList_Append", (void **)&py.list_append},
    {"PyImport_GetModuleDict", (void **)&py.modules},
    {"PyThreadState_Get", (void **)&py.thread},
    {"PyWeakref_NewRef", (void **)&py.weak_new},
    {"_Py_TrueStruct", &py.true_object},
    {"_Py_FalseStruct", &py.false_object},
    {"_Py_NoneStruct", &py.none},
    {"PyBool_Type", &py.bool_type},
    {"PyFunction_Type", &py.function_type},
    {"PyType_Type", &py.type_type},
    {"PyBaseObject_Type", &py.object_type},
    {"PyCFunction_Type", &py.builtin_type},
    {"PyMethodDescr_Type", &py.descriptor_type},
};

static bool look_up(void)
{
    for (size_t i = 0; i < AGENT_ARRAY_LEN(need); i++)
        if (!(*need[i].to = resolve_global(need[i].name)))
            return false;
    py.enter_tracing = (void (*)(void *))resolve_global("PyThreadState_EnterTracing");
    py.leave_tracing = (void (*)(void *))resolve_global("PyThreadState_LeaveTracing");
    py.set_vectorcall = (void (*)(void *, void *))resolve_global("PyFunction_SetVectorcall");
    return look_at_version() && look_at_functions();
}

void *hook_py_find(const char *symbol)
{
    return resolve_global(symbol);
}

bool hook_py_ready(void)
{
    static bool asked, usable;
    if (!asked)
        usable = look_up();
    asked = true;
    return usable;
}

void *hook_name(const char *text)
{
    static struct {
        const char *text;
        void *name;
    } known[16];
    size_t i = 0;
    while (i < AGENT_ARRAY_LEN(known) - 1 && known[i].text && known[i].text != text)
        i++;
    if (known[i].text != text) {
        known[i].name = py.name(text);
        known[i].text = known[i].name ? text : NULL;
    }
    return known[i].name;
}

/* PyThreadState.tracing: 3.9 and 3.10 have no function for it, and keep it at the same offset. */
static int *tracing_of(void *thread)
{
    return (int *)((char *)thread + 44);
}

void hook_trace_off(void)
{
    if (py.enter_tracing)
        py.enter_tracing(py.thread());
    else
        ++*tracing_of(py.thread());
}

void hook_trace_on(void)
{
    if (py.leave_tracing)
        py.leave_tracing(py.thread());
    else
        --*tracing_of(py.thread());
}

bool hook_attribute_true(void *object, const char *text)
{
    void *name = object ? hook_name(text) : NULL;
    void *answer = name ? py.attribute_of(object, name) : NULL;
    if (!answer) {
        py.error_clear();
        return false;
    }
    bool yes = py.is_true(answer) == 1;
    py.decref(answer);
    return yes;
}

/* "train.py" for /home/me/train.py; "transformers/trainer.py" for a file of an installed
 * package. */
static const char *short_path(const char *path)
{
    static const char *const installed[] = {"/site-packages/", "/dist-packages/"};
    for (size_t i = 0; i < AGENT_ARRAY_LEN(installed); i++) {
        const char *at = strstr(path, installed[i]);
        if (at)
            return at + strlen(installed[i]);
    }
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool hook_place(const char *skip, char *out, size_t size)
{
    void *frame = py.frame();
    size_t length = strlen(skip);
    bool direct = false;
    out[0] = 0;
    if (frame)
        py.incref(frame);
    for (int i = 0; frame && i < FRAMES; i++) {
        void *code = py.frame_code(frame);
        void *file = code ? py.attribute(code, "co_filename") : NULL;
        const char *path = file ? py.utf8(file) : NULL;
        bool found = path && (!length || strncmp(path, skip, length) != 0);
        direct |= found && i == 0;
        if (found)
            snprintf(out, size, "%s:%d", short_path(path), py.frame_line(frame));
        else if (!path)
            py.error_clear();
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
    return direct;
}

enum hook_noted hook_noted(void *answer)
{
    if (!answer && py.error_matches(*py.exception)) {
        py.error_clear();
        return NOTE_ON;
    }
    if (!answer) {
        void *type, *value, *trace;
        py.error_fetch(&type, &value, &trace);
        /* Value is an exception object in all these versions; 3.14 restores the traceback that it
         * holds. */
        if (py.version >= 312)
            py.trace_set(value, py.none);
        py.error_restore(type, value, NULL); /* without the hook's frames */
        if (trace)
            py.decref(trace);
        return NOTE_RAISED;
    }
    bool enough = answer == py.true_object;
    py.decref(answer);
    return enough ? NOTE_ENOUGH : NOTE_ON;
}
