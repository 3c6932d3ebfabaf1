/* Decides whether a trace of PyTorch's profiler without GPU rows shows training on the CPU. The
 * profiler may also have recorded only the host, or the program may use an accelerator whose rows
 * gpuprof does not know. The machine may have GPUs that the program does not use.
 *
 * PyTorch runs the backward pass of a CPU on the thread that asks for it, and that of any other
 * device on a thread of its own (torch/csrc/autograd/engine.cpp, Engine::thread_main and execute).
 * So most nodes must lie on threads that train. Cost: O(ranges). */
#include "analyzer/facts/passes.h"

#include "wire/step_mark.h"

#include <string.h>

bool cpu_backward(const char *range)
{
    static const char node[] = "autograd::engine::evaluate_function";
    return strncmp(range, node, sizeof node - 1) == 0;
}

/* The range marks a step or updates parameters, so its thread trains. */
static bool trains(const char *range)
{
    return spool_step_mark(range) != SPOOL_STEP_NONE || strncmp(range, "Optimizer.", 10) == 0;
}

/* The profiler itself asks the device and waits for it; only a program gives it work. */
static bool calls_gpu(const struct timeline *t)
{
    for (size_t i = 0; i < t->api_count; i++)
        if (t->apis[i].kind == API_LAUNCH || t->apis[i].kind == API_GRAPH_LAUNCH ||
            t->apis[i].kind == API_COPY_SYNC || t->apis[i].kind == API_COPY_ASYNC)
            return true;
    return false;
}

/* Counts the nodes on threads that train, and on others. Returns false if no thread trains, or if
 * the program gave a GPU work. */
static bool count_nodes(const struct timeline *t, size_t *here, size_t *elsewhere)
{
    bool any = false;
    *here = *elsewhere = 0;
    if (!timeline_meta(t, "trace.devices") || calls_gpu(t))
        return false;
    for (size_t i = 0; i < t->thread_count; i++) {
        const struct thread *th = &t->threads[i];
        size_t nodes = 0;
        bool loop = false;
        for (uint32_t k = th->first_range; k < th->first_range + th->ranges; k++) {
            const char *name = tl_text(t, t->ranges[k].name);
            nodes += cpu_backward(name);
            loop |= trains(name);
        }
        *(loop ? here : elsewhere) += nodes;
        any |= loop;
    }
    return any;
}

bool cpu_trace(const struct timeline *t)
{
    size_t here, elsewhere;
    return count_nodes(t, &here, &elsewhere) && here > elsewhere;
}

bool cpu_trace_of_device(const struct timeline *t)
{
    size_t here, elsewhere;
    return count_nodes(t, &here, &elsewhere) && elsewhere > here;
}
