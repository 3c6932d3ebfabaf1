/* The edit that replaces launches by those of a CUDA graph. `at.op_marks`: work that may stay
 * outside of it. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/queries/host.h"
#include "analyzer/queries/waits.h"

/* The launch of a collective: those of DDP come from its hooks, outside of what torch.compile and
 * make_graphed_callables capture. */
static bool is_collective(const struct graph *g, const struct task *t)
{
    uint32_t op = t->kind == TASK_HOST_API ? g->a->tl->apis[t->source].op : TL_NONE;
    return op != TL_NONE && g->a->tl->ops[op].kind == OP_KERNEL &&
           g->a->tl->ops[op].class.family == FAMILY_COMM;
}

/* The launch of work that no module of the program's model does (query_outside_model). */
static bool is_of_loop(const struct edit *x, const struct graph *g, const struct task *t)
{
    uint32_t op = t->kind == TASK_HOST_API ? g->a->tl->apis[t->source].op : TL_NONE;
    return op != TL_NONE && x->at.op_marks[op];
}

static bool is_node(const struct task *t)
{
    return t->kind == TASK_KERNEL || t->kind == TASK_MEMSET || t->kind == TASK_COPY;
}

static bool is_launch(const struct graph *g, uint32_t i)
{
    const struct task *t = &g->tasks[i];
    if (t->kind != TASK_HOST_API)
        return false;
    uint8_t kind = g->a->tl->apis[t->source].kind;
    return kind == API_LAUNCH || kind == API_MEMSET;
}

/* What comes once, while code is loaded and memory is first allocated, is in a window, and no
 * launch less takes it away; nor the calls about memory. */
static bool stays_anyway(const struct graph *g, const struct task *t)
{
    const struct api *c = &g->a->tl->apis[t->source];
    return c->kind == API_ALLOC || c->kind == API_FREE || c->kind == API_HOST_ALLOC ||
           c->kind == API_MODULE || (g->once && t->dur_ns >= QUERY_OWN_WORK_NS);
}

/* A bound: the host spends nothing on a step but what it does with results that it waited for, with
 * memory and with batches, and on work of its own, and work follows work without delay. */
static void graph_at_most(const struct graph *g, struct plan *p)
{
    bool waited[2] = {false, false}; /* on this thread, on another */
    bool crowded = query_short_of_cpu(g->a);
    p->node_lag_permille = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        if (is_node(t))
            p->mark[i] |= PLAN_NODE;
        if (t->lane < g->streams || t->flags & TASK_BEHIND)
            continue;
        bool *result = &waited[t->lane != (uint32_t)g->streams + g->a->steps.main_thread];
        if (t->kind == TASK_WAIT && g->a->tl->apis[t->source].kind == API_LAUNCH)
            p->mark[i] |= PLAN_DROP;
        else if (t->kind == TASK_WAIT || t->kind == TASK_GET || t->kind == TASK_LOAD)
            *result = true;
        else if (t->kind == TASK_HOST_API ? !stays_anyway(g, t)
                                          : !*result && (crowded || t->dur_ns < QUERY_OWN_WORK_NS))
            p->dur[i] = 0;
        if (is_launch(g, i))
            *result = false;
    }
}

/* A call between two launches that a capture takes in, or that nobody makes again when the graph
 * runs. */
static bool is_captured(const struct graph *g, const struct task *t)
{
    if (t->kind != TASK_HOST_API)
        return false;
    const struct api *c = &g->a->tl->apis[t->source];
    return (c->kind == API_OTHER || c->kind == API_EVENT_RECORD || c->kind == API_STREAM_WAIT ||
            c->kind == API_COPY_ASYNC) &&
           !query_stops_capture(g->a->tl, c);
}

/* Launches between two things that a graph cannot hold become nodes: a launch of the whole, and a
 * little per node. On the GPU a node follows the one before it after a share of a stream's usual
 * gap.
 *
 * A long pause between launches is the program's own work and stays. While the thread has no core
 * for much of the step, it may as well be that; then it goes, or stays, or goes in part. So with
 * the loss and the optimizer under PyTorch: torch.compile and make_graphed_callables leave them
 * outside of the graph, a capture by hand may take them in. */
static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    if (p->most) {
        graph_at_most(g, p);
        return;
    }
    bool inside = false;
    uint32_t pause = TASK_NONE;
    int64_t node_ns = (int64_t)draw_span(d, 0, ASSUMED_NODE_NS);
    p->node_lag_permille = (int64_t)draw_span(d, 1, ASSUMED_NODE_LAG);
    double pause_left = query_short_of_cpu(g->a) ? draw_between(d, 2, 0, 1) : 1;
    bool model_only = x->at.op_marks && draw_between(d, 2, 0, 1) > ASSUMED_CAPTURES_ALL;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        if (is_node(t) && inside && t->issue != TASK_NONE &&
            (is_launch(g, t->issue) || is_captured(g, &g->tasks[t->issue])))
            p->mark[i] |= PLAN_NODE;
        if (t->lane < g->streams || t->flags & TASK_BEHIND)
            continue;
        if (t->kind == TASK_HOST_GAP) {
            if (t->dur_ns >= QUERY_OWN_WORK_NS)
                p->dur[i] = (int64_t)((double)p->dur[i] * pause_left);
            pause = i;
            continue;
        }
        if (t->kind == TASK_WAIT && g->a->tl->apis[t->source].kind == API_LAUNCH) {
            p->mark[i] |= PLAN_DROP; /* for room in the queue: one launch needs little */
            continue;
        }
        bool launch =
            is_launch(g, i) && !is_collective(g, t) && !(model_only && is_of_loop(x, g, t));
        bool stays = launch || (inside && is_captured(g, t));
        if (stays && inside && pause != TASK_NONE && t->prev == pause &&
            g->tasks[pause].dur_ns < QUERY_OWN_WORK_NS)
            p->dur[pause] = 0;
        if (launch && p->dur[i] == 0)
            continue; /* another change has taken it out */
        if (stays && !(g->once && stays_anyway(g, t)))
            p->dur[i] = !inside ? ASSUMED_GRAPH_LAUNCH_NS : launch ? node_ns : 0;
        inside = stays;
        pause = TASK_NONE;
    }
}

const struct edit_kind edit_graph = {
    .name = "graph",
    .apply = apply,
    .change = LEDGER_HOST,
    .of_host = true,
    .keeps_input = true,
    .sure_parts = 1u << PART_IDLE_LAUNCH,
    .comes_last = true,
};
