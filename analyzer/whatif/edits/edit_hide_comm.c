/* The edit "hide-comm": collectives run beside the backward pass, in buckets. It replays one rank;
 * the effect of the other ranks is contained in the recorded durations of its collectives. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/queries/ranks/comm.h"

#include <stdlib.h>

/* One run of a kernel: which kernel (name and blocks), whether it ran beside a collective, and how
 * long. */
struct seen {
    uint64_t which;
    bool beside;
    int64_t ns;
};

static uint64_t which_kernel(const struct op *o)
{
    uint64_t blocks = (uint64_t)o->grid[0] * 31 + (uint64_t)o->grid[1] * 17 + o->grid[2];
    return (uint64_t)o->full_name << 32 | (blocks & UINT32_MAX);
}

static int by_kernel(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    if (x->which != y->which)
        return x->which < y->which ? -1 : 1;
    if (x->beside != y->beside)
        return x->beside ? 1 : -1;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Returns by which factor kernels take longer beside collectives than alone: over all kernels that
 * were seen at least five times each way. 0 = too few. */
static double contention(const struct seen *v, size_t n)
{
    double beside_ns = 0, alone_ns = 0;
    for (size_t i = 0, beside, end; i < n; i = end) {
        for (beside = i; beside < n && v[beside].which == v[i].which && !v[beside].beside;)
            beside++;
        for (end = beside; end < n && v[end].which == v[i].which;)
            end++;
        if (beside - i < 5 || end - beside < 5)
            continue;
        double times = (double)(end - beside);
        beside_ns += times * (double)v[beside + (end - beside) / 2].ns;
        alone_ns += times * (double)v[i + (beside - i) / 2].ns;
    }
    return alone_ns > 0 ? beside_ns / alone_ns : 0;
}

static double measured_contention(const struct graph *g)
{
    struct seen *v = malloc((g->count + 1) * sizeof *v);
    size_t n = 0;
    int64_t busy_until = INT64_MIN;
    /* launch order, which is nearly the order of time */
    for (uint32_t i = 0; v && i < g->recorded; i++) {
        const struct op *o = edit_op(g, i);
        if (!o)
            continue;
        if (g->tasks[i].kind == TASK_COLL && o->end_ns > busy_until)
            busy_until = o->end_ns;
        else if (g->tasks[i].kind == TASK_KERNEL)
            v[n++] =
                (struct seen){which_kernel(o), o->end_ns <= busy_until, o->end_ns - o->start_ns};
    }
    if (n)
        qsort(v, n, sizeof *v, by_kernel);
    double by = contention(v, n);
    free(v);
    return by;
}

/* Shares of a step's communication time: of its last collective, and of its largest. */
struct shares {
    double last, largest;
};

/* Sums over all steps the time of each step's last collective, its largest and all of them. */
static struct shares step_shares(const struct graph *g)
{
    double all = 0, last = 0, largest = 0;
    int64_t newest = 0, most = 0, began = INT64_MIN;
    uint32_t step = TL_NONE;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        const struct op *o = edit_op(g, i);
        if (!o || !edit_exchange(g, i))
            continue;
        if (t->step != step) {
            last += (double)newest;
            largest += (double)most;
            newest = most = 0;
            began = INT64_MIN;
        }
        int64_t ns = o->end_ns - o->start_ns;
        step = t->step;
        all += (double)ns;
        most = ns > most ? ns : most;
        newest = o->start_ns >= began ? ns : newest;
        began = o->start_ns >= began ? o->start_ns : began;
    }
    return all > 0 ? (struct shares){(last + (double)newest) / all, (largest + (double)most) / all}
                   : (struct shares){1, 1};
}

/* Returns the share of a step's bytes that the last bucket holds if PyTorch divides the gradients
 * as it does by default: a first bucket of 1 MiB, then buckets of 25 MiB. It may be less, because
 * parameters are not split. 0 = sizes are not known. */
static double last_bucket(const struct graph *g)
{
    const struct timeline *t = g->a->tl;
    double bytes = 0, mib = 1024 * 1024;
    for (size_t i = 0; i < t->collective_count; i++) {
        const struct collective *c = &t->collectives[i];
        if (c->op != TL_NONE && c->row.bytes > 0 && query_used(g->a, c->op))
            bytes += (double)c->row.bytes;
    }
    bytes /= g->a->steps.used ? (double)g->a->steps.used : 1;
    if (bytes <= mib)
        return 0;
    double rest = bytes - mib, over = rest - 25 * mib * (double)(int64_t)(rest / (25 * mib));
    return over / bytes;
}

/* Returns the share of the communication that cannot be hidden because the backward pass is over,
 * or nearly, when it starts: the last collective and perhaps the largest, which waits for many
 * layers. If one collective moves nearly everything, it is the last bucket into which that would be
 * split, or ASSUMED_LAST_UNKNOWN if its size is not known. */
static double unhidden(const struct graph *g, const struct draw *d)
{
    struct shares s = step_shares(g);
    double bucket = last_bucket(g), both = s.last + s.largest;
    if (s.largest < ASSUMED_ONE_BUCKET)
        return draw_between(d, 1, s.last, both < 1 && s.last < s.largest ? both : s.largest);
    return bucket > 0 ? draw_between(d, 1, ASSUMED_LAST_BUCKET * bucket, bucket)
                      : draw_span(d, 1, ASSUMED_LAST_UNKNOWN);
}

/* Shortens the collectives by what is hidden. What starts too late is not hidden (unhidden), nor
 * what exceeds the backward pass (ASSUMED_BACKWARD of the kernels). Hidden collectives slow down
 * the kernels beside them: by the measured factor, or else by ASSUMED_BESIDE_COMM. */
static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    (void)x;
    double comm = 0, compute = 0;
    double exposed = (double)query_exposed_comm(g->a); /* waiting for late ranks stays */
    for (uint32_t i = 0; i < g->count; i++) {
        comm += edit_exchange(g, i) ? (double)p->dur[i] : 0;
        compute += g->tasks[i].kind == TASK_KERNEL ? (double)p->dur[i] : 0;
    }
    const struct rank_facts *own = query_own_rank(g->a);
    comm /= (double)g->steps;
    compute /= (double)g->steps;
    if (own && own->comm_ns > own->wait_ns && (double)(own->comm_ns - own->wait_ns) < comm)
        comm = (double)(own->comm_ns - own->wait_ns); /* transfer, without waiting */
    double room = compute * draw_span(d, 0, ASSUMED_BACKWARD);
    double last = comm * unhidden(g, d);
    double slower = measured_contention(g);
    slower = slower > 0 ? slower : draw_span(d, 2, ASSUMED_BESIDE_COMM);
    double left = exposed - room > last ? exposed - room : last;
    double hidden = (exposed > left ? exposed - left : 0) * (slower > 2 ? 0 : 2 - slower);
    for (uint32_t i = 0; comm > 0 && i < g->count; i++)
        if (edit_exchange(g, i)) {
            double cut = (double)p->dur[i] * hidden / comm;
            p->dur[i] -= (int64_t)(cut < hidden ? cut : hidden);
        }
}

const struct edit_kind edit_hide_comm = {
    .name = "hide-comm",
    .apply = apply,
    .needs_events = true,
};
