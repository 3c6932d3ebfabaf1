/* Each recommendation as a change of the plan, with the range of what is not known about it.
 *
 * Ranges are public figures (peak rates by compute capability, PCIe generations) times the share of
 * them that kernels and copies reach in practice; where the profile itself holds the figure (a
 * pinned copy's rate, the shortest optimizer kernel), that is used instead. */
#include "analyzer/analyze/edits.h"

#include "analyzer/analyze/passes.h"
#include "analyzer/rules/look.h"

#include <stdlib.h>
#include <string.h>

enum {
    SMALL_COPY = 65536,
    CALL_NS = 4000,
    HOST_PAUSE_NS = 100000, /* shorter ones between launches belong to the launches */
    GRAPH_LAUNCH_NS = 10000,
    KERNEL_FLOOR_NS = 3000
};

static double between(const struct draw *d, int dimension, double good, double bad)
{
    return good + (bad - good) * d->u[dimension];
}

static const struct op *op_of(const struct graph *g, uint32_t i)
{
    const struct task *t = &g->tasks[i];
    return t->kind >= TASK_KERNEL && t->kind <= TASK_COLL ? &g->a->tl->ops[t->source] : NULL;
}

/* Removes GPU work together with its launch and the host's pause before that. */
static void drop_op(const struct graph *g, struct plan *p, uint32_t i)
{
    uint32_t call = g->tasks[i].issue;
    p->mark[i] |= PLAN_DROP;
    if (call == TASK_NONE || g->a->tl->apis[g->tasks[call].source].ops > 1)
        return;
    p->dur[call] = 0;
    uint32_t pause = g->tasks[call].prev;
    if (pause != TASK_NONE && g->tasks[pause].kind == TASK_HOST_GAP &&
        g->tasks[pause].dur_ns < HOST_PAUSE_NS)
        p->dur[pause] = 0;
}

/* ---- batches and copies ----------------------------------------------------------------------
 */

/* What the training thread does with its time in the window, and for how much of that it had a
 * core.
 */
struct host_time {
    double busy_ns, makes_ns, waits_ns;
    double cpu_ns; /* -1 = not recorded */
};

static double sampled_ns(const struct graph *g)
{
    const struct timeline *t = g->a->tl;
    const struct row_host_sample *first = NULL, *last = NULL;
    int64_t end_ns = g->start_ns + g->length_ns;
    for (size_t i = 0; i < t->host_sample_count; i++) {
        const struct row_host_sample *s = &t->host_samples[i];
        if (s->time_ns < g->start_ns || s->time_ns > end_ns || s->cpu_ns < 0 ||
            timeline_thread_index(t, s->thread) != g->a->steps.main_thread)
            continue;
        first = !first || s->time_ns < first->time_ns ? s : first;
        last = !last || s->time_ns > last->time_ns ? s : last;
    }
    if (!first || last->time_ns - first->time_ns < g->length_ns / 2)
        return -1;
    return (double)(last->cpu_ns - first->cpu_ns) * (double)g->length_ns /
           (double)(last->time_ns - first->time_ns);
}

static struct host_time host_time(const struct graph *g)
{
    struct host_time h = {.cpu_ns = sampled_ns(g)};
    uint32_t lane = (uint32_t)g->streams + g->a->steps.main_thread;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        if (t->lane != lane)
            continue;
        if (t->kind == TASK_HOST_API || t->kind == TASK_HOST_GAP)
            h.busy_ns += (double)t->dur_ns;
        else if (t->kind == TASK_LOAD)
            h.makes_ns += (double)t->dur_ns;
        else if (t->kind == TASK_WAIT && t->prev != TASK_NONE)
            h.waits_ns += (double)(t->at_ns - g->tasks[t->prev].at_ns - g->tasks[t->prev].dur_ns);
    }
    return h;
}

