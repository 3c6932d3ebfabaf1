/* Finds when workers delivered each batch, using only the waits for batches. */
#include "analyzer/queries/input/delivery.h"

#include "analyzer/measure/input.h"
#include "analyzer/queries/query.h"
#include "analyzer/timeline/name_test.h"

#include <math.h>
#include <string.h>

static bool awaits_workers(const char *name)
{
    return strstr(name, "_MultiProcessingDataLoaderIter") != NULL;
}

/* Appends a wait; -1: out of memory. */
static int add(struct deliveries *d, int64_t from_ns, int64_t to_ns)
{
    if (d->n && from_ns < d->at[d->n - 1].to_ns)
        return 0; /* nested in the previous one */
    struct delivery *x = vec_push(d);
    if (x)
        *x = (struct delivery){from_ns, to_ns, 0};
    return x ? 0 : -1;
}

/* Adds the ranges that wait for workers. *others: there are other ranges of data
 * loading. -1: out of memory. */
static int take_ranges(struct deliveries *d, const struct facts *f, bool *others)
{
    const struct timeline *t = f->tl;
    const struct thread *th = &t->threads[f->steps.main_thread];
    struct name_test awaits = name_test_open(t, awaits_workers);
    struct name_test input = name_test_open(t, input_name);
    int rc = 0;
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges && rc == 0; i++) {
        uint32_t name = t->ranges[i].name;
        if (name_test(&awaits, name))
            rc = add(d, t->ranges[i].start_ns, t->ranges[i].end_ns);
        else
            *others |= name_test(&input, name);
    }
    name_test_close(&awaits);
    name_test_close(&input);
    return rc;
}

/* True for system calls that sleep until another thread or process acts. read() is not among them,
 * because it may read a file. */
static bool sleeps(const char *call)
{
    static const char *const prefix[] = {"poll",  "ppoll", "select", "epoll_",       "sem_wait",
                                         "sem_t", "sem_c", "futex",  "pthread_cond_"};
    for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++)
        if (strncmp(call, prefix[i], strlen(prefix[i])) == 0)
            return true;
    return false;
}

/* True if the thread sleeps during more than half of the span. `next` is a cursor in os_calls. */
static bool slept(const struct timeline *t, uint32_t thread, const struct span *in, size_t *next)
{
    int64_t asleep_ns = 0;
    while (*next < t->os_call_count && t->os_calls[*next].start_ns < in->start_ns)
        ++*next;
    for (; *next < t->os_call_count && t->os_calls[*next].start_ns < in->end_ns; ++*next) {
        const struct row_range *c = &t->os_calls[*next];
        if (timeline_thread_index(t, c->thread) == thread && sleeps(tl_text(t, c->name)))
            asleep_ns += c->end_ns - c->start_ns;
    }
    return asleep_ns * 2 > in->end_ns - in->start_ns;
}

/* For recordings without such ranges: adds the stretches of data loading in which the thread sleeps
 * in system calls. -1: out of memory. */
static int take_os_waits(struct deliveries *d, const struct facts *f)
{
    struct spans all = {0};
    size_t next = 0;
    int rc = input_spans(&all, f->tl, f->steps.main_thread, !analysis_of_window(f));
    for (size_t i = 0; i < all.n && rc == 0; i++)
        if (slept(f->tl, f->steps.main_thread, &all.at[i], &next))
            rc = add(d, all.at[i].start_ns, all.at[i].end_ns);
    spans_release(&all);
    return rc;
}

static bool awaited(const struct delivery *x)
{
    return x->to_ns - x->from_ns >= QUERY_AWAITED_NS;
}

/* True if workers set the pace between the first used step and the last: enough
 * of the waits are long. */
static bool workers_set_pace(const struct deliveries *d, const struct facts *f)
{
    size_t waits = 0, taken = 0;
    int64_t waited_ns = 0, steps_ns = 0, from_ns = INT64_MAX, to_ns = INT64_MIN;
    for (size_t i = 0; i < f->steps.count; i++) {
        const struct step *s = &f->steps.at[i];
        if (!s->used)
            continue;
        steps_ns += s->end_ns - s->start_ns;
        from_ns = s->start_ns < from_ns ? s->start_ns : from_ns;
        to_ns = s->end_ns > to_ns ? s->end_ns : to_ns;
    }
    for (size_t i = 0; i < d->n; i++) {
        const struct delivery *x = &d->at[i];
        if (x->to_ns <= from_ns || x->from_ns >= to_ns)
            continue;
        taken++;
        waits += awaited(x);
        waited_ns += awaited(x) ? x->to_ns - x->from_ns : 0;
    }
    size_t enough = taken < QUERY_AWAITED_MIN ? taken : QUERY_AWAITED_MIN;
    return taken >= QUERY_BATCHES_MIN && waits >= enough && waits * QUERY_AWAITED_EVERY >= taken &&
           (double)waited_ns * 100 >= (double)steps_ns * QUERY_HELD_UP_PCT;
}

