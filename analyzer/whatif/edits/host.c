/* Edits of what the host calls and waits for. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/measure/ranges.h"
#include "analyzer/measure/spans.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/waits.h"

#include <stdlib.h>

/* Of the host, to launch a graph: an assumption, and beside it the time of each node (edit_graph).
 * `make gpu-check` can measure it (tests/gpu/calibrate_calls.cu, graph_launch_host). */
enum { GRAPH_LAUNCH_NS = 10000 };

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
    return op != TL_NONE && x->op_marks[op];
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

/* The range around call `c` if nothing is launched in it: there the program reads a result and
 * works on it, which it would do as seldom as it waits. TL_NONE otherwise. */
static uint32_t reading_range(const struct graph *g, const uint32_t *parent, const struct api *c)
{
    const struct timeline *t = g->a->tl;
    uint32_t in = range_at(t, parent, c->thread, c->start_ns), best = TL_NONE;
    const struct thread *th = &t->threads[c->thread];
    for (; in != TL_NONE; in = parent[in]) {
        const struct range *r = &t->ranges[in];
        for (const struct api *x = c; x >= &t->apis[th->first_api] && x->start_ns >= r->start_ns;
             x--)
            if (x->kind == API_LAUNCH || x->kind == API_GRAPH_LAUNCH || x->kind == API_MEMSET)
                return best;
        for (const struct api *x = c;
             x < &t->apis[th->first_api + th->apis] && x->start_ns < r->end_ns; x++)
            if (x->kind == API_LAUNCH || x->kind == API_GRAPH_LAUNCH || x->kind == API_MEMSET)
                return best;
        best = in;
    }
    return best;
}

/* What the thread does behind wait i until its range ends. */
static void drop_reading(const struct graph *g, struct plan *p, uint32_t i, const struct range *r)
{
    uint32_t lane = g->tasks[i].lane;
    size_t turn = task_turn(g, &g->tasks[i]);
    for (uint32_t k = i + 1; k < g->count && g->start_ns + g->tasks[k].at_ns < r->end_ns &&
                             task_turn(g, &g->tasks[k]) == turn;
         k++) {
        const struct task *t = &g->tasks[k];
        if (t->lane != lane || t->kind != TASK_HOST_GAP)
            continue;
        int64_t over = g->start_ns + t->at_ns + t->dur_ns - r->end_ns;
        p->dur[k] = over > 0 ? over : 0;
    }
}

/* A wait that another change removes (claimed_marks) is that one's; one in an allocation stays as
 * long as that does. */
static bool claimed(const struct edit *x, const struct facts *f, uint32_t call)
{
    uint8_t kind = f->tl->apis[call].kind;
    return kind == API_ALLOC || kind == API_FREE || kind == API_HOST_ALLOC ||
           (x->claimed_marks && x->claimed_marks[call]);
}

void edit_unsync(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    (void)d;
    uint32_t *parent = range_parents(g->a->tl);
    for (uint32_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        if (t->kind != TASK_WAIT || !(t->flags & TASK_DRAINS) || claimed(x, g->a, t->source))
            continue;
        if (x->keep_marks && x->keep_marks[t->source])
            continue;
        const struct api *c = &g->a->tl->apis[t->source];
        if (c->op != TL_NONE && g->a->tl->ops[c->op].copy_kind == COPY_H2D)
            continue;
        p->mark[i] |= PLAN_DROP;
        uint32_t in = parent ? reading_range(g, parent, c) : TL_NONE;
        if (in != TL_NONE)
            drop_reading(g, p, i, &g->a->tl->ranges[in]);
    }
    free(parent);
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
 * little per node (20 to 200 ns on what is published). On the GPU a node follows the one before it
 * after a share of a stream's usual gap: 0.05 to 1 of it in seven recordings of graphs, medians of
 * 0.06 us beside 0.7 to 1.5, 0 beside 1, 1 beside 3, 3 beside 3.
 *
 * A long pause between launches is the program's own work and stays. While the thread has no core
 * for much of the step, it may as well be that; then it goes, or stays, or goes in part. So with
 * the loss and the optimizer under PyTorch: torch.compile and make_graphed_callables leave them
 * outside of the graph, a capture by hand may take them in. */
void edit_graph(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    if (p->most) {
        graph_at_most(g, p);
        return;
    }
    bool inside = false;
    uint32_t pause = TASK_NONE;
    int64_t node_ns = (int64_t)draw_between(d, 0, 20, 200);
    p->node_lag_permille = (int64_t)draw_between(d, 1, 50, 1000);
    double pause_left = query_short_of_cpu(g->a) ? draw_between(d, 2, 0, 1) : 1;
    bool model_only = x->op_marks && draw_between(d, 2, 0, 1) > 0.5;
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
            p->dur[i] = !inside ? GRAPH_LAUNCH_NS : launch ? node_ns : 0;
        inside = stays;
        pause = TASK_NONE;
    }
}

/* A launch that waited for its kernel took the time until that began, and the kernel's. Left is
 * what any launch takes: in published traces 0.6 to 1.1 of the first of these. And kernels that are
 * queued follow one another 0.9 to 2 us apart there; in steps whose launches block none was seen
 * to. */
void edit_unblock(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    double left = draw_between(d, 0, 0.6, 1.1);
    int64_t apart_ns = (int64_t)draw_between(d, 1, 900, 2000);
    for (uint32_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        if (t->kind != TASK_WAIT || !(t->flags & TASK_FOR_KERNEL) || !t->edges)
            continue;
        p->dur[g->edges[t->edge].from] += apart_ns;
        p->mark[i] |= PLAN_DROP;
        p->dur[t->prev] = (int64_t)((double)p->dur[t->prev] * left);
    }
    if (x->op_marks || x->call_marks)
        edit_remove(x, g, p, d);
}

/* Marked ranges of the training thread, merged: a range may lie in another. NULL: no memory. */
static struct span *marked_spans(const struct edit *x, const struct graph *g, size_t *n)
{
    const struct timeline *t = g->a->tl;
    const struct thread *th = facts_main_thread(g->a);
    struct span *at = malloc((th->ranges + 1) * sizeof *at);
    *n = 0;
    for (uint32_t i = th->first_range; at && i < th->first_range + th->ranges; i++) {
        const struct range *r = &t->ranges[i];
        if (!x->range_marks || !x->range_marks[i])
            continue;
        if (*n == 0 || r->start_ns > at[*n - 1].end_ns)
            at[(*n)++] = (struct span){r->start_ns, r->end_ns};
        else if (r->end_ns > at[*n - 1].end_ns)
            at[*n - 1].end_ns = r->end_ns;
    }
    return at;
}

void edit_skip(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    size_t n, k = 0;
    struct span *at = marked_spans(x, g, &n);
    int64_t before = INT64_MIN;
    uint32_t lane = (uint32_t)g->streams + g->a->steps.main_thread;
    (void)d;
    for (uint32_t i = 0; at && i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        if (t->lane != lane || (t->kind != TASK_HOST_GAP && t->kind != TASK_LOAD) ||
            t->dur_ns < x->pause_ns)
            continue;
        int64_t from = g->start_ns + t->at_ns, to = from + t->dur_ns, less = 0;
        k = from < before ? 0 : k; /* the window is repeated */
        before = from;
        while (k < n && at[k].end_ns <= from)
            k++;
        for (size_t m = k; m < n && at[m].start_ns < to; m++)
            less += (at[m].end_ns < to ? at[m].end_ns : to) -
                    (at[m].start_ns > from ? at[m].start_ns : from);
        p->dur[i] -= less < p->dur[i] ? less : p->dur[i];
    }
    free(at);
}
