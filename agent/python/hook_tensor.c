/* Tensor methods that read or copy: where the tensor lies shows whether the host waits. A call
 * takes some 100 ns, a recorded one 400 ns. */
#include "agent/python/hook_tensor.h"

#include <stdio.h>
#include <string.h>

#include "agent/core/agent.h"
#include "agent/core/clock.h"
#include "agent/lines/lines.h"
#include "agent/python/hook.h"
#include "agent/python/hook_py.h"
#include "wire/fact_keys.h"

/* SURE: after so many such reads without a backward pass, the program evaluates. NODES_OF_GRAPH: fewer
 * nodes are no model's. */
enum { SURE = 2, NODES_OF_GRAPH = 16 };

static void *plain_types[4];
static size_t plain_count;
static bool non_blocking; /* GPUPROF_APPLY wants it */
/* evaluating: -1: the program trains; else how many reads had a graph that they did not need. */
static int evaluating = -1, eval_with_grad;

void gpuprof_hook_plain(void *type)
{
    if (plain_count < AGENT_ARRAY_LEN(plain_types))
        plain_types[plain_count++] = type;
}

void gpuprof_hook_non_blocking(int on)
{
    non_blocking = on != 0;
}

/* An evaluation is over in which so many nodes of a graph were made, and no backward pass went through
 * them: sets a fact at the second one. */
static void look_at_graph(uint64_t nodes)
{
    static int such;
    char text[32];
    if (nodes < NODES_OF_GRAPH || ++such != 2)
        return;
    snprintf(text, sizeof text, "%llu", (unsigned long long)nodes);
    gpuprof_hook_fact(FACT_TORCH_EVALUATION_NODES, text);
}

/* The range "validation" lasts from model.eval() to model.train() or the next backward pass. */
void gpuprof_hook_evaluating(int mode)
{
    static int64_t since_ns;
    static uint64_t nodes;
    evaluating = mode == HOOK_EVALUATES ? 0 : -1;
    if (mode == HOOK_EVALUATES && !since_ns) {
        since_ns = clock_now_ns();
        nodes = lines_nodes();
    } else if (mode != HOOK_EVALUATES && since_ns) {
        if (mode == HOOK_TRAINS && nodes)
            look_at_graph(lines_nodes() - nodes);
        gpuprof_hook_range("validation", since_ns, clock_now_ns(), 1);
        since_ns = 0;
    }
}

bool hook_tensor_plain(void *tensor)
{
    void *type = tensor ? ((struct hook_object *)tensor)->type : NULL;
    for (size_t i = 0; type && i < plain_count; i++)
        if (plain_types[i] == type)
            return true;
    return false;
}

/* If the program, after model.eval() and without a backward pass, reads results that need gradients
 * again and again, it has built their graphs for nothing: sets a fact. */
static void look_at_evaluation(void *tensor, const char *place)
{
    if (evaluating < 0 || eval_with_grad || !hook_attribute_true(tensor, "requires_grad"))
        return;
    if (++evaluating < SURE)
        return;
    eval_with_grad = 1;
    gpuprof_hook_fact(FACT_TORCH_EVALUATION_GRAD_ENABLED, place);
}

/* The method as users write it: bool(x), not x.__bool__(). */
static const char *written(const char *method, char *out, size_t size)
{
    static const char *const special[][2] = {
        {"__bool__", "bool()"},           {"__int__", "int()"},    {"__float__", "float()"},
        {"__index__", "index()"},         {"__repr__", "print()"}, {"__format__", "format()"},
        {"__array__", "numpy.asarray()"},
    };
    for (size_t i = 0; i < AGENT_ARRAY_LEN(special); i++)
        if (strcmp(method, special[i][0]) == 0)
            return special[i][1];
    snprintf(out, size, ".%s()", method);
    return out;
}

void hook_tensor_read(void *tensor, const char *method, const char *skip, char *out, size_t size)
{
    char place[96], name[64];
    bool direct = hook_place(skip, place, sizeof place),
         gpu = hook_attribute_true(tensor, "is_cuda");
    out[0] = 0;
    if (direct || gpu) /* not recorded: reads of a CPU tensor that PyTorch makes for itself */
        snprintf(out, size, "%s %s %s", gpu ? "sync" : "read", written(method, name, sizeof name),
                 place);
    look_at_evaluation(tensor, place);
}

/* True if the call gives non_blocking: to(device, dtype, non_blocking), cuda(device, non_blocking).
 * A positional bool counts. *blocking: whether the copy blocks. */
static bool says_whether(const struct act *a, bool *blocking)
{
    void *named = act_named(a, "non_blocking");
    size_t n = act_count(a);
    for (size_t i = 1; !named && i < n; i++) {
        void *arg = act_arg(a, i);
        if (((struct hook_object *)arg)->type == py.bool_type)
            named = arg;
    }
    *blocking = !named || py.is_true(named) != 1;
    return named != NULL;
}

/* True for pinned memory. Only there is non_blocking safe, because the allocator keeps the memory
 * until the copy is over. */
static bool is_pinned(void *tensor)
{
    void *ask = py.attribute(tensor, "is_pinned");
    void *pinned = ask ? py.call_one(ask, NULL) : NULL;
    bool yes = pinned && py.is_true(pinned) == 1;
    if (!pinned)
        py.error_clear();
    else
        py.decref(pinned);
    if (ask)
        py.decref(ask);
    return yes;
}

static void told_non_blocking(void)
{
    static bool told;
    if (!told)
        gpuprof_hook_fact(FACT_APPLY ".non_blocking",
                          "applied: copies of pinned tensors to the GPU no longer wait");
    told = true;
}

void *hook_tensor_copy(struct hook_copy *c, struct watch *inner, struct act *a, char *out,
                       size_t size)
{
    void *tensor = act_arg(a, 0);
    bool was = hook_attribute_true(tensor, "is_cuda"), blocking;
    bool add = !says_whether(a, &blocking) && non_blocking && !was && is_pinned(tensor);
    out[0] = 0;
    void *result = add ? act_go_adding(a, "non_blocking", py.true_object) : watch_run(inner, a);
    if (!result || result == tensor)
        return result;
    bool is = hook_attribute_true(result, "is_cuda");
    char place[96];
    c->to_gpu = is && !was && ((struct hook_object *)tensor)->type == plain_types[0];
    if (is != was && blocking && !add) {
        hook_place(c->skip, place, sizeof place);
        snprintf(out, size, "%s .%s() %s", was ? "sync" : "copy", c->method, place);
    }
    if (add && is && !was)
        told_non_blocking();
    return result;
}