/* Sets made_ns. An awaited batch was ready when the wait ended. Batches taken without a wait were
 * ready earlier: they are spread evenly between the waits before and after them. */
static void set_made_times(struct deliveries *d)
{
    size_t last = 0;
    for (size_t i = 0; i < d->n; i++) {
        struct delivery *x = &d->at[i];
        x->made_ns = awaited(x) ? x->to_ns : x->from_ns;
        if (!awaited(x) || i == 0)
            continue;
        const struct delivery *before = &d->at[last];
        for (size_t k = last + 1; awaited(before) && k < i; k++) {
            double share = (double)(k - last) / (double)(i - last);
            int64_t even =
                before->made_ns + (int64_t)(share * (double)(x->made_ns - before->made_ns));
            d->at[k].made_ns = even < d->at[k].from_ns ? even : d->at[k].from_ns;
        }
        last = i;
    }
}

int query_deliveries(const struct facts *f, struct deliveries *d)
{
    bool others = false;
    *d = (struct deliveries){0};
    if (f->tl->loader_count || f->steps.main_thread >= f->tl->thread_count)
        return 0;
    int rc = take_ranges(d, f, &others);
    if (rc == 0 && d->n == 0 && !others && f->tl->os_call_count)
        rc = take_os_waits(d, f);
    if (rc == 0 && d->n && workers_set_pace(d, f))
        set_made_times(d);
    else
        query_deliveries_release(d);
    return rc;
}

/* The median time that taking a ready batch costs at most, for batches of this size. */
static double ready_cost_ns(const struct facts *f)
{
    struct query_copies pageable = query_h2d(f, MEMORY_PAGEABLE),
                        pinned = query_h2d(f, MEMORY_PINNED);
    double steps = f->steps.used ? (double)f->steps.used : 1;
    return QUERY_READY_NS + QUERY_READY_PER_BYTE * (double)(pageable.bytes + pinned.bytes) / steps;
}

/* *slope: by how much the wait for a batch changes if the program asks 1 ns later. -1: the batch
 * arrives at a fixed time, whenever it is requested; 0: taking it costs the same at any time.
 * Least-squares slope over the batches; *error: QUERY_SLOPE_ERRORS standard errors. False: too few
 * batches, or the program always asks equally late. */
static bool slope_of(const struct deliveries *d, double *slope, double *error)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    for (size_t i = 1; i < d->n; i++) {
        double asked = (double)(d->at[i].from_ns - d->at[i - 1].to_ns);
        double waited = (double)(d->at[i].to_ns - d->at[i].from_ns);
        n++, x += asked, y += waited;
        xx += asked * asked, xy += asked * waited, yy += waited * waited;
    }
    double var = xx - x * x / n, left;
    if (n < QUERY_SLOPE_MIN || var <= 0)
        return false;
    *slope = (xy - x * y / n) / var;
    left = yy - y * y / n - *slope * *slope * var;
    *error = QUERY_SLOPE_ERRORS * sqrt(fmax(left, 0) / (n - 2) / var);
    return true;
}

enum delivery_reading query_delivery_reading(const struct facts *f, const struct deliveries *d)
{
    double waited = 0, slope, error, halfway = -0.5;
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++)
        if (awaited(&d->at[i])) {
            waited += (double)(d->at[i].to_ns - d->at[i].from_ns);
            n++;
        }
    if (n == 0 || waited / (double)n > ready_cost_ns(f))
        return DELIVERY_LIMITS;
    if (!slope_of(d, &slope, &error) || fabs(slope - halfway) <= error)
        return DELIVERY_EITHER;
    return slope < halfway ? DELIVERY_LIMITS : DELIVERY_COSTS;
}

void query_deliveries_release(struct deliveries *d)
{
    vec_release(d);
    *d = (struct deliveries){0};
}

double query_workers_lack(const struct facts *f)
{
    struct deliveries d;
    int64_t rest = f->step_ns - f->breakdown_ns[PART_IDLE_INPUT];
    bool limits =
        query_deliveries(f, &d) == 0 && d.n && query_delivery_reading(f, &d) == DELIVERY_LIMITS;
    query_deliveries_release(&d);
    return limits && rest > 0 ? (double)f->step_ns / (double)rest : 0;
}
