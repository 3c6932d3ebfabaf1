/* Edits of how batches are made and copied. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/queries/query.h"

#include <math.h>

/* A call that only queues its copy takes this at most: an assumption, not measured. */
enum { QUEUE_COPY_NS = 8000 };

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
    for (uint32_t i = 0; i < g->recorded; i++) {
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

/* Beside busy workers the training thread's own work takes longer even where it keeps its core:
 * caches and memory are shared, and cores clock lower together. In a published pair of recordings,
 * without workers and with them, its calls and operators took 8 to 24 % longer. */
static void crowd_trainer(const struct graph *g, struct plan *p, double more)
{
    uint32_t lane = (uint32_t)g->streams + g->a->steps.main_thread;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        if (t->lane == lane && (t->kind == TASK_HOST_API || t->kind == TASK_HOST_GAP))
            p->dur[i] += (int64_t)((double)p->dur[i] * more);
    }
}

/* CPU time of the training process against what its training thread does: other threads compute
 * beside it, autograd's above all, and where it waits for these it sleeps. */
static double busy_cores(const struct edit *x, const struct graph *g, const struct host_time *h,
                         double spin)
{
    double trains = x->hand_over.train_ns * (double)g->recorded_steps - spin * h->waits_ns;
    if (x->hand_over.train_ns <= 0 || trains <= 0 || h->busy_ns <= 0)
        return 1;
    double cores = trains / h->busy_ns, most = g->a->host.usable_cores;
    return most > 0 && cores > most ? most : cores;
}

/* Between factors: the middle is as many times the good end as the bad end is times the middle. */
static double draw_times(const struct draw *d, int dimension, double good, double bad)
{
    return good > 0 && bad > 0 ? exp(draw_between(d, dimension, log(good), log(bad))) : 0;
}

/* The same work takes another thread 5 % more or less: caches, memory placement. Beside others it
 * takes longer, though each has a core: they share memory and clocks, and a virtual machine's cores
 * may be halves of one. In six reruns on such a machine with an H200 four workers took 1.2 to 1.8
 * times as long for a batch as one thread had when recorded; three of another program at most 1.3.
 * On others nothing of it showed, so this is the bad end and not the middle. */
static double slowest_worker(int workers, int recorded)
{
    enum { MANY = 3 };
    int more = workers - (recorded > 1 ? recorded : 1);
    return 1.05 + 0.55 * (more < 0 ? 0 : more > MANY ? MANY : more) / MANY;
}

/* Workers compete for cores with each other and with the training thread, which computes and, by
 * the driver's choice, spins while it waits for the GPU. Whether it does, and whether making a
 * batch needs a core at all, the samples of its CPU time tell; without them making a batch does,
 * and spinning is drawn. A worker that is a process puts each batch into shared memory, and the
 * training thread takes it from there: both take a core, too. */
void edit_workers(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    int m = x->workers > POOL_MAX ? POOL_MAX : x->workers;
    const struct host_facts *f = &g->a->host;
    const struct hand_over *way = &x->hand_over;
    int now = f->loader_workers > 0 ? f->loader_workers : 0;
    struct host_time h = host_time(g);
    double cpu = 1, spin = draw_between(d, 1, 0, 1);
    double cores = f->usable_cores;
    if (x->cores > 0 && x->cores < cores) /* others may have them again, or may be gone */
        cores = draw_between(d, 2, cores, x->cores);
    if (h.cpu_ns >= 0 && h.waits_ns > 0.1 * (double)g->length_ns)
        spin = share_of(h.cpu_ns - h.busy_ns - h.makes_ns, h.waits_ns);
    if (h.cpu_ns >= 0 && h.makes_ns > 0.1 * (double)g->length_ns)
        cpu = share_of(h.cpu_ns - h.busy_ns - spin * h.waits_ns, h.makes_ns);
    else if (f->fetch_cpu_ns > 0 && f->fetch_ns > 0)
        cpu = share_of((double)f->fetch_cpu_ns, (double)f->fetch_ns);
    p->pool = (struct pool){.workers = m,
                            .credits = g->credits > 2 * m ? g->credits : 2 * m,
                            .cores = cores,
                            .cpu = cpu,
                            .spin = spin,
                            .busy = busy_cores(x, g, &h, spin),
                            .get_ns = draw_times(d, 1, way->get_low, way->get_high),
                            .send_ns = draw_times(d, 1, way->send_low, way->send_high),
                            .slower = draw_around(d, 0, 0.95, 1, slowest_worker(m, now)),
                            .stretch = 1};
    if (g->gets > 0 && now < m)
        crowd_trainer(g, p, draw_between(d, 2, 0, 0.2) * (m - now) / m);
}

/* How many workers there are, what a batch costs them and how many cores are free was not recorded:
 * more of them make batches come in anything from the same time (no core, no room in the storage)
 * to a tenth of it. As a bound, in none. */
