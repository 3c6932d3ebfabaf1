/* Finds which rank waited for which, in the collectives of all groups in order of time. The last
 * rank to arrive is charged with the time from the median arrival to its own. It is not charged
 * twice: if it came late because it waited in another group, or because of lateness that another
 * group already charged it with, that time is subtracted. For this, its waits and its charges since
 * this group last met are compared with those of the median rank. Sends and receives charge no
 * rank: a stage of a pipeline always waits for the stage before it. Cost: O(n log n). */
#include "analyzer/facts/ranks/ranks.h"
#include "analyzer/facts/limits.h"

#include <stdlib.h>
#include <string.h>

struct delay {
    int64_t waited_ns, late_ns; /* sums in all groups so far */
    uint32_t step, place;       /* the current step, and how many of its
                                   collectives the member has passed */
    uint32_t late_step; /* step of its last charge that matters (FACTS_LATE_PART), or TL_NONE */
};

static int by_start(const void *a, const void *b)
{
    const struct arrival *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int by_time(const void *a, const void *b)
{
    const struct meet *x = a, *y = b;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->k > y->k) - (x->k < y->k);
}

size_t meet_arrivals(const struct facts *f, const struct members *m, const struct group *g,
                     size_t k, struct arrival *v)
{
    const struct op *ops = f->tl->ops;
    uint32_t name = ops[group_reference(m, g)->ops.at[k]].name;
    size_t n = 0;
    for (size_t i = g->first; i < g->first + g->count; i++) {
        const struct lineup *l = &m->lines.at[i];
        uint32_t op = l->matched ? lineup_at(l, k) : TL_NONE;
        if (op != TL_NONE && ops[op].name == name)
            v[n++] = (struct arrival){l->member, op, (uint32_t)i, ops[op].start_ns - l->offset_ns,
                                      ops[op].end_ns - l->offset_ns};
    }
    qsort(v, n, sizeof *v, by_start);
    return n;
}

/* ---- which collectives count ---- */

/* The step of the analysed process whose GPU time contains `at`, a time on that
 * process' clock; or TL_NONE. */
static uint32_t step_at(const struct steps *s, int64_t at)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (s->at[middle].to_ns <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->count && s->at[low].from_ns <= at ? (uint32_t)low : TL_NONE;
}

/* Index of a member of the analysed process whose clock is comparable with
 * the group's; m->n: none. */
static size_t analysed_beside(const struct facts *f, const struct members *m, const struct group *g)
{
    uint32_t clock = m->clock[group_reference(m, g)->member];
    size_t i = 0;
    while (i < m->n && (m->at[i].process != f->steps.process || m->clock[i] != clock))
        i++;
    return i;
}

/* True if the collective lies in a used step of the analysed process; *step: that step.
 * `beside` is a member of that process. Collectives whose clock is not comparable with it
 * count, too, with TL_NONE. */
static bool counts(const struct facts *f, const struct members *m, const struct group *g,
                   size_t beside, const struct arrival *v, size_t n, uint32_t *step)
{
    const struct steps *s = &f->steps;
    size_t own = 0;
    while (own < n && m->at[v[own].member].process != s->process)
        own++;
    *step = TL_NONE;
    if (own < n) {
        *step = s->op_step[v[own].op];
    } else {
        if (beside == m->n)
            return true;
        *step = step_at(s, v[n - 1].start_ns - m->at[group_reference(m, g)->member].offset_ns +
                               m->at[beside].offset_ns);
    }
    return *step != TL_NONE && s->at[*step].used;
}

/* Collects the collectives that count and at which at least two ranks arrived, sorted by the time
 * of the last arrival. -1: out of memory. */
static int find_meets(const struct facts *f, struct members *m, struct arrival *v)
{
    for (uint32_t i = 0; i < m->groups.n; i++) {
        const struct group *g = &m->groups.at[i];
        const struct lineup *r = group_reference(m, g);
        size_t beside = analysed_beside(f, m, g);
        for (uint32_t k = 0; k < r->ops.n; k++) {
            uint32_t step;
            size_t n = meet_arrivals(f, m, g, k, v);
            if (n < 2 || !counts(f, m, g, beside, v, n, &step))
                continue;
            struct meet *x = vec_push(&m->meets);
            if (!x)
                return -1;
            *x = (struct meet){v[n - 1].start_ns - m->at[r->member].offset_ns, i, k, step, 0};
        }
    }
    if (m->meets.n)
        qsort(m->meets.at, m->meets.n, sizeof *m->meets.at, by_time);
    return 0;
}

/* ---- one collective ---- */

/* How much of the time from the median arrival to the last one the last rank itself caused, and was
 * not charged with before. Since the group's previous meeting, a rank that waited less than the
 * median rank worked that much longer. */
static int64_t own_lateness(const struct members *m, const struct arrival *v, size_t n)
{
    const struct lineup *last = &m->lines.at[v[n - 1].line],
                        *mid = &m->lines.at[v[(n - 1) / 2].line];
    const struct delay *l = &m->delays[last->member], *d = &m->delays[mid->member];
    int64_t kept = v[n - 1].start_ns - v[(n - 1) / 2].start_ns;
    if (last->pairs)
        return 0;
    int64_t waited = (l->waited_ns - last->waited_ns) - (d->waited_ns - mid->waited_ns);
    int64_t charged = (l->late_ns - last->late_ns) - (d->late_ns - mid->late_ns);
    int64_t own = kept - waited - charged;
    return own < 0 ? 0 : own < kept ? own : kept;
}

