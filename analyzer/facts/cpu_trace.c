/* Decides whether a trace of PyTorch's profiler without GPU rows shows training on the CPU. The
 * profiler may also have recorded only the host, or the program may use an accelerator whose rows
 * gpuprof does not know. The machine may have GPUs that the program does not use.
 *
 * PyTorch runs the backward pass of a CPU on the thread that asks for it, and that of any other
 * device on a thread of its own (torch/csrc/autograd/engine.cpp, Engine::thread_main and execute).
 * So most nodes must lie on threads that train: that mark steps, update parameters, or compute a
 * forward pass as well. Cost: O(ranges). */
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

/* What a thread ran: nodes of the backward pass, and operators outside of them. */
struct ran {
    size_t nodes, operators;
    bool trains;
};

static struct ran ran_by(const struct timeline *t, const struct thread *th)
{
    struct ran r = {0};
    int64_t end_ns = INT64_MIN;
    for (uint32_t k = th->first_range; k < th->first_range + th->ranges; k++) {
        const struct range *at = &t->ranges[k];
        const char *name = tl_text(t, at->name);
        bool node = cpu_backward(name);
        r.trains |= trains(name);
        r.nodes += node;
        r.operators += at->start_ns >= end_ns && strncmp(name, "aten::", 6) == 0;
        end_ns = node && at->end_ns > end_ns ? at->end_ns : end_ns;
    }
    return r;
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

/* Counts the nodes on threads that train, and on others. If nothing marks a step or updates
 * parameters, the thread trains that runs most operators outside of nodes, the forward pass. */
static void count_nodes(const struct timeline *t, size_t *here, size_t *elsewhere)
{
    size_t forward[2] = {0}; /* operators on threads without nodes, and with some */
    bool any = false;
    *here = *elsewhere = 0;
    if (!timeline_meta(t, "trace.devices") || calls_gpu(t))
        return;
    for (size_t i = 0; i < t->thread_count; i++) {
        struct ran r = ran_by(t, &t->threads[i]);
        *(r.trains ? here : elsewhere) += r.nodes;
        forward[r.nodes > 0] += r.operators;
        any |= r.trains;
    }
    if (!any && forward[1] > forward[0]) {
        *here = *elsewhere;
        *elsewhere = 0;
    }
}

bool cpu_trace(const struct timeline *t)
{
    size_t here, elsewhere;
    count_nodes(t, &here, &elsewhere);
    return here > elsewhere;
}

bool cpu_trace_of_device(const struct timeline *t)
{
    size_t here, elsewhere;
    count_nodes(t, &here, &elsewhere);
    return elsewhere > here;
}