static double share_of(double part, double whole)
{
    double x = whole > 0 ? part / whole : 1;
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* Workers compete for cores with each other and with the training thread, which computes and, by
 * the driver's choice, spins while it waits for the GPU. Whether it does, and whether making a
 * batch needs a core at all, the samples of its CPU time tell; without them making a batch does,
 * and spinning is drawn. The same work takes another thread 5 % more or less: caches, memory
 * placement. */
static void edit_workers(const struct edit *x, const struct graph *g, struct plan *p,
                         const struct draw *d)
{
    int m = x->workers > POOL_MAX ? POOL_MAX : x->workers;
    const struct host_facts *f = &g->a->host;
    struct host_time h = host_time(g);
    double cpu = 1, spin = between(d, 1, 0, 1);
    if (h.cpu_ns >= 0 && h.waits_ns > 0.1 * (double)g->length_ns)
        spin = share_of(h.cpu_ns - h.busy_ns - h.makes_ns, h.waits_ns);
    if (h.cpu_ns >= 0 && h.makes_ns > 0.1 * (double)g->length_ns)
        cpu = share_of(h.cpu_ns - h.busy_ns - spin * h.waits_ns, h.makes_ns);
    else if (f->fetch_cpu_ns > 0 && f->fetch_ns > 0)
        cpu = share_of((double)f->fetch_cpu_ns, (double)f->fetch_ns);
    p->pool = (struct pool){.workers = m,
                            .credits = g->credits > 2 * m ? g->credits : 2 * m,
                            .cores = f->usable_cores,
                            .cpu = cpu,
                            .spin = spin,
                            .slower = between(d, 0, 0.95, 1.05),
                            .stretch = 1};
}

/* Bytes per ns of pinned copies: the best seen, give or take little, else 70 to 85 % of the PCIe
 * generation's rate; on generation 5 the host often does not keep up (from 40 %). */
static double pinned_rate(const struct graph *g, const struct draw *d)
{
    const struct timeline *t = g->a->tl;
    double best = 0;
    for (size_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (o->kind == OP_COPY && o->copy_kind == COPY_H2D && o->src_kind == MEMORY_PINNED &&
            o->bytes > 1 << 20 && o->end_ns > o->start_ns) {
            double rate = (double)o->bytes / (double)(o->end_ns - o->start_ns);
            best = rate > best ? rate : best;
        }
    }
    if (best > 0)
        return best * between(d, 0, 1, 0.95);
    int64_t major = g->a->device ? g->a->device->cc_major : 0;
    return between(d, 0, 0.85, major >= 9 ? 0.4 : 0.7) * (major >= 9   ? 63.0
                                                          : major == 8 ? 31.5
                                                                       : 15.75);
}

static bool lane_computes(const struct graph *g, uint32_t lane)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->tasks[i].lane == lane && g->tasks[i].kind == TASK_KERNEL)
            return true;
    return false;
}

static void edit_copies(const struct graph *g, struct plan *p, uint8_t from, double rate)
{
    for (uint32_t i = 0; i < g->count; i++) {
        const struct op *o = op_of(g, i);
        if (!o || o->kind != OP_COPY || o->copy_kind != COPY_H2D || o->src_kind != from ||
            o->bytes <= SMALL_COPY)
            continue;
        uint32_t w = i + 1; /* its wait comes right behind it */
        bool waits = w < g->count && g->tasks[w].kind == TASK_WAIT &&
                     g->tasks[w].flags & TASK_COPY_WAIT && g->tasks[w].source == o->api;
        if (from == MEMORY_PINNED && !waits && !lane_computes(g, g->tasks[i].lane))
            continue;
        p->mark[i] |= PLAN_DETACH;
        if (waits)
            p->mark[w] |= PLAN_DROP;
        if (rate > 0)
            p->dur[i] = (int64_t)((double)o->bytes / rate);
        uint32_t call = g->tasks[i].issue;
        if (call != TASK_NONE && p->dur[call] > 2 * CALL_NS)
            p->dur[call] = 2 * CALL_NS;
    }
}

/* ---- the host --------------------------------------------------------------------------------
 */

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
    for (uint32_t k = i + 1; k < g->count && g->start_ns + g->tasks[k].at_ns < r->end_ns; k++) {
        const struct task *t = &g->tasks[k];
        if (t->lane != lane || t->kind != TASK_HOST_GAP)
            continue;
        int64_t over = g->start_ns + t->at_ns + t->dur_ns - r->end_ns;
        p->dur[k] = over > 0 ? over : 0;
    }
}

