/* Python's C API by name; where in the user's program we are. 300 ns for a file and line. */
#include "agent/hook_py.h"

#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/resolve.h"

enum { FRAMES = 48 };

struct hook_py py;

static bool look_up(void)
{
    const struct {
        const char *name;
        void **to;
    } need[] = {
        {"PyObject_Call", (void **)&py.call},
        {"PyObject_CallFunctionObjArgs", (void **)&py.call_one},
        {"PyCFunction_NewEx", (void **)&py.function_new},
        {"PyInstanceMethod_New", (void **)&py.method_new},
        {"PyCapsule_New", (void **)&py.capsule_new},
        {"PyCapsule_GetPointer", (void **)&py.capsule_get},
        {"Py_IncRef", (void **)&py.incref},
        {"Py_DecRef", (void **)&py.decref},
        {"PyErr_Clear", (void **)&py.error_clear},
        {"PyErr_ExceptionMatches", (void **)&py.error_matches},
        {"PyExc_Exception", (void **)&py.exception},
        {"PyErr_Fetch", (void **)&py.error_fetch},
        {"PyErr_Restore", (void **)&py.error_restore},
        {"PyEval_GetFrame", (void **)&py.frame},
        {"PyFrame_GetCode", (void **)&py.frame_code},
        {"PyFrame_GetBack", (void **)&py.frame_back},
        {"PyFrame_GetLineNumber", (void **)&py.frame_line},
        {"PyObject_GetAttrString", (void **)&py.attribute},
        {"PyUnicode_AsUTF8", (void **)&py.utf8},
        {"PyObject_IsTrue", (void **)&py.is_true},
        {"PyTuple_Size", (void **)&py.size},
        {"PyTuple_GetItem", (void **)&py.item},
        {"PyObject_Type", (void **)&py.type},
        {"PyDict_New", (void **)&py.dict_new},
        {"PyDict_Copy", (void **)&py.dict_copy},
        {"PyDict_GetItemString", (void **)&py.dict_get},
        {"PyDict_SetItemString", (void **)&py.dict_set},
        {"_Py_TrueStruct", &py.true_object},
        {"PyBool_Type", &py.bool_type},
    };
    for (size_t i = 0; i < AGENT_ARRAY_LEN(need); i++)
        if (!(*need[i].to = resolve_global(need[i].name)))
            return false;
    return true;
}

bool hook_py_ready(void)
{
    static bool asked, usable;
    if (!asked)
        usable = look_up();
    asked = true;
    return usable;
}

bool hook_attribute_true(void *object, const char *name)
{
    void *answer = object ? py.attribute(object, name) : NULL;
    if (!answer) {
        py.error_clear();
        return false;
    }
    bool yes = py.is_true(answer) == 1;
    py.decref(answer);
    return yes;
}

/* train.py of /home/me/train.py; transformers/trainer.py of an installed package. */
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
        py.error_fetch(&type, &value, &trace); /* without our frames */
        py.error_restore(type, value, NULL);
        if (trace)
            py.decref(trace);
        return NOTE_RAISED;
    }
    bool enough = answer == py.true_object;
    py.decref(answer);
    return enough ? NOTE_ENOUGH : NOTE_ON;
}
