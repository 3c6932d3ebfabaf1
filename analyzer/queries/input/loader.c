/* Sums up what workers do while they make batches: compute, wait for a core, wait for files. */
#include "analyzer/queries/input/loader.h"

#include "analyzer/measure/clocks.h"
#include "analyzer/measure/input.h"
#include "analyzer/queries/host.h"
#include "analyzer/timeline/name_test.h"
#include "base/order.h"
#include "wire/spool_format.h"

#include <stdlib.h>

/* What one thread did while it made batches. */
struct ends {
    struct thread_clocks clocks;
    bool makes, by_ranges;
    int64_t making_ns, from_ns, to_ns; /* time making batches; from the first batch to the last */
    int64_t timed_ns, timed_cpu_ns;    /* batches whose CPU time was recorded, and that CPU time */
};

static struct ends *find_ends(const struct facts *f, struct arena *arena)
{
    struct ends *of = arena_array(arena, f->tl->thread_count + 1, sizeof *of);
    const struct thread_clocks *clocks = thread_clocks(f->tl, arena);
    for (size_t i = 0; of && clocks && i < f->tl->thread_count; i++)
        of[i].clocks = clocks[i];
    return clocks ? of : NULL;
}

/* Adds a batch; counts the part of [start, end) between the thread's first
 * and last clock sample. */
static void add_making(struct ends *e, int64_t start_ns, int64_t end_ns)
{
    e->from_ns = !e->makes || start_ns < e->from_ns ? start_ns : e->from_ns;
    e->to_ns = !e->makes || end_ns > e->to_ns ? end_ns : e->to_ns;
    e->makes = true;
    const struct row_host_sample *first = e->clocks.first, *last = e->clocks.last;
    if (!first)
        return;
    int64_t from = start_ns > first->time_ns ? start_ns : first->time_ns;
    int64_t to = end_ns < last->time_ns ? end_ns : last->time_ns;
    e->making_ns += to > from ? to - from : 0;
}

/* False for threads of another rank: they make batches for that rank. */
static bool may_serve(const struct facts *f, uint32_t thread)
{
    const struct timeline *t = f->tl;
    int64_t rank = t->processes[t->threads[thread].process].rank;
    int64_t own = t->processes[f->steps.process].rank;
    return thread != f->steps.main_thread && (rank < 0 || own < 0 || rank == own);
}

static void find_making(const struct facts *f, struct ends *of)
{
    const struct timeline *t = f->tl;
    struct name_test makes = name_test_open(t, input_makes);
    for (size_t i = 0; i < t->range_count; i++) {
        const struct range *r = &t->ranges[i];
        if (may_serve(f, r->thread) && name_test(&makes, r->name)) {
            add_making(&of[r->thread], r->start_ns, r->end_ns);
            of[r->thread].by_ranges = true;
        }
    }
    name_test_close(&makes);
    /* records of a framework's workers; ranges of the same thread take precedence */
    for (size_t i = 0; i < t->loader_count; i++) {
        const struct row_loader *l = &t->loaders[i];
        uint32_t th = timeline_thread_index(t, l->thread);
        if (l->what != SPOOL_LOADER_FETCH || th == TL_NONE || !may_serve(f, th) || of[th].by_ranges)
            continue;
        add_making(&of[th], l->start_ns, l->end_ns);
        of[th].timed_ns += l->cpu_ns >= 0 ? l->end_ns - l->start_ns : 0;
        of[th].timed_cpu_ns += l->cpu_ns >= 0 ? l->cpu_ns : 0;
    }
}

/* Adds the growth of a counter; the sum becomes -1 as soon as one value is unknown. */
static void add_grown(int64_t *sum, int64_t first, int64_t last)
{
    int64_t grown = clocks_grown(first, last);
    *sum = grown >= 0 && *sum >= 0 ? *sum + grown : -1;
}

static void add_worker(struct query_loader *l, const struct ends *e)
{
    const struct row_host_sample *first = e->clocks.first, *last = e->clocks.last;
    l->making_ns += e->making_ns;
    l->timed_ns += e->timed_ns;
    l->timed_cpu_ns += e->timed_cpu_ns;
    add_grown(&l->cpu_ns, first->cpu_ns, last->cpu_ns);
    add_grown(&l->run_queue_ns, first->run_queue_ns, last->run_queue_ns);
    add_grown(&l->io_wait_ns, first->io_wait_ns, last->io_wait_ns);
    add_grown(&l->major_faults, first->major_faults, last->major_faults);
    add_grown(&l->storage_bytes, first->storage_bytes, last->storage_bytes);
    add_grown(&l->read_bytes, first->read_bytes, last->read_bytes);
}

/* The largest number of threads that make batches at the same time. Counting all threads would be
 * wrong: a loop may start its workers anew, and another loader has its own. */
static size_t at_one_time(const struct facts *f, struct arena *arena, const struct ends *of)
{
    size_t all = f->tl->thread_count, n = 0, most = 0;
    int64_t *from = arena_array(arena, all + 1, sizeof *from);
    int64_t *to = arena_array(arena, all + 1, sizeof *to);
    for (size_t i = 0; from && to && i < all; i++) {
        if (!of[i].makes)
            continue;
        from[n] = of[i].from_ns;
        to[n++] = of[i].to_ns;
    }
    if (n == 0)
        return 0;
    qsort(from, n, sizeof *from, order_int64);
    qsort(to, n, sizeof *to, order_int64);
    for (size_t i = 0, gone = 0; i < n; i++) {
        while (to[gone] < from[i])
            gone++;
        most = i + 1 - gone > most ? i + 1 - gone : most;
    }
    return most;
}