/* True if the kernel started long after its launch: the GPU was still busy with earlier work. */
static bool was_queued(const struct timeline *t, uint32_t op)
{
    uint32_t api = t->ops[op].api;
    return api != TL_NONE && t->ops[op].start_ns - t->apis[api].end_ns > FACTS_QUEUED_NS;
}

/* Counts ranks that arrive together behind the others: two or more, at most half of all, after a
 * pause that is at least half of the time from the first to the last arrival. */
static void count_joint_lateness(struct members *m, const struct arrival *v, size_t n)
{
    size_t first = n;
    int64_t widest = 0;
    for (size_t i = n - n / 2; i < n; i++)
        if (v[i].start_ns - v[i - 1].start_ns > widest) {
            widest = v[i].start_ns - v[i - 1].start_ns;
            first = i;
        }
    if (n - first < 2 || widest * 2 < v[n - 1].start_ns - v[0].start_ns)
        return;
    for (size_t i = first; i < n; i++) {
        m->at[v[i].member].group_count++;
        m->at[v[i].member].group_ns += widest;
    }
}

/* Charges the last rank with the lateness that it caused itself. False, and no charge, if that is
 * less than half of its lateness, or if the collective is a send or receive. */
static bool charge(struct facts *f, struct members *m, struct meet *x, const struct arrival *v,
                   size_t n)
{
    const struct arrival *last = &v[n - 1];
    struct rank_facts *late = &m->at[last->member];
    struct delay *d = &m->delays[last->member];
    int64_t kept = last->start_ns - v[(n - 1) / 2].start_ns, own_ns = own_lateness(m, v, n);
    if (m->lines.at[last->line].pairs || own_ns * 2 < kept)
        return false;
    x->own_ns = own_ns;
    late->late_ns += own_ns;
    late->late_queued_ns += was_queued(f->tl, last->op) ? own_ns : 0;
    late->late_count++;
    d->late_ns += own_ns;
    if (own_ns * FACTS_LATE_PART > f->step_ns && x->step != TL_NONE && x->step != d->late_step) {
        d->late_step = x->step;
        late->late_steps++;
    }
    return true;
}

/* Adds the time that one rank spent in the collective and the time that it waited
 * there. Returns its wait. */
static int64_t take_part(struct facts *facts, struct members *m, const struct arrival *v,
                         int64_t last_ns)
{
    struct rank_facts *f = &m->at[v->member];
    struct ranks *r = &facts->ranks;
    const struct op *o = &facts->tl->ops[v->op];
    int64_t length = o->end_ns - o->start_ns, wait = last_ns - v->start_ns;
    if (wait > length)
        wait = length; /* a send or receive may end before the last rank arrives */
    f->comm_ns += length;
    f->wait_ns += wait;
    int64_t exposed = wait - spans_covered(&m->compute[v->member], o->start_ns, o->start_ns + wait);
    f->wait_exposed_ns += exposed;
    f->model_wait_ns += o->comm == COMM_GRADIENTS ? 0 : exposed;
    f->matched++;
    if (wait > r->worst_ns) {
        r->worst_ns = wait;
        r->worst_op = v->op;
    }
    return wait;
}

/* Notes what the member waited and was charged with up to this collective, so that the group's next
 * collective does not charge it again. */
static void remember(struct members *m, const struct arrival *v, int64_t wait_ns, uint32_t step)
{
    struct lineup *l = &m->lines.at[v->line];
    struct delay *d = &m->delays[v->member];
    d->waited_ns += wait_ns;
    d->place = d->step == step ? d->place + 1 : 1;
    d->step = step;
    l->waited_ns = d->waited_ns;
    l->late_ns = d->late_ns;
}

/* Evaluates one collective; v: at least two arrivals, sorted by start. */
static void evaluate_collective(struct facts *f, struct members *m, struct meet *x,
                                const struct arrival *v, size_t n)
{
    struct group *g = &m->groups.at[x->group];
    const struct arrival *last = &v[n - 1];
    struct ranks *r = &f->ranks;
    int64_t first_end = last->end_ns;
    if (charge(f, m, x, v, n)) {
        count_joint_lateness(m, v, n);
        g->late_ns += x->own_ns;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t wait = take_part(f, m, &v[i], last->start_ns);
        first_end = v[i].end_ns < first_end ? v[i].end_ns : first_end;
        g->comm_ns += f->tl->ops[v[i].op].end_ns - f->tl->ops[v[i].op].start_ns;
        g->wait_ns += wait;
        remember(m, &v[i], wait, x->step);
    }
    if (m->groups.n == 1)
        heat_add(f, m, v, n);
    else if (x->own_ns > 0)
        heat_charge(f, last->member, x->step, m->delays[last->member].place - 1, x->own_ns);
    g->collectives++;
    r->collectives++;
    if (first_end > last->start_ns)
        r->transfer_ns += (first_end - last->start_ns) * (int64_t)n;
}

int meet_all(struct facts *f, struct members *m)
{
    struct arrival *v = malloc((m->n + 1) * sizeof *v);
    m->delays = malloc((m->n + 1) * sizeof *m->delays);
    int rc = v && m->delays ? find_meets(f, m, v) : -1;
    for (size_t i = 0; rc == 0 && i < m->n; i++)
        m->delays[i] = (struct delay){.step = TL_NONE, .late_step = TL_NONE};
    for (size_t i = 0; rc == 0 && i < m->meets.n; i++) {
        struct meet *x = &m->meets.at[i];
        size_t n = meet_arrivals(f, m, &m->groups.at[x->group], x->k, v);
        evaluate_collective(f, m, x, v, n);
    }
    free(m->delays);
    m->delays = NULL;
    free(v);
    return rc;
}
