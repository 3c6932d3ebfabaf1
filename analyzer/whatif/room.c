/* Measures how much of the GPU each kernel occupies, and how long the remaining work needs at
 * least. See room.h. */
#include "analyzer/whatif/room.h"

#include "analyzer/queries/query.h"
#include "analyzer/timeline/sort.h"
#include "analyzer/whatif/limits.h"

#include <math.h>
#include <stdlib.h>

/* Returns the share of the GPU that a kernel's blocks fill, or 0 if not known. If registers and
 * shared memory were not recorded, fewer blocks may fit at a time, and the true share is larger. */
static double filled(const struct facts *f, const struct op *o)
{
    double blocks = (double)o->grid[0] * o->grid[1] * o->grid[2];
    int64_t fit = query_resident_blocks(f, o);
    if (fit == 0 || f->device->sm_count <= 0 || blocks <= 0)
        return 0;
    return fmin(1, blocks / ((double)fit * (double)f->device->sm_count));
}

enum { BESIDE_MOST = 128 }; /* grids that can run at the same time: CUDA C++ Programming Guide */

struct sweep {
    struct room *r;
    const struct graph *g;
    double fill[BESIDE_MOST];
    uint32_t task[BESIDE_MOST];
    size_t n;
    int64_t at_ns;        /* the sweep has come so far */
    double ns, beside_ns; /* time in which kernels ran; in which at least two ran */
};

/* Divides the time until `to` among the kernels that run in it. If together they need more than the
 * GPU has, each gets its proportion. */
static void share_until(struct sweep *s, int64_t to)
{
    while (s->n && s->at_ns < to) {
        int64_t next = to;
        double full = 0;
        for (size_t i = 0; i < s->n; i++) {
            int64_t end = task_end(&s->g->tasks[s->task[i]]);
            next = end < next ? end : next;
            full += s->fill[i];
        }
        double ns = next > s->at_ns ? (double)(next - s->at_ns) : 0;
        s->ns += ns;
        s->beside_ns += s->n > 1 ? ns : 0;
        for (size_t i = s->n; i-- > 0;) {
            uint32_t k = s->task[i];
            s->r->share[k] += (float)(ns * s->fill[i] / fmax(1, full));
            if (task_end(&s->g->tasks[k]) > next)
                continue;
            s->task[i] = s->task[--s->n];
            s->fill[i] = s->fill[s->n];
        }
        s->at_ns = next > s->at_ns ? next : s->at_ns;
    }
    s->at_ns = to;
}

/* Lists the kernels of the steps' device, sorted by start. Returns -1 without memory. */
static int list_kernels(const struct graph *g, struct sort_key **keys, size_t *n, bool *several)
{
    uint32_t lane = TASK_NONE;
    *n = 0;
    *keys = malloc((g->recorded + 1) * sizeof **keys);
    for (uint32_t i = 0; *keys && i < g->recorded; i++) {
        const struct task *t = &g->tasks[i];
        if (t->kind != TASK_KERNEL || t->at_ns >= g->length_ns ||
            g->a->tl->streams[t->lane].device != g->a->steps.device)
            continue;
        (*keys)[(*n)++] = (struct sort_key){.time = t->at_ns, .index = i};
        *several |= lane != TASK_NONE && lane != t->lane;
        lane = t->lane;
    }
    return *keys ? sort_keys(*keys, *n) : -1;
}

int room_measure(struct room *r, const struct graph *g)
{
    struct sort_key *keys;
    struct sweep s = {.r = r, .g = g, .at_ns = INT64_MIN};
    size_t n;
    bool several = false;
    int rc = list_kernels(g, &keys, &n, &several);
    r->share = calloc(g->recorded + 1, sizeof *r->share);
    for (size_t i = 0; rc >= 0 && r->share && i < n; i++) {
        const struct task *t = &g->tasks[keys[i].index];
        share_until(&s, t->at_ns);
        if (s.n == BESIDE_MOST)
            continue;
        s.fill[s.n] = filled(g->a, &g->a->tl->ops[t->source]);
        s.task[s.n++] = keys[i].index;
    }
    if (rc >= 0 && r->share)
        share_until(&s, INT64_MAX);
    for (size_t i = 0; r->share && i < g->recorded; i++)
        r->share[i] = g->tasks[i].dur_ns > 0 ? r->share[i] / (float)g->tasks[i].dur_ns : 0;
    r->apart = several && s.beside_ns * 100 < s.ns * WHATIF_BESIDE_PCT;
    free(keys);
    return rc < 0 || !r->share ? -1 : 0;
}

