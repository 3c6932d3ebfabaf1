/* Several ranks: clocks put right by the ends of matched collectives, then, for each collective,
 * waiting (until the last rank has arrived) told apart from transfer (after that). A rank that
 * comes last is charged with the time for which it kept the others: from the median arrival of the
 * others to its own. Every figure is a sum over collectives, so that summaries of ranks add up.
 * Cost: one pass over the ops, O(log n) a collective and rank. */
#include "analyzer/facts/ranks.h"

#include <stdlib.h>
#include <string.h>

static bool is_collective(const struct op *o)
{
    return o->kind == OP_KERNEL && o->class.family == FAMILY_COMM;
}

/* ---- who takes part ---- */

static int by_rank(const void *a, const void *b)
{
    const struct rank_facts *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->device > y->device) - (x->device < y->device);
}

/* GPUs that run collectives. -1: out of memory. */
static int find_members(struct facts *f, struct members *m)
{
    const struct timeline *t = f->tl;
    bool *seen = calloc(t->device_count + 1, sizeof *seen);
    m->at = arena_array(&f->arena, t->device_count, sizeof *m->at);
    if (!seen || !m->at) {
        free(seen);
        return -1;
    }
    for (uint32_t i = 0; i < t->op_count; i++)
        if (is_collective(&t->ops[i]) && !seen[tl_op_device(t, i)]) {
            const struct stream *s = &t->streams[t->ops[i].stream];
            seen[s->device] = true;
            m->at[m->n++] = (struct rank_facts){
                .rank = t->processes[s->process].rank, .process = s->process, .device = s->device};
        }
    free(seen);
    qsort(m->at, m->n, sizeof *m->at, by_rank);
    bool numbered = true;
    for (size_t i = 0; i < m->n; i++)
        numbered = numbered && m->at[i].rank >= 0 && (i == 0 || m->at[i].rank > m->at[i - 1].rank);
    for (size_t i = 0; !numbered && i < m->n; i++)
        m->at[i].rank = (int64_t)i;
    return 0;
}

static struct lineup *line_of(struct members *m, uint32_t member, int64_t group)
{
    for (size_t i = 0; i < m->lines.n; i++)
        if (m->lines.at[i].member == member && m->lines.at[i].group == group)
            return &m->lines.at[i];
    struct lineup *l = vec_push(&m->lines);
    if (l)
        *l = (struct lineup){.member = member, .group = group};
    return l;
}

/* What is recorded of each op that is a collective; TL_NONE: nothing. Caller frees. */
static uint32_t *recorded_collectives(const struct timeline *t)
{
    uint32_t *of = malloc((t->op_count + 1) * sizeof *of);
    for (size_t i = 0; of && i < t->op_count; i++)
        of[i] = TL_NONE;
    for (uint32_t i = 0; of && i < t->collective_count; i++)
        if (t->collectives[i].op != TL_NONE)
            of[t->collectives[i].op] = i;
    return of;
}

/* A communicator's number, where all of it is recorded; else the number of its stream. */
static int64_t group_of(const struct timeline *t, uint32_t op, const struct collective *c)
{
    if (c && c->row.communicator != 0 && c->row.communicator != -1)
        return c->row.communicator;
    return t->streams[t->ops[op].stream].row.stream;
}

/* Numbers of a communicator's collectives are used only when they run on without a hole. */
static void number_line(struct lineup *l, const struct collective *c)
{
    int64_t sequence = c ? c->row.sequence : 0;
    if (l->ops.n == 1)
        l->first_sequence = sequence > 0 ? sequence : 0;
    else if (l->first_sequence && sequence != l->first_sequence + (int64_t)l->ops.n - 1)
        l->first_sequence = 0;
}

/* Where communicators are not recorded, each runs on a stream of its own, which has the same number
 * on every rank of one program. A rank with a single such stream has a single communicator. */
static int one_group(const struct members *m)
{
    for (size_t i = 0; i < m->lines.n; i++)
        for (size_t j = 0; j < i; j++)
            if (m->lines.at[i].member == m->lines.at[j].member)
                return 0;
    return 1;
}

