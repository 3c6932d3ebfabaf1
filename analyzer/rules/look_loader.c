#include "analyzer/rules/look_loader.h"

#include "analyzer/analyze/passes.h"

struct ends { /* of one thread's samples, whose values are totals since it began */
    const struct row_host_sample *first, *last;
    bool makes;
    int64_t making_ns;
};

static struct ends *find_ends(struct analysis *a)
{
    const struct timeline *t = a->tl;
    struct ends *of = arena_array(&a->arena, t->thread_count + 1, sizeof *of);
    for (size_t i = 0; of && i < t->host_sample_count; i++) {
        const struct row_host_sample *s = &t->host_samples[i];
        uint32_t th = timeline_thread_index(t, s->thread);
        if (th == TL_NONE || s->cpu_ns < 0)
            continue;
        if (!of[th].first || s->time_ns < of[th].first->time_ns)
            of[th].first = s;
        if (!of[th].last || s->time_ns > of[th].last->time_ns)
            of[th].last = s;
    }
    return of;
}

/* The part of [start, end) between the thread's first and last sample. */
static void add_making(struct ends *e, int64_t start_ns, int64_t end_ns)
{
    e->makes = true;
    if (!e->first)
        return;
    int64_t from = start_ns > e->first->time_ns ? start_ns : e->first->time_ns;
    int64_t to = end_ns < e->last->time_ns ? end_ns : e->last->time_ns;
    e->making_ns += to > from ? to - from : 0;
}

static void find_making(const struct analysis *a, struct ends *of)
{
    const struct timeline *t = a->tl;
    for (size_t i = 0; i < t->range_count; i++) {
        const struct range *r = &t->ranges[i];
        if (r->thread != a->steps.main_thread && input_makes(tl_text(t, r->name)))
            add_making(&of[r->thread], r->start_ns, r->end_ns);
    }
}

/* -1 stays unknown. */
static void add_grown(int64_t *sum, int64_t first, int64_t last)
{
    if (first >= 0 && last >= first && *sum >= 0)
        *sum += last - first;
    else
        *sum = -1;
}

static void add_worker(struct look_loader *l, const struct ends *e)
{
    l->making_ns += e->making_ns;
    add_grown(&l->cpu_ns, e->first->cpu_ns, e->last->cpu_ns);
    add_grown(&l->run_queue_ns, e->first->run_queue_ns, e->last->run_queue_ns);
    add_grown(&l->io_wait_ns, e->first->io_wait_ns, e->last->io_wait_ns);
    add_grown(&l->major_faults, e->first->major_faults, e->last->major_faults);
}

struct look_loader look_loader(struct analysis *a)
{
    struct look_loader l = {0};
    struct ends *of = find_ends(a);
    if (!of)
        return l;
    find_making(a, of);
    for (size_t i = 0; i < a->tl->thread_count; i++) {
        const struct ends *e = &of[i];
        l.workers += e->makes;
        if (!e->first || e->last->time_ns <= e->first->time_ns)
            continue;
        int64_t wants = 0, queue = 0;
        add_grown(&wants, e->first->cpu_ns, e->last->cpu_ns);
        add_grown(&queue, e->first->run_queue_ns, e->last->run_queue_ns);
        l.wanted_cores += (double)(wants + (queue > 0 ? queue : 0)) /
                          (double)(e->last->time_ns - e->first->time_ns);
        if (e->makes && e->making_ns > 0) {
            add_worker(&l, e);
            l.sampled = true;
        }
    }
    return l;
}

int64_t look_elsewhere_ns(const struct look_loader *l)
{
    int64_t queue = l->run_queue_ns > 0 ? l->run_queue_ns : 0;
    int64_t ns = l->making_ns - l->cpu_ns - queue;
    return ns > 0 ? ns : 0;
}

bool look_waits_for_files(const struct look_loader *l)
{
    return l->sampled && l->cpu_ns >= 0 && look_elsewhere_ns(l) * 2 >= l->making_ns;
}