static void edit_unsync(const struct graph *g, struct plan *p)
{
    uint32_t *parent = range_parents(g->a->tl);
    for (uint32_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        if (t->kind != TASK_WAIT || !(t->flags & TASK_DRAINS))
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

/* Launches between two things that a graph cannot hold become nodes: a launch of the whole, and a
 * little per node (20 to 200 ns on what is published). On the GPU a node follows the one before it
 * after half of a stream's usual gap, or no sooner. */
static void edit_graph(const struct graph *g, struct plan *p, const struct draw *d)
{
    bool inside = false;
    uint32_t pause = TASK_NONE;
    int64_t node_ns = (int64_t)between(d, 0, 20, 200);
    p->node_lag_permille = (int64_t)between(d, 1, 500, 1000);
    for (uint32_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        if (t->kind == TASK_KERNEL && inside && t->issue != TASK_NONE && is_launch(g, t->issue))
            p->mark[i] |= PLAN_NODE;
        if (t->lane < g->streams || t->flags & TASK_BEHIND)
            continue;
        if (t->kind == TASK_HOST_GAP) {
            pause = i;
            continue;
        }
        if (is_launch(g, i)) {
            p->dur[i] = inside ? node_ns : GRAPH_LAUNCH_NS;
            if (inside && pause != TASK_NONE && t->prev == pause &&
                g->tasks[pause].dur_ns < 10 * HOST_PAUSE_NS)
                p->dur[pause] = 0;
            inside = true;
        } else {
            inside = false;
        }
        pause = TASK_NONE;
    }
}

static void edit_keep_gradients(const struct graph *g, struct plan *p)
{
    for (uint32_t i = 0; i < g->count; i++)
        if (op_of(g, i) && look_is_zeroing(g->a, g->tasks[i].source) != LOOK_NO)
            drop_op(g, p, i);
}

/* ---- kernels ---------------------------------------------------------------------------------
 */

static void edit_layout(const struct graph *g, struct plan *p, const struct draw *d)
{
    for (uint32_t i = 0; i < g->count; i++) {
        const struct op *o = op_of(g, i);
        if (!o || o->kind != OP_KERNEL)
            continue;
        if (o->class.family == FAMILY_LAYOUT)
            drop_op(g, p, i);
        else if (o->class.family == FAMILY_CONV && !strstr(tl_text(g->a->tl, o->full_name), "nhwc"))
            p->dur[i] = (int64_t)((double)p->dur[i] * between(d, 0, 0.8, 1.0));
        else if (o->class.family == FAMILY_CONV || o->class.family == FAMILY_NORM ||
                 o->class.family == FAMILY_POOL) /* other kernels are chosen: seldom worse */
            p->dur[i] = (int64_t)((double)p->dur[i] * between(d, 1, 0.9, 1.02));
    }
}

/* FP32 rate over that of 16-bit tensor cores, dense: V100 15.7/125, T4 8.1/65, A100 19.5/312,
 * GA10x and Ada about 1/4, H100 67/989, B200 75/2250. */
static double peak_ratio(const struct graph *g)
{
    const struct row_device *v = g->a->device;
    if (!v || v->cc_major < 7)
        return 1;
    if (v->cc_major == 7)
        return 1.0 / 8;
    if (v->cc_major == 8)
        return v->cc_minor == 0 ? 1.0 / 16 : 1.0 / 4;
    return v->cc_major == 9 ? 1.0 / 15 : 1.0 / 30;
}

/* Tensor kernels mostly reach a smaller share of their peak than FP32 reaches of its own: 25 to
 * 120 % of that share (FP32 kernels can be poor, too). */
static void edit_precision(const struct graph *g, struct plan *p, const struct draw *d)
{
    double matrix = peak_ratio(g) / between(d, 0, 1.2, 0.25);
    double rest = between(d, 1, 0.5, 0.85);
    matrix = matrix > 1 ? 1 : matrix;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct op *o = op_of(g, i);
        if (!o || o->kind != OP_KERNEL || p->dur[i] <= KERNEL_FLOOR_NS)
            continue;
        uint8_t f = o->class.family;
        bool product = f == FAMILY_GEMM || f == FAMILY_CONV;
        bool moves = f == FAMILY_ELEMENTWISE || f == FAMILY_NORM || f == FAMILY_POOL ||
                     f == FAMILY_BIAS || f == FAMILY_SOFTMAX;
        double by = product && o->class.tensor == TRI_NO ? matrix : moves ? rest : 1;
        p->dur[i] = KERNEL_FLOOR_NS + (int64_t)((double)(p->dur[i] - KERNEL_FLOOR_NS) * by);
    }
}

static bool updates(const struct graph *g, uint32_t i)
{
    return op_of(g, i) && look_is_optimizer(g->a, g->tasks[i].source) != LOOK_NO;
}

/* How many different kernels an update consists of: each is a pass over the parameters. */
static int passes(const struct graph *g)
{
    uint32_t seen[8];
    int n = 0;
    for (uint32_t i = 0; i < g->count && n < 8; i++) {
        if (!updates(g, i))
            continue;
        int k = 0;
        while (k < n && seen[k] != op_of(g, i)->full_name)
            k++;
        if (k == n)
            seen[n++] = op_of(g, i)->full_name;
    }
    return n ? n : 1;
}

/* The shortest of them is all overhead: a fused kernel pays that once, the rest is bytes. How much
 * of the overhead goes is not certain: all of it, or half. Several passes become one: at best
 * it moves as much as one and a half of them, at worst as much as all (they were in the cache). */
static void edit_fuse(const struct graph *g, struct plan *p, const struct draw *d)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < g->count; i++)
        if (updates(g, i) && g->tasks[i].dur_ns < least)
            least = g->tasks[i].dur_ns;
    int64_t spared = least == INT64_MAX ? 0 : (int64_t)((double)least * between(d, 0, 1.0, 0.5));
    double bytes = between(d, 1, passes(g) > 1 ? 1.5 / passes(g) : 1, 1);
    uint32_t first = TASK_NONE, step = TASK_NONE;
    for (uint32_t i = 0; i < g->count; i++) {
        if (!updates(g, i))
            continue;
        if (first == TASK_NONE || g->tasks[i].step != step) {
            first = i;
            step = g->tasks[i].step;
            continue;
        }
        p->dur[first] += p->dur[i] > spared ? (int64_t)((double)(p->dur[i] - spared) * bytes) : 0;
        drop_op(g, p, i);
    }
}