void edit_more_workers(const struct edit *x, const struct graph *g, struct plan *p,
                       const struct draw *d)
{
    (void)x;
    double by = p->most ? 0 : draw_between(d, 0, 0.1, 1);
    for (uint32_t i = 0; i < g->count; i++)
        if (g->tasks[i].kind == TASK_LOAD && g->tasks[i].flags & TASK_BEHIND)
            p->dur[i] = (int64_t)((double)p->dur[i] * by);
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
        return best * draw_between(d, 0, 1, 0.95);
    bool fifth = g->a->device && g->a->device->cc_major >= 9; /* generation */
    return draw_between(d, 0, 0.85, fifth ? 0.4 : 0.7) * query_pcie_rate(g->a);
}

static const struct op *upload_of(const struct timeline *t, uint32_t api, uint8_t from)
{
    const struct op *o = t->apis[api].op == TL_NONE ? NULL : &t->ops[t->apis[api].op];
    return o && o->kind == OP_COPY && o->copy_kind == COPY_H2D && o->src_kind == from ? o : NULL;
}

/* A small copy comes with a batch, as its labels do, if a large one is made before or after it with
 * nothing between them but such copies and the waits for them. */
static bool of_batch(const struct timeline *t, uint32_t api, uint8_t from)
{
    enum { NEAR = 16 }; /* calls: a batch of more tensors is no batch of samples */
    const struct thread *th = &t->threads[t->apis[api].thread];
    int64_t first = th->first_api, end = first + th->apis;
    for (int step = -1; step <= 1; step += 2)
        for (int64_t i = api; i >= first && i < end && i != (int64_t)api + step * NEAR; i += step) {
            const struct op *o = upload_of(t, (uint32_t)i, from);
            if (o && o->bytes > QUERY_SMALL_COPY)
                return true;
            if (!o && t->apis[i].kind != API_SYNC_STREAM)
                break;
        }
    return false;
}

/* Without non_blocking PyTorch waits for the stream right behind a copy, pinned or not: 0 to 2 us
 * in published traces. */
static bool awaits_upload(const struct timeline *t, uint32_t api, uint8_t from)
{
    enum { BEHIND_NS = 20000 };
    const struct api *c = &t->apis[api];
    if (c->kind != API_SYNC_STREAM || api == t->threads[c->thread].first_api ||
        c->start_ns - c[-1].end_ns > BEHIND_NS)
        return false;
    const struct op *o = upload_of(t, api - 1, from);
    uint32_t stream = c->sync == TL_NONE ? TL_NONE : t->syncs[c->sync].stream;
    return o && (stream == TL_NONE || stream == o->stream) && of_batch(t, api - 1, from);
}

/* A framework of Python copies pinned batches on the stream that computes, and with
 * non_blocking=True waits for none of them; only a prefetcher has a stream of its own. */
static void edit_copies(const struct graph *g, struct plan *p, uint8_t from, bool same_stream,
                        double rate)
{
    const struct timeline *t = g->a->tl;
    for (uint32_t i = 0; i < g->count; i++) {
        if (same_stream && g->tasks[i].kind == TASK_WAIT &&
            awaits_upload(t, g->tasks[i].source, from))
            p->mark[i] |= PLAN_DROP;
        const struct op *o = g->tasks[i].kind == TASK_COPY ? edit_op(g, i) : NULL;
        if (!o || o->copy_kind != COPY_H2D || o->src_kind != from)
            continue;
        uint32_t w = i + 1; /* its wait comes right behind it */
        bool waits = w < g->count && g->tasks[w].kind == TASK_WAIT &&
                     g->tasks[w].flags & TASK_COPY_WAIT && g->tasks[w].source == o->api;
        if (o->bytes <= QUERY_SMALL_COPY) {
            if (waits && same_stream && of_batch(t, o->api, from))
                p->mark[w] |= PLAN_DROP;
            continue;
        }
        if (from == MEMORY_PINNED && !waits && (same_stream || !g->computes[g->tasks[i].lane]))
            continue;
        if (!same_stream)
            p->mark[i] |= PLAN_DETACH;
        if (waits)
            p->mark[w] |= PLAN_DROP;
        if (rate > 0)
            p->dur[i] = (int64_t)((double)o->bytes / rate);
        uint32_t call = g->tasks[i].issue;
        if (call != TASK_NONE && p->dur[call] > QUEUE_COPY_NS)
            p->dur[call] = QUEUE_COPY_NS;
    }
}

void edit_pin(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    (void)x;
    edit_copies(g, p, MEMORY_PAGEABLE, query_of_pytorch(g->a), pinned_rate(g, d));
}

void edit_overlap(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    (void)d;
    edit_copies(g, p, MEMORY_PINNED, x->in_stream, 0);
}

/* At best: nobody knows how fast other storage is. */
void edit_read_free(const struct edit *x, const struct graph *g, struct plan *p,
                    const struct draw *d)
{
    (void)d;
    for (uint32_t i = 0; i < g->count; i++)
        if (g->tasks[i].kind == TASK_LOAD)
            p->dur[i] = (int64_t)((double)p->dur[i] * x->good);
}