/* Line-ups of collectives, and when each member computes. -1: out of memory. */
static int line_up(const struct timeline *t, struct members *m)
{
    uint32_t *member = malloc((t->device_count + 1) * sizeof *member);
    uint32_t *recorded = recorded_collectives(t);
    int rc = member && recorded ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < t->device_count; i++)
        member[i] = TL_NONE;
    for (uint32_t i = 0; rc == 0 && i < m->n; i++)
        member[m->at[i].device] = i;
    for (uint32_t i = 0; rc == 0 && i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        uint32_t k = member[tl_op_device(t, i)];
        if (k == TL_NONE || o->kind != OP_KERNEL)
            continue;
        if (!is_collective(o)) {
            rc = spans_add(&m->compute[k], o->start_ns, o->end_ns);
            continue;
        }
        const struct collective *c = recorded[i] == TL_NONE ? NULL : &t->collectives[recorded[i]];
        struct lineup *l = line_of(m, k, group_of(t, i, c));
        uint32_t *slot = l ? vec_push(&l->ops) : NULL;
        rc = slot ? 0 : -1;
        if (slot) {
            *slot = i;
            number_line(l, c);
        }
    }
    free(member);
    free(recorded);
    for (size_t i = 0; rc == 0 && i < m->n; i++)
        rc = spans_index(&m->compute[i]);
    if (rc == 0 && one_group(m))
        for (size_t i = 0; i < m->lines.n; i++)
            m->lines.at[i].group = 0;
    return rc;
}

/* ---- who waited for whom ---- */

static int by_start(const void *a, const void *b)
{
    const struct arrival *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* What arrival v[i] waits less once the last comes with the one before it. */
static int keep_wait(const struct facts *f, struct members *m, const struct arrival *v, size_t n,
                     size_t i)
{
    const struct op *o = &f->tl->ops[v[i].op];
    int64_t length = o->end_ns - o->start_ns;
    int64_t now = v[n - 1].start_ns - v[i].start_ns, then = v[n - 2].start_ns - v[i].start_ns;
    if (m->at[v[i].member].process != f->steps.process || i + 1 == n || then >= length)
        return 0;
    struct late_wait *w = vec_push(&m->waits);
    if (w)
        *w = (struct late_wait){v[i].op, m->at[v[n - 1].member].device,
                                (now < length ? now : length) - then};
    return w ? 0 : -1;
}

enum { QUEUED_NS = 100000 }; /* launched so long before it began: held up on the GPU */
static bool was_queued(const struct timeline *t, uint32_t op)
{
    uint32_t api = t->ops[op].api;
    return api != TL_NONE && t->ops[op].start_ns - t->apis[api].end_ns > QUEUED_NS;
}

/* Ranks that come together, behind the others: half of them at most, and at least half of the time
 * from the first arrival to the last lies before them. */
static void note_group(struct members *m, const struct arrival *v, size_t n)
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

/* One collective; v in order of arrival, two or more. -1: out of memory. */
static int settle(struct facts *facts, struct members *m, const struct arrival *v, size_t n)
{
    int rc = 0;
    const struct arrival *last = &v[n - 1];
    struct ranks *r = &facts->ranks;
    int64_t first_end = last->end_ns;
    for (size_t i = 0; i < n; i++) {
        struct rank_facts *f = &m->at[v[i].member];
        const struct op *o = &facts->tl->ops[v[i].op];
        int64_t length = o->end_ns - o->start_ns, wait = last->start_ns - v[i].start_ns;
        if (wait > length)
            wait = length; /* an exchange of pairs may be over before the last rank comes */
        first_end = v[i].end_ns < first_end ? v[i].end_ns : first_end;
        f->comm_ns += length;
        f->wait_ns += wait;
        f->wait_exposed_ns +=
            wait - spans_covered(&m->compute[v[i].member], o->start_ns, o->start_ns + wait);
        f->matched++;
        rc = rc ? rc : keep_wait(facts, m, v, n, i);
        if (wait > r->worst_ns) {
            r->worst_ns = wait;
            r->worst_op = v[i].op;
        }
    }
    note_group(m, v, n);
    heat_add(facts, m, v, n);
    struct rank_facts *late = &m->at[last->member];
    int64_t kept = last->start_ns - v[(n - 1) / 2].start_ns;
    late->late_ns += kept;
    late->late_queued_ns += was_queued(facts->tl, last->op) ? kept : 0;
    late->late_count++;
    r->collectives++;
    r->transfer_ns += first_end > last->start_ns ? first_end - last->start_ns : 0;
    return rc;
}

/* Only what lies in the used steps of the process that is analysed counts, where it takes part. */
static bool counts(const struct facts *f, const struct arrival *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (f->tl->streams[f->tl->ops[v[i].op].stream].process == f->steps.process) {
            uint32_t step = f->steps.op_step[v[i].op];
            return step != TL_NONE && f->steps.at[step].used;
        }
    return true;
}

static int settle_group(struct facts *f, struct members *m, int64_t group, struct arrival *v)
{
    const struct lineup *reference = NULL; /* of the first rank */
    for (size_t i = 0; i < m->lines.n; i++) {
        const struct lineup *l = &m->lines.at[i];
        if (l->group == group && (!reference || l->member < reference->member))
            reference = l;
    }
    for (size_t i = 0; i < m->lines.n; i++) {
        struct lineup *l = &m->lines.at[i];
        if (l->group != group)
            continue;
        if (lineup_match(f->tl, reference, l) < 0)
            return -1;
        if (l->matched)
            m->at[l->member].offset_ns = l->offset_ns;
    }
    for (size_t k = 0; reference && k < reference->ops.n; k++) {
        size_t n = 0;
        for (size_t i = 0; i < m->lines.n; i++) {
            const struct lineup *l = &m->lines.at[i];
            uint32_t op = l->group == group && l->matched ? lineup_at(l, k) : TL_NONE;
            if (op == TL_NONE || f->tl->ops[op].name != f->tl->ops[reference->ops.at[k]].name)
                continue;
            v[n++] = (struct arrival){l->member, op, f->tl->ops[op].start_ns - l->offset_ns,
                                      f->tl->ops[op].end_ns - l->offset_ns};
        }
        qsort(v, n, sizeof *v, by_start);
        if (n >= 2 && counts(f, v, n) && settle(f, m, v, n) < 0)
            return -1;
    }
    return 0;
}

/* Each group once, by its first line-up. */
static int settle_all(struct facts *f, struct members *m)
{
    struct arrival *v = malloc((m->n + 1) * sizeof *v);
    int rc = v ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < m->lines.n; i++) {
        bool first = true;
        for (size_t j = 0; j < i; j++)
            first = first && m->lines.at[j].group != m->lines.at[i].group;
        if (first)
            rc = settle_group(f, m, m->lines.at[i].group, v);
    }
    free(v);
    return rc;
}

