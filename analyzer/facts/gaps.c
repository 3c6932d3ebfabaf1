/* Charges every moment in which the GPU is idle to a cause (gaps_charge.c), and splits every step
 * into its parts. The parts of a step are wall-clock times within the step's from_ns to to_ns, and
 * sum to that length exactly. Cost: O((operations + calls) log n). */
#include "analyzer/facts/gaps.h"

#include <stdlib.h>
#include <string.h>

/* ---- the walk ---- */

static uint32_t step_with_most(const struct steps *s, size_t k, int64_t from, int64_t to)
{
    uint32_t best = TL_NONE;
    int64_t most = 0;
    for (; k < s->count && s->at[k].from_ns < to; k++) {
        int64_t a = s->at[k].from_ns > from ? s->at[k].from_ns : from;
        int64_t b = s->at[k].to_ns < to ? s->at[k].to_ns : to;
        if (b - a > most) {
            most = b - a;
            best = (uint32_t)k;
        }
    }
    return best;
}

/* Copies the charges of one gap to p->shares and fills the gap's parts. -1: out of memory, or more
 * shares than 32 bits can number. */
static int share_out(struct pass *p, struct gap *g, const struct charge *c)
{
    if (p->shares.n >= UINT32_MAX - PART_COUNT)
        return -1;
    g->first_share = (uint32_t)p->shares.n;
    for (int i = 0; i < PART_COUNT; i++) {
        if (c->by_part[i] > c->by_part[g->part])
            g->part = (uint8_t)i;
        if (c->by_part[i] == 0)
            continue;
        int64_t *ns = vec_push(&p->shares);
        if (!ns)
            return -1;
        *ns = c->by_part[i];
        g->parts |= (uint16_t)(1u << i);
    }
    return 0;
}

/* Records one gap of the GPU, or only counts it if it is shorter than GAP_LISTED_NS. `x`: the op
 * that ends it; `k`: first step that may overlap it. -1: out of memory. */
static int list_gap(struct pass *p, const struct charge *c, int64_t from, int64_t to, uint32_t x,
                    size_t k)
{
    if (to - from < GAP_LISTED_NS) {
        p->a->gaps_unlisted_ns += to - from;
        return 0;
    }
    struct gap *g = vec_push(&p->gaps);
    struct span longest = {c->longest_from_ns, c->longest_from_ns + c->longest_ns};
    if (!g)
        return -1;
    *g = (struct gap){.start_ns = from,
                      .end_ns = to,
                      .step = step_with_most(&p->a->steps, k, from, to),
                      .before_op = x,
                      .api = c->api,
                      .range = range_place_of(p->a->tl, c->thread, longest)};
    return share_out(p, g, c);
}

/* Charges one gap. Cuts it at the borders of steps, so that each step gets its share. `x`: the op
 * that ends the gap. *k: cursor, the first step that may overlap the gap. */
static int charge_gap(struct pass *p, int64_t from, int64_t to, uint32_t x, size_t *k)
{
    struct facts *a = p->a;
    struct charge whole = {.api = TL_NONE, .thread = TL_NONE};
    while (*k < a->steps.count && a->steps.at[*k].to_ns <= from)
        ++*k;
    size_t i = *k;
    for (int64_t at = from; at < to;) {
        while (i < a->steps.count && a->steps.at[i].to_ns <= at)
            i++;
        bool inside = i < a->steps.count && a->steps.at[i].from_ns <= at;
        int64_t end = to;
        if (i < a->steps.count) {
            int64_t border = inside ? a->steps.at[i].to_ns : a->steps.at[i].from_ns;
            end = border < to ? border : to;
        }
        struct charge piece = {.api = TL_NONE, .thread = TL_NONE};
        charge_idle(p, &piece, at, end, x);
        for (int part = 0; part < PART_COUNT; part++) {
            whole.by_part[part] += piece.by_part[part];
            if (inside)
                a->step_parts[i][part] += piece.by_part[part];
        }
        if (piece.longest_ns > whole.longest_ns) {
            whole.longest_ns = piece.longest_ns;
            whole.longest_from_ns = piece.longest_from_ns;
            whole.api = piece.api;
            whole.thread = piece.thread;
        }
        at = end;
    }
    return list_gap(p, &whole, from, to, x, *k);
}

/* The first operation on the steps' device that starts at or after `time`; `op` is a cursor. */
static uint32_t op_from(const struct pass *p, uint32_t *op, int64_t time)
{
    const struct timeline *t = p->a->tl;
    while (*op < t->op_count &&
           (t->ops[*op].start_ns < time || t->ops[*op].end_ns <= t->ops[*op].start_ns ||
            tl_op_device(t, *op) != p->a->steps.device))
        ++*op;
    return *op < t->op_count ? *op : TL_NONE;
}

/* Charges the pieces of the idle stretch [from, to) that lie in recorded windows. Outside the
 * windows the recording does not show whether the GPU was idle. */
static int charge_known(struct pass *p, int64_t from, int64_t to, uint32_t x, size_t *k)
{
    const struct facts *a = p->a;
    if (!a->window_count)
        return charge_gap(p, from, to, x, k);
    for (size_t i = recorded_first_ending_after(a, from);
         i < a->window_count && a->windows[i].start_ns < to; i++) {
        struct span s = recorded_part(&a->windows[i], from, to);
        uint32_t before = s.end_ns == to ? x : TL_NONE;
        if (s.end_ns > s.start_ns && charge_gap(p, s.start_ns, s.end_ns, before, k) < 0)
            return -1;
    }
    return 0;
}