/* No model exists: measured algorithms take 0.7 to 1.0 of the heuristic's time. */
static void edit_algorithm(const struct graph *g, struct plan *p, const struct draw *d)
{
    double by = between(d, 0, 0.7, 1.0);
    for (uint32_t i = 0; i < g->count; i++) {
        const struct op *o = op_of(g, i);
        if (o && o->kind == OP_KERNEL && o->class.family == FAMILY_CONV)
            p->dur[i] = (int64_t)((double)p->dur[i] * by);
    }
}

bool edit_certain(enum edit_kind kind)
{
    return kind == EDIT_UNSYNC || kind == EDIT_OVERLAP || kind == EDIT_KEEP_GRADIENTS;
}

void edit_apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    switch (x->kind) {
    case EDIT_NONE:
        break;
    case EDIT_WORKERS:
        edit_workers(x, g, p, d);
        break;
    case EDIT_PIN:
        edit_copies(g, p, MEMORY_PAGEABLE, pinned_rate(g, d));
        break;
    case EDIT_OVERLAP:
        edit_copies(g, p, MEMORY_PINNED, 0);
        break;
    case EDIT_UNSYNC:
        edit_unsync(g, p);
        break;
    case EDIT_LAYOUT:
        edit_layout(g, p, d);
        break;
    case EDIT_PRECISION:
        edit_precision(g, p, d);
        break;
    case EDIT_FUSE:
        edit_fuse(g, p, d);
        break;
    case EDIT_GRAPH:
        edit_graph(g, p, d);
        break;
    case EDIT_ALGORITHM:
        edit_algorithm(g, p, d);
        break;
    case EDIT_KEEP_GRADIENTS:
        edit_keep_gradients(g, p);
        break;
    }
}
