/* Launches graphs that contain a barrier or follow one, so that their times are not known yet. Each
 * node becomes an operation in a row (core_barrier.c). A row is a lane: a private stream of the
 * launching stream. A node goes to the lane of one of its dependencies and waits for the others.
 * Host functions and events of such a graph run at its end. */
#include "core/core_graph.h"

#include <stdlib.h>

enum { NOBODY = -1 };

struct lane {
    struct vg_stream *stream;
    int last; /* index of the last node, or NOBODY */
};

struct layout {
    size_t lanes;
    struct lane lane[VG_LANES];
    int *of;                /* by node: its lane */
    bool *needed;           /* by node: a node on another lane depends on it */
    struct vg_moment **end; /* by node that is needed so */
    void **args;            /* by node with a barrier */
};

bool vg_exec_has_barrier(const struct vg_exec *x)
{
    for (size_t i = 0; i < x->graph->count; i++)
        if (x->graph->nodes[i]->barrier.begin)
            return true;
    return false;
}

/* The lane of a dependency that has no successor there yet, else a free lane, else a shared one. */
static int choose_lane(struct layout *l, const struct vg_node *n)
{
    for (size_t k = 0; k < n->deps_n; k++) {
        int on = (int)n->deps[k]->index;
        if (l->lane[l->of[on]].last == on)
            return l->of[on];
    }
    if (l->lanes < VG_LANES)
        return (int)l->lanes++;
    return n->deps_n ? l->of[n->deps[0]->index] : 0;
}

static int lay_out(struct layout *l, const struct vg_graph *g, struct vg_stream *s)
{
    l->of = calloc(g->count + 1, sizeof *l->of);
    l->needed = calloc(g->count + 1, sizeof *l->needed);
    l->end = calloc(g->count + 1, sizeof(struct vg_moment *));
    l->args = calloc(g->count + 1, sizeof *l->args);
    if (!l->of || !l->needed || !l->end || !l->args)
        return VG_NO_MEMORY;
    for (size_t i = 0; i < VG_LANES; i++)
        l->lane[i].last = NOBODY;
    for (size_t at = 0; at < g->count; at++) {
        size_t i = vg_node_at(g, at);
        const struct vg_node *n = g->nodes[i];
        l->of[i] = choose_lane(l, n);
        l->lane[l->of[i]].last = (int)i;
        for (size_t k = 0; k < n->deps_n; k++)
            if (l->of[n->deps[k]->index] != l->of[i])
                l->needed[n->deps[k]->index] = true;
        if (n->barrier.begin && !n->disabled && !(l->args[i] = n->barrier.begin(n->barrier.arg)))
            return VG_NO_MEMORY;
    }
    for (size_t i = 0; i < l->lanes; i++)
        if (!(l->lane[i].stream = vg_stream_lane(s, i)))
            return VG_NO_MEMORY;
    return VG_OK;
}

static void hold_node_locked(struct layout *l, const struct vg_exec *x, struct vg_stream *s,
                             size_t i)
{
    const struct vg_node *n = x->graph->nodes[i];
    const struct vg_profile *p = &vg_core.device[s->device].profile;
    struct vg_stream *lane = l->lane[l->of[i]].stream;
    for (size_t k = 0; k < n->deps_n; k++)
        if (l->of[n->deps[k]->index] != l->of[i])
            vg_held_after_locked(lane, l->end[n->deps[k]->index]);
    if (n->kind == VG_NODE_WAIT && !n->disabled && !vg_hold_wait_locked(lane, n->event) &&
        n->event->time_ns > lane->ready_ns)
        lane->ready_ns = n->event->time_ns;
    if (n->kind <= VG_NODE_MEMSET && !n->disabled) {
        struct vg_work w = vg_node_work(p, n);
        struct vg_record r = vg_node_record(x, s, n);
        struct vg_barrier b = n->barrier;
        b.arg = l->args[i];
        w.gap_ns = (int64_t)p->graph_gap_ns;
        w.copy = n->kind == VG_NODE_COPY ? &n->copy : NULL;
        if (n->kind == VG_NODE_MEMSET)
            vg_set_bytes(&n->set);
        if (b.begin)
            vg_held_barrier_locked(lane, &w, &r, &b);
        else
            vg_held_work_locked(lane, &w, &r);
    }
    if (l->needed[i])
        l->end[i] = vg_held_mark_locked(lane, &(struct vg_work){.is_mark = true});
}

static void hold_all_locked(struct layout *l, const struct vg_exec *x, struct vg_stream *s,
                            const struct vg_work *begin)
{
    struct vg_record r = vg_record_on(s, VG_REC_GRAPH);
    struct vg_moment *from = vg_held_mark_locked(s, begin);
    r.graph_id = x->id;
    for (size_t i = 0; i < l->lanes; i++)
        vg_held_after_locked(l->lane[i].stream, from);
    for (size_t at = 0; at < x->graph->count; at++)
        hold_node_locked(l, x, s, vg_node_at(x->graph, at));
    for (size_t i = 0; i < l->lanes; i++) {
        struct vg_moment *m =
            vg_held_mark_locked(l->lane[i].stream, &(struct vg_work){.is_mark = true});
        vg_held_after_locked(s, m);
        vg_moment_unref_locked(m);
    }
    vg_held_graph_locked(s, &r, from);
    vg_moment_unref_locked(from);
    for (size_t i = 0; i < x->graph->count; i++)
        vg_moment_unref_locked(l->end[i]);
}

/* Runs host functions and records events once the graph's end is known; the host waits for that. */
static int run_late(const struct vg_exec *x, struct vg_stream *s)
{
    int result = VG_OK;
    for (size_t i = 0; i < x->graph->count && result == VG_OK; i++) {
        const struct vg_node *n = x->graph->nodes[i];
        if (n->disabled || (n->kind != VG_NODE_HOST && n->kind != VG_NODE_RECORD))
            continue;
        int64_t end_ns = vg_stream_tail(s);
        if (n->kind == VG_NODE_HOST) {
            result = vg_host_at(s, end_ns, n->host, n->host_arg);
        } else {
            n->event->recorded = true;
            n->event->time_ns = end_ns;
        }
    }
    return result;
}

int vg_exec_hold(struct vg_exec *x, struct vg_stream *s, const struct vg_work *begin)
{
    struct layout l = {0};
    int result = lay_out(&l, x->graph, s);
    if (result == VG_OK) {
        pthread_mutex_lock(&vg_core.lock);
        vg_queue_locked(s);
        hold_all_locked(&l, x, s, begin);
        pthread_mutex_unlock(&vg_core.lock);
        vg_barriers_changed();
        result = run_late(x, s);
    }
    free(l.of);
    free(l.needed);
    free(l.end);
    free(l.args);
    return result;
}
