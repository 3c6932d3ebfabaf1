/* bench_few_steps: measures how well one to three recorded steps predict what all recorded steps
 * predict.
 *
 * bench_few_steps [-v] FILE...: each recording with at least five marked steps is cut to one, two
 * and three of its steps, as if a profiler had recorded only these, and is analysed. The benchmark
 * compares the savings predicted from the cut with those predicted from all steps, in percent of a
 * step. It prints a row for each number of steps: how far the two differ, whether the interval from
 * few steps contains the value from all, and whether the value from few lies in the interval from
 * all. -v also prints a row for each pair of predictions. */
#include "analyzer/advice/advice.h"
#include "analyzer/import/import.h"
#include "analyzer/timeline/timeline.h"
#include "base/order.h"
#include "base/vec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 3, CUTS = 6, LEAST_STEPS = 5 };

struct launch {
    int64_t process, correlation, start_ns;
};

/* A sink in front of a timeline that passes only rows in [start, end). */
struct cut {
    struct sink to;
    int64_t start_ns, end_ns;
    struct VEC(struct launch) launches; /* the launches of the whole recording, sorted */
    bool learns; /* in the first reading: fills `launches` and passes every row */
};

struct pair { /* one rule's saving from all steps and from few steps, as shares of the step */
    double all_low, all, all_high, low, mid, high;
    int steps;
};

static struct VEC(struct pair) pairs;
static bool verbose;