/* Without a GPU: the steps' parts are activities of the training thread. */
static int walk_cpu(struct facts *f)
{
    struct cpu_spans *spans = f->tl->thread_count ? cpu_spans_find(f, f->steps.main_thread) : NULL;
    for (size_t i = 0; spans && i < f->steps.count; i++)
        cpu_spans_part(spans, f->steps.at[i].from_ns, f->steps.at[i].to_ns, f->step_parts[i]);
    cpu_spans_free(spans);
    return spans || !f->tl->thread_count ? 0 : -1;
}

static int walk(struct pass *p)
{
    const struct steps *s = &p->a->steps;
    const struct spans *busy = &p->act->busy;
    int64_t at = p->act->start_ns, end = p->act->end_ns;
    if (s->count) {
        at = s->at[0].from_ns < at ? s->at[0].from_ns : at;
        end = s->at[s->count - 1].to_ns > end ? s->at[s->count - 1].to_ns : end;
    }
    if (p->a->on_cpu)
        return walk_cpu(p->a);
    if (busy->n == 0) { /* no GPU record exists, so idle time of the GPU is unknown */
        for (size_t i = 0; i < s->count; i++)
            p->a->step_parts[i][PART_UNEXPLAINED] = s->at[i].to_ns - s->at[i].from_ns;
        return 0;
    }
    size_t k = 0;
    uint32_t op = 0;
    for (size_t i = 0; i <= busy->n; i++) {
        int64_t to = i < busy->n ? busy->at[i].start_ns : end;
        if (to > at && charge_known(p, at, to, i < busy->n ? op_from(p, &op, to) : TL_NONE, &k) < 0)
            return -1;
        if (i < busy->n)
            at = busy->at[i].end_ns;
    }
    return 0;
}

/* ---- busy parts and the median step ---- */

/* Time in [from, to) covered by spans of x and not by spans of `above`. */
static int64_t exposed(const struct spans *x, const struct spans *above, int64_t from, int64_t to)
{
    int64_t sum = 0;
    for (size_t i = spans_after(x, from); i < x->n && x->at[i].start_ns < to; i++) {
        int64_t a = x->at[i].start_ns > from ? x->at[i].start_ns : from;
        int64_t b = x->at[i].end_ns < to ? x->at[i].end_ns : to;
        sum += b - a - spans_covered(above, a, b);
    }
    return sum;
}

static void charge_busy(struct facts *f, const struct activity *act)
{
    for (size_t i = 0; i < f->steps.count; i++) {
        int64_t from = f->steps.at[i].from_ns, to = f->steps.at[i].to_ns;
        int64_t *parts = f->step_parts[i];
        parts[PART_COMPUTE] = spans_covered(&act->compute, from, to);
        parts[PART_COMM] = exposed(&act->comm, &act->compute, from, to);
        parts[PART_COPY] =
            spans_covered(&act->busy, from, to) - parts[PART_COMPUTE] - parts[PART_COMM];
    }
}

/* Adds the rest of each step to PART_UNEXPLAINED. Such a rest exists where a step reaches over the
 * beginning of a window: whether the GPU was idle there is not known. */
static void charge_unknown(struct facts *f)
{
    for (size_t i = 0; f->window_count && i < f->steps.count; i++) {
        int64_t left = f->steps.at[i].to_ns - f->steps.at[i].from_ns;
        for (int p = 0; p < PART_COUNT; p++)
            left -= f->step_parts[i][p];
        f->step_parts[i][PART_UNEXPLAINED] += left;
    }
}

/* Computes breakdown_ns: the parts of all used steps, summed and scaled to step_ns (the median or
 * the mean step), so that rare causes keep their share. Nanoseconds lost by rounding go to the
 * parts with the largest remainders, so that the parts sum to step_ns exactly. */
static void break_down(struct facts *f)
{
    int64_t sum[PART_COUNT] = {0}, total = 0, left = f->step_ns;
    long double rest[PART_COUNT];
    for (size_t i = 0; i < f->steps.count; i++)
        for (int p = 0; p < PART_COUNT && f->steps.at[i].used; p++) {
            sum[p] += f->step_parts[i][p];
            total += f->step_parts[i][p];
        }
    if (total <= 0)
        return;
    for (int p = 0; p < PART_COUNT; p++) {
        long double exact = (long double)sum[p] * (long double)f->step_ns / (long double)total;
        f->breakdown_ns[p] = (int64_t)exact;
        rest[p] = exact - (long double)f->breakdown_ns[p];
        left -= f->breakdown_ns[p];
    }
    for (; left > 0; left--) {
        int best = 0;
        for (int p = 1; p < PART_COUNT; p++)
            if (rest[p] > rest[best])
                best = p;
        f->breakdown_ns[best]++;
        rest[best] -= 1;
    }
}

int gaps_find(struct facts *f, const struct activity *act, struct err *e)
{
    struct pass p = {.a = f, .act = act, .credit_part = PART_IDLE_SYNC};
    f->step_parts = arena_array(&f->arena, f->steps.count, sizeof *f->step_parts);
    int rc = f->step_parts ? charge_begin(&p) : -1;
    if (rc == 0 && walk(&p) == 0) {
        charge_busy(f, act);
        charge_unknown(f);
        break_down(f);
    } else {
        rc = -1;
    }
    f->gaps = p.gaps.at; /* facts_free frees gaps and gap_shares */
    f->gap_count = p.gaps.n;
    f->gap_shares = p.shares.at;
    charge_end(&p);
    return rc < 0 ? err_no_memory(e) : 0;
}
