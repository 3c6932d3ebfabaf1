/* The edit "graph": a CUDA graph instead of single launches. `at.op_marks`: work that may stay
 * outside of the graph. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/queries/limits.h"
#include "analyzer/queries/lines.h"

/* Returns true for a launch of work that no module of the program's model does
 * (query_outside_model). */
static bool is_of_loop(const struct edit *x, const struct graph *g, const struct task *t)
{
    uint32_t op = t->kind == TASK_HOST_API ? g->a->tl->apis[t->source].op : TL_NONE;
    return op != TL_NONE && x->at.op_marks[op];
}

static bool is_node(const struct graph *g, uint32_t i)
{
    uint8_t kind = g->classes[i].kind;
    return kind == TASK_KERNEL || kind == TASK_MEMSET || kind == TASK_COPY;
}

static bool is_launch(const struct graph *g, uint32_t i)
{
    const struct task_class *c = &g->classes[i];
    return c->kind == TASK_HOST_API && (c->call == API_LAUNCH || c->call == API_MEMSET);
}

/* Returns true for calls between two launches that a capture records, or that the program no longer
 * makes when it runs the graph. */
static bool is_captured(const struct graph *g, uint32_t i)
{
    return g->classes[i].kind == TASK_HOST_API && g->classes[i].traits & TRAIT_CAPTURES;
}

/* Returns true for the wait of a launch for room in the queue: a graph needs little room. */
static bool waits_for_room(const struct graph *g, uint32_t i)
{
    return g->classes[i].kind == TASK_WAIT && g->classes[i].call == API_LAUNCH;
}

/* Returns true for what no thread of the loop does: GPU work, and batches that workers make. */
static bool runs_beside(const struct graph *g, uint32_t i)
{
    uint8_t kind = g->classes[i].kind;
    return (kind >= TASK_KERNEL && kind <= TASK_EV_WAIT) ||
           (kind == TASK_LOAD && g->tasks[i].flags & TASK_BEHIND);
}

/* Returns true for calls that take their time also with a graph: calls that manage memory or load
 * code and, in a window that does not repeat, long calls, which include one-time work. */
static bool stays_anyway(const struct graph *g, const struct task *t)
{
    const struct api *c = &g->a->tl->apis[t->source];
    return c->kind == API_ALLOC || c->kind == API_FREE || c->kind == API_HOST_ALLOC ||
           c->kind == API_MODULE || (g->once && t->dur_ns >= QUERY_OWN_WORK_NS);
}

/* The upper bound: the host spends time only on results that it waited for, on memory, on batches
 * and on long pauses of its own, and each kernel starts right behind its predecessor. */
static void graph_at_most(const struct graph *g, struct plan *p)
{
    /* a result was waited for: on the training thread; on another thread */
    bool waited[2] = {false, false};
    bool crowded = query_pauses_may_lack_core(g->a);
    p->node_lag_permille = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        if (is_node(g, i))
            p->mark[i] |= PLAN_NODE;
        if (runs_beside(g, i))
            continue;
        bool *result = &waited[t->lane != (uint32_t)g->streams + g->a->steps.main_thread];
        if (waits_for_room(g, i))
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

/* Launches that stand in a row, without a call that a graph cannot contain, become nodes: the first
 * costs the launch of the graph, each other one a little. On the GPU a node follows its predecessor
 * after a share of the stream's usual delay.
 *
 * A long pause between launches is the program's own work and stays. But if the thread lacks a core
 * for much of the step, and no line of the program holds these pauses, the pause may be waiting for a
 * core: then it stays, goes, or goes in part.
 * The loss and the optimizer of PyTorch programs vary in the same way: torch.compile and
 * make_graphed_callables leave them outside of the graph, a capture by hand may include them. */
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
    double pause_left = query_pauses_may_lack_core(g->a) ? draw_between(d, 2, 0, 1) : 1;
    bool model_only = x->at.op_marks && draw_between(d, 2, 0, 1) > ASSUMED_CAPTURES_ALL;
    for (uint32_t i = 0; i < g->count; i++) {
        if (is_node(g, i)) {
            uint32_t issue = inside ? g->tasks[i].issue : TASK_NONE;
            if (issue != TASK_NONE && (is_launch(g, issue) || is_captured(g, issue)))
                p->mark[i] |= PLAN_NODE;
            continue;
        }
        if (runs_beside(g, i))
            continue;
        if (g->classes[i].kind == TASK_HOST_GAP) {
            if (p->was[i] >= QUERY_OWN_WORK_NS)
                p->dur[i] = (int64_t)((double)p->dur[i] * pause_left);
            pause = i;
            continue;
        }
        if (waits_for_room(g, i)) {
            p->mark[i] |= PLAN_DROP;
            continue;
        }
        const struct task *t = &g->tasks[i];
        bool launch = is_launch(g, i) && !(g->classes[i].traits & TRAIT_COLLECTIVE) &&
                      !(model_only && is_of_loop(x, g, t));
        bool stays = launch || (inside && is_captured(g, i));
        if (stays && inside && pause != TASK_NONE && t->prev == pause &&
            p->was[pause] < QUERY_OWN_WORK_NS)
            p->dur[pause] = 0;
        if (launch && p->dur[i] == 0)
            continue; /* another change has removed this launch */
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