int64_t room_busiest_ns(const struct facts *f)
{
    const struct timeline *t = f->tl;
    int64_t *busy = calloc(t->stream_count + 1, sizeof *busy), most = 0;
    for (uint32_t i = 0; busy && i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        uint32_t k = f->steps.op_step[i];
        if (k != TL_NONE && f->steps.at[k].used && !tl_migrates(o) &&
            o->class.family != FAMILY_COMM)
            busy[o->stream] += o->end_ns - o->start_ns;
    }
    for (size_t i = 0; busy && i < t->stream_count; i++)
        most = busy[i] > most ? busy[i] : most;
    bool failed = !busy;
    free(busy);
    return failed ? -1 : facts_per_step(f, most);
}

void room_release(struct room *r)
{
    free(r->share);
    *r = (struct room){0};
}

/* Work of the GPU, as recorded (was) and under the plan (is). */
struct work {
    double left_ns;                           /* launched in the window and started in it */
    double launched_was_ns, launched_is_ns;   /* launched in the window */
    double left_over_was_ns, left_over_is_ns; /* left over from steps before the window, run in
                                                 it */
};

static void add_work(struct work *w, double share, const struct graph *g, const struct plan *p,
                     uint32_t i, uint8_t without)
{
    const struct task *t = &g->tasks[i];
    bool launched = t->issue != TASK_NONE, in_window = t->at_ns < g->length_ns;
    double was = (double)p->was[i], is = p->mark[i] & without ? 0 : (double)p->dur[i];
    w->left_ns += launched && in_window ? share * is : 0;
    w->launched_was_ns += launched ? was : 0;
    w->launched_is_ns += launched ? is : 0;
    w->left_over_was_ns += !launched && in_window ? share * was : 0;
    w->left_over_is_ns += !launched && in_window ? share * is : 0;
}

/* Work that steps before the window left over is scaled too: its launches may be missing from the
 * recording, so an edit may miss some of it. It shrinks at least by the same factor as work whose
 * launches are known. */
static double left_of(const struct work *w, double window_ns)
{
    double share = w->launched_was_ns > 0 ? w->launched_is_ns / w->launched_was_ns : 1;
    /* The host has just begun to run ahead: what it launches fills the GPU for much longer than the
     * window, and the few kernels that start in it stand for nothing. */
    if (w->launched_was_ns > WHATIF_AHEAD * window_ns)
        return share * window_ns;
    return w->left_ns + fmin(w->left_over_is_ns, w->left_over_was_ns * share);
}

double room_left_ns(const struct room *r, const struct graph *g, const struct plan *p)
{
    struct work *of = calloc(g->streams + 1, sizeof *of), room = {0};
    double most = 0, window_ns = (double)g->length_ns;
    for (uint32_t i = 0; of && i < g->recorded; i++) {
        uint8_t kind = g->classes[i].kind;
        const struct task *t = &g->tasks[i];
        if ((kind != TASK_KERNEL && kind != TASK_COPY && kind != TASK_MEMSET) ||
            t->lane >= g->streams)
            continue;
        add_work(&of[t->lane], 1, g, p, i, PLAN_DROP | PLAN_DETACH);
        if (r->share)
            add_work(&room, (double)r->share[i], g, p, i, PLAN_DROP);
    }
    for (size_t i = 0; of && i < g->streams; i++)
        most = fmax(most, left_of(&of[i], window_ns));
    free(of);
    return fmax(most, left_of(&room, window_ns));
}