/* The share of the steps' time in which the thread was sampled. Threads that replace each
 * other then count as one. */
static double sampled_share(const struct facts *f, const struct ends *e)
{
    const struct steps *s = &f->steps;
    if (s->count == 0)
        return 1;
    int64_t start = s->at[0].start_ns, end = s->at[s->count - 1].end_ns;
    int64_t from = e->clocks.first->time_ns, to = e->clocks.last->time_ns;
    from = from > start ? from : start;
    to = to < end ? to : end;
    return end <= start ? 1 : to > from ? (double)(to - from) / (double)(end - start) : 0;
}

struct query_loader query_loader(const struct facts *f, struct arena *arena)
{
    struct query_loader l = {0};
    struct ends *of = find_ends(f, arena);
    if (!of)
        return l;
    find_making(f, of);
    l.workers = at_one_time(f, arena, of);
    for (size_t i = 0; i < f->tl->thread_count; i++) {
        const struct ends *e = &of[i];
        const struct row_host_sample *first = e->clocks.first, *last = e->clocks.last;
        if (!first || last->time_ns <= first->time_ns)
            continue;
        int64_t wants = 0, queue = 0;
        add_grown(&wants, first->cpu_ns, last->cpu_ns);
        add_grown(&queue, first->run_queue_ns, last->run_queue_ns);
        double ns = (double)(last->time_ns - first->time_ns), share = sampled_share(f, e);
        double wanted = (double)(wants + (queue > 0 ? queue : 0)) / ns;
        l.used_cores += wants > 0 ? share * (double)wants / ns : 0;
        l.wanted_cores += share * wanted;
        l.busy_threads += wanted >= QUERY_HALF_A_CORE;
        if (e->makes && e->making_ns > 0) {
            add_worker(&l, e);
            l.sampled = true;
        }
    }
    return l;
}

bool query_others_compute(const struct query_loader *l, int cores)
{
    /* a program that is crowded out by others has waiting threads too, but gets few cores itself */
    bool many = (double)l->busy_threads >= cores * QUERY_OWN_CROWD &&
                l->wanted_cores >= cores * QUERY_OWN_CROWD;
    return cores > 0 && (l->wanted_cores < cores * QUERY_OTHERS_WANTED ||
                         (l->used_cores < cores * QUERY_OTHERS_USED && !many));
}

double query_starved_pct(const struct query_loader *l)
{
    if (!l->sampled || l->run_queue_ns < 0 || l->making_ns <= 0)
        return -1;
    double share = (double)l->run_queue_ns / (double)l->making_ns, most = 1;
    if (l->timed_ns > 0) /* a computing thread does not wait */
        most = 1 - (double)l->timed_cpu_ns / (double)l->timed_ns;
    share = share < most ? share : most; /* samples extend beyond the time in
                                            which batches are made */
    return share > 0 ? 100 * share : 0;
}

int64_t query_awaits_starved(const struct facts *f, const struct query_loader *l)
{
    int64_t idle = f->breakdown_ns[PART_IDLE_INPUT];
    return query_starved_pct(l) >= QUERY_STARVED_PCT && share_pct(f, idle) * QUERY_WORTH >= 100
               ? idle
               : 0;
}

bool query_report_workers_not_thread(const struct facts *f, const struct query_loader *l)
{
    int64_t idle = query_awaits_starved(f, l);
    return idle > 0 && idle * 100 >= query_awaits_host(f) * QUERY_SPEAK_PCT &&
           !analysis_of_window(f);
}

int64_t query_elsewhere_ns(const struct query_loader *l)
{
    int64_t queue = l->run_queue_ns > 0 ? l->run_queue_ns : 0;
    int64_t ns = l->making_ns - l->cpu_ns - queue;
    return ns > 0 ? ns : 0;
}

bool query_waits_for_files(const struct query_loader *l)
{
    return l->sampled && l->cpu_ns >= 0 && query_elsewhere_ns(l) * 2 >= l->making_ns;
}

double query_limited_pct(const struct facts *f)
{
    const char *periods = timeline_meta(f->tl, "cgroup_cpu_periods");
    const char *throttled = timeline_meta(f->tl, "cgroup_cpu_throttled_periods");
    double n = periods ? strtod(periods, NULL) : 0;
    return n >= QUERY_PERIODS && throttled ? 100 * strtod(throttled, NULL) / n : -1;
}

const char *query_batches_sql(const struct facts *f, struct arena *arena)
{
    const char *sql = "SELECT r.* FROM range r JOIN string s ON s.id = r.name WHERE";
    for (size_t i = 0; i < f->tl->loader_count; i++)
        if (f->tl->loaders[i].what == SPOOL_LOADER_FETCH)
            return "SELECT * FROM loader_span WHERE what = 1";
    for (size_t i = 0; input_makers[i]; i++)
        sql =
            arena_printf(arena, "%s%s s.text LIKE '%%%s%%'", sql, i ? " OR" : "", input_makers[i]);
    return sql;
}