static int by_launch(const void *a, const void *b)
{
    const struct launch *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

static bool inside(const struct cut *c, int64_t ns)
{
    return ns >= c->start_ns && ns < c->end_ns;
}

/* True if GPU work belongs to the cut. It belongs where its launch lies. If the launch is unknown
 * or lies before the cut, it belongs where the work runs: a profiler that starts in the middle of a
 * loop records the GPU finishing what was launched before. */
static bool work_inside(const struct cut *c, int64_t process, int64_t correlation, int64_t start_ns,
                        int64_t end_ns)
{
    struct launch key = {process, correlation, 0};
    const struct launch *l =
        correlation ? bsearch(&key, c->launches.at, c->launches.n, sizeof key, by_launch) : NULL;
    if (l && l->start_ns >= c->start_ns)
        return l->start_ns < c->end_ns;
    return end_ns > c->start_ns && (l || start_ns < c->end_ns);
}

#define BY_START(type)                                                                             \
    {                                                                                              \
        const struct type *r = row;                                                                \
        return inside(c, r->start_ns);                                                             \
    }
#define BY_WORK(type)                                                                              \
    {                                                                                              \
        const struct type *r = row;                                                                \
        return work_inside(c, r->process, r->correlation, r->start_ns, r->end_ns);                 \
    }

static bool passes(const struct cut *c, enum row_kind kind, const void *row)
{
    switch (kind) {
    case ROW_KERNEL:
        BY_WORK(row_kernel)
    case ROW_COPY:
        BY_WORK(row_copy)
    case ROW_MEMSET:
        BY_WORK(row_memset)
    case ROW_SYNC:
        BY_WORK(row_sync)
    case ROW_API:
        BY_START(row_api)
    case ROW_RANGE:
        BY_START(row_range)
    case ROW_CALL:
        BY_START(row_call)
    case ROW_LOADER:
        BY_START(row_loader)
    case ROW_COLLECTIVE:
        BY_START(row_collective)
    case ROW_OVERHEAD:
        BY_START(row_overhead)
    case ROW_EVENT: {
        const struct row_event *r = row;
        return work_inside(c, r->process, r->correlation, INT64_MAX, INT64_MIN);
    }
    case ROW_HOST_SAMPLE:
        return inside(c, ((const struct row_host_sample *)row)->time_ns);
    case ROW_GPU_SAMPLE:
        return inside(c, ((const struct row_gpu_sample *)row)->time_ns);
    case ROW_RECORDED:
    case ROW_STEP_BLOCK:
        return false;
    default:
        return true;
    }
}

static uint32_t cut_intern(void *self, const char *s, size_t n)
{
    struct cut *c = self;
    return c->to.intern(c->to.self, s, n);
}

static int cut_put(void *self, enum row_kind kind, const void *row, struct err *e)
{
    struct cut *c = self;
    if (c->learns && kind == ROW_API) {
        const struct row_api *r = row;
        struct launch *l = vec_push(&c->launches);
        if (!l)
            return err_no_memory(e);
        *l = (struct launch){r->process, r->correlation, r->start_ns};
    }
    return c->learns || passes(c, kind, row) ? c->to.put(c->to.self, kind, row, e) : 0;
}

static struct advice *analyse(const char *path, struct cut *c, struct timeline **t)
{
    struct err e = ERR_INIT;
    *t = timeline_new(&e);
    if (!*t)
        return NULL;
    c->to = timeline_sink(*t);
    struct sink sink = {.self = c, .intern = cut_intern, .put = cut_put};
    struct advice *a = NULL;
    if (import_paths(&path, 1, &sink, &e) == 0 && timeline_finish(*t, &e) == 0)
        a = advise_predicted(*t, NULL, &e);
    if (a)
        return a;
    fprintf(stderr, "%s: %s\n", path, e.text);
    timeline_free(*t);
    return NULL;
}

static bool predicted(const struct outcome *o)
{
    return (o->verdict == RULE_FIRES || o->verdict == RULE_SUPPRESSED) && !o->upper_bound &&
           o->edit.kind && o->saves_high_ns > 0;
}

static double share(const struct advice *a, int64_t ns)
{
    return 100 * (double)ns / (double)a->facts->steps.median_ns;
}

static void compare(const char *path, const struct advice *all, const struct advice *few, int steps)
{
    for (size_t i = 0; i < all->outcome_count; i++) {
        const struct outcome *x = &all->outcomes[i], *y = &few->outcomes[i];
        if (!predicted(x) || !predicted(y))
            continue;
        struct pair *p = vec_push(&pairs);
        if (!p)
            exit(1);
        *p = (struct pair){share(all, x->saves_low_ns),
                           share(all, x->saves_mid_ns),
                           share(all, x->saves_high_ns),
                           share(few, y->saves_low_ns),
                           share(few, y->saves_mid_ns),
                           share(few, y->saves_high_ns),
                           steps};
        if (verbose)
            printf("%s\t%d\t%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\n", path, steps, x->rule->id,
                   p->all_low, p->all, p->all_high, p->low, p->mid, p->high);
    }
}

static void cut_one(const char *path, struct cut *c, const struct advice *all, size_t first,
                    int steps)
{
    struct timeline *t;
    const struct step *s = all->facts->steps.at;
    c->learns = false;
    c->start_ns = s[first].start_ns;
    c->end_ns = s[first + (size_t)steps - 1].end_ns;
    struct advice *few = analyse(path, c, &t);
    if (!few)
        return;
    if (few->whatif.trusted)
        compare(path, all, few, steps);
    else if (verbose)
        printf("%s\t%d\t%zu\t%s\n", path, steps, first,
               few->whatif.why_not ? few->whatif.why_not : "");
    advice_free(few);
    timeline_free(t);
}

static bool all_used(const struct steps *s, size_t first, size_t n)
{
    for (size_t i = first; i < first + n; i++)
        if (!s->at[i].used)
            return false;
    return true;
}

static void cut_file(const char *path)
{
    struct timeline *t;
    struct cut c = {.learns = true};
    struct advice *a = analyse(path, &c, &t);
    if (!a)
        return;
    qsort(c.launches.at, c.launches.n, sizeof *c.launches.at, by_launch);
    const struct steps *s = &a->facts->steps;
    bool marked = s->source == STEPS_NVTX || s->source == STEPS_FRAMEWORK;
    if (a->whatif.trusted && marked && s->used >= LEAST_STEPS)
        for (size_t k = 1; k <= MOST_STEPS; k++)
            for (size_t i = 0, every = s->count / CUTS + 1; i + k <= s->count; i += every)
                if (all_used(s, i, k))
                    cut_one(path, &c, a, i, (int)k);
    vec_release(&c.launches);
    advice_free(a);
    timeline_free(t);
}

static void summary(int steps)
{
    size_t n = 0, holds = 0, lies = 0;
    double *off = calloc(pairs.n + 1, sizeof *off);
    for (size_t i = 0; off && i < pairs.n; i++) {
        const struct pair *p = &pairs.at[i];
        if (p->steps != steps)
            continue;
        off[n++] = fabs(p->mid - p->all);
        holds += p->all >= p->low && p->all <= p->high;
        lies += p->mid >= p->all_low && p->mid <= p->all_high;
    }
    if (n) {
        qsort(off, n, sizeof *off, order_double);
        printf(
            "%d step%s: %zu predictions, apart by %.2f points (median), %.2f (90 %%), %.2f (most); "
            "the interval from few holds the value from all in %.1f %%; the value from few lies "
            "in the interval from all in %.1f %%\n",
            steps, steps == 1 ? "" : "s", n, off[n / 2], off[n * 9 / 10], off[n - 1],
            100.0 * (double)holds / (double)n, 100.0 * (double)lies / (double)n);
    }
    free(off);
}

int main(int argc, char **argv)
{
    int first = 1;
    if (argc > 1 && strcmp(argv[1], "-v") == 0)
        verbose = first++;
    for (int i = first; i < argc; i++)
        cut_file(argv[i]);
    for (int k = 1; k <= MOST_STEPS; k++)
        summary(k);
    vec_release(&pairs);
    return 0;
}
