/* The edit "workers": `workers.count` workers make the batches. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/queries/query.h"

#include <math.h>

/* How the training thread spends its time in the window, and how long it had a core. */
struct host_time {
    double busy_ns, makes_ns, waits_ns;
    double cpu_ns; /* -1 = not recorded */
};

/* Returns the training thread's CPU time in the window in ns, from samples, or -1 if these cover
 * less than half of it. */
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

/* Beside busy workers the training thread's own work takes longer even if it keeps its core: caches
 * and memory are shared, and cores lower their clocks together. */
static void crowd_trainer(const struct graph *g, struct plan *p, double more)
{
    uint32_t lane = (uint32_t)g->streams + g->a->steps.main_thread;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        if (t->lane == lane && (t->kind == TASK_HOST_API || t->kind == TASK_HOST_GAP))
            p->dur[i] += (int64_t)((double)p->dur[i] * more);
    }
}

/* Returns how many cores the training process uses while the training thread works. Other threads
 * compute beside it, autograd's above all; while it waits for these, it sleeps. */
static double busy_cores(const struct edit *x, const struct graph *g, const struct host_time *h,
                         double spin)
{
    double trains = x->workers.hand_over.train_ns * (double)g->recorded_steps - spin * h->waits_ns;
    if (x->workers.hand_over.train_ns <= 0 || trains <= 0 || h->busy_ns <= 0)
        return 1;
    double cores = trains / h->busy_ns, most = g->a->host.usable_cores;
    return most > 0 && cores > most ? most : cores;
}

/* Draws a factor on a logarithmic scale: the middle is the geometric mean of both ends. */
static double draw_times(const struct draw *d, int dimension, double good, double bad)
{
    return good > 0 && bad > 0 ? exp(draw_between(d, dimension, log(good), log(bad))) : 0;
}

/* Returns the bad end of the factor on a worker's time for a batch. In another thread the same work
 * takes slightly more or less time (caches, placement of memory). Beside other workers it can take
 * longer although each has a core: they share memory and clocks, and a virtual machine's cores may
 * be half cores. That is not so on every machine, so it sets the bad end and not the middle. */
static double slowest_worker(int workers, int recorded)
{
    int more = workers - (recorded > 1 ? recorded : 1);
    int most = ASSUMED_WORKERS_BESIDE;
    return ASSUMED_ANOTHER_THREAD.bad + ASSUMED_BESIDE_WORKERS *
                                            (more < 0      ? 0
                                             : more > most ? most
                                                           : more) /
                                            most;
}

/* Workers compete for cores with each other and with the training thread, which computes and,
 * depending on the driver's setting, spins while it waits for the GPU. Samples of its CPU time show
 * whether it spins, and whether making a batch needs a core. Without samples, making a batch needs
 * one, and spinning is drawn. A worker process puts each batch into shared memory, and the training
 * thread copies it out: both need a core, too. */
static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    int m = x->workers.count > POOL_MAX ? POOL_MAX : x->workers.count;
    const struct host_facts *f = &g->a->host;
    const struct hand_over *way = &x->workers.hand_over;
    int now = f->loader_workers > 0 ? f->loader_workers : 0;
    struct host_time h = host_time(g);
    double cpu = 1, spin = draw_between(d, 1, 0, 1);
    double cores = f->usable_cores;
    /* Other programs may use these cores again, or may be gone. */
    if (x->workers.cores > 0 && x->workers.cores < cores)
        cores = draw_between(d, 2, cores, x->workers.cores);
    if (h.cpu_ns >= 0 && h.waits_ns > ASSUMED_SAMPLED * (double)g->length_ns)
        spin = share_of(h.cpu_ns - h.busy_ns - h.makes_ns, h.waits_ns);
    if (h.cpu_ns >= 0 && h.makes_ns > ASSUMED_SAMPLED * (double)g->length_ns)
        cpu = share_of(h.cpu_ns - h.busy_ns - spin * h.waits_ns, h.makes_ns);
    else if (f->fetch_cpu_ns > 0 && f->fetch_ns > 0)
        cpu = share_of((double)f->fetch_cpu_ns, (double)f->fetch_ns);
    p->pool = (struct pool){
        .workers = m,
        .credits = g->credits > 2 * m ? g->credits : 2 * m,
        .cores = cores,
        .cpu = cpu,
        .spin = spin,
        .busy = busy_cores(x, g, &h, spin),
        .get_ns = draw_times(d, 1, way->get_low, way->get_high),
        .send_ns = draw_times(d, 1, way->send_low, way->send_high),
        .slower = draw_around(d, 0, ASSUMED_ANOTHER_THREAD.good, 1, slowest_worker(m, now)),
        .stretch = 1};
    if (g->gets > 0 && now < m)
        crowd_trainer(g, p, draw_between(d, 2, 0, ASSUMED_CROWDED) * (m - now) / m);
}

const struct edit_kind edit_workers = {
    .name = "workers",
    .apply = apply,
    .of_host = true,
};