static int by_op(const void *a, const void *b)
{
    uint32_t x = ((const struct late_wait *)a)->op, y = ((const struct late_wait *)b)->op;
    return (x > y) - (x < y);
}

static int hand_over_waits(struct facts *f, struct members *m)
{
    struct ranks *r = &f->ranks;
    r->waits = arena_array(&f->arena, m->waits.n + 1, sizeof *r->waits);
    if (!r->waits)
        return -1;
    r->wait_count = m->waits.n;
    if (m->waits.n)
        memcpy(r->waits, m->waits.at, m->waits.n * sizeof *r->waits);
    qsort(r->waits, r->wait_count, sizeof *r->waits, by_op);
    return 0;
}

int ranks_measure(struct facts *f, struct err *e)
{
    struct members m = {0};
    f->ranks = (struct ranks){.late = TL_NONE, .worst_op = TL_NONE};
    int rc = find_members(f, &m);
    if (rc == 0 && m.n < 2)
        return 0; /* nobody to wait for */
    m.compute = calloc(m.n + 1, sizeof *m.compute);
    if (rc == 0)
        rc = m.compute ? line_up(f->tl, &m) : -1;
    if (rc == 0)
        rc = heat_open(f, &m);
    if (rc == 0)
        rc = settle_all(f, &m);
    if (rc == 0)
        rc = hand_over_waits(f, &m);
    if (rc == 0)
        rc = ranks_summarise(f, &m);
    for (size_t i = 0; m.compute && i < m.n; i++)
        spans_release(&m.compute[i]);
    for (size_t i = 0; i < m.lines.n; i++)
        vec_release(&m.lines.at[i].ops);
    vec_release(&m.lines);
    vec_release(&m.waits);
    free(m.place);
    free(m.compute);
    return rc < 0 ? err_no_memory(e) : 0;
}
