/* Lets launches carry lines (agent/lines/lines.h): shows the reader of frames what the interpreter
 * itself reports of them, and passes it a node of PyTorch's autograd graph. */
#include "agent/lines/lines.h"

#include <stdio.h>

#include "agent/python/hook.h"
#include "agent/python/hook_py.h"

enum { MOST = 16 };

static size_t own_frames(struct lines_frame *out)
{
    void *frame = py.frame();
    size_t n = 0;
    if (frame)
        py.incref(frame);
    while (frame && n < MOST) {
        void *code = py.frame_code(frame), *back = py.frame_back(frame);
        out[n++] = (struct lines_frame){code, py.frame_line(frame)};
        py.decref(code); /* its frame holds a reference */
        py.decref(frame);
        frame = back;
    }
    if (frame)
        py.decref(frame);
    return n;
}

void gpuprof_hook_lines(void)
{
    struct lines_frame frames[MOST];
    char text[200];
    const char *wanted = agent_env("GPUPROF_LINES");
    if (lines_ready() || (wanted && wanted[0] == '0'))
        return;
    const char *why = hook_py_ready() ? lines_open(py.version - 300, frames, own_frames(frames))
                                      : "this version of Python is not known";
    if (!why) {
        lines_begin();
        return;
    }
    snprintf(text, sizeof text,
             "The GPU's work has no lines of the program: %s. All else is recorded as always.",
             why);
    gpuprof_hook_health("no-launch-lines", text);
}

void gpuprof_hook_module(const void *object, const char *name)
{
    if (lines_ready())
        lines_know_module(object, name);
}

void gpuprof_hook_node(const void *object, unsigned long long number)
{
    if (lines_ready())
        lines_know_node(object, number);
}

void gpuprof_hook_unused(unsigned long long from, unsigned long long to)
{
    lines_unused(from, to);
}

const char *gpuprof_hook_launcher(int n, const char **file)
{
    return n >= 0 ? launchers_at((size_t)n, file) : NULL;
}
