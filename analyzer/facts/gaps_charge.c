/* Finds what the host did while the GPU was idle.
 *
 * For a gap that ends with operation X, launched by call A on thread T:
 *   before A    what T did, in this order of priority: making or awaiting input > inside a CUDA
 *               call, by the call's kind > what another launching thread did > host work between
 *               calls, short (slow launching) or long (host work)
 *   A to X      start latency (launching), or a copy call at work. After that X was queued; for
 *               the first operation of a stream this stays unexplained, because the GPU may have
 *               run work that was launched before the recording
 *
 * A call that blocked the host while the GPU worked (a synchronisation, a blocking copy, a free)
 * took away the host's lead over the GPU. Slow launching and host work after the call are therefore
 * charged to the call, up to the time for which it blocked. Time spent on input is never charged to
 * it: without the call the batch would be missing too.
 *
 * Cost: O(calls in the gap + log n) per gap. */
#include "analyzer/facts/gaps.h"
#include "analyzer/facts/limits.h"
#include "analyzer/measure/ranges.h"
#include "analyzer/timeline/sort.h"

#include <stdlib.h>

/* Adds [from, to) to the part's sum, and remembers it with its call and thread if it is the
 * longest stretch so far. */
static void charge(struct charge *c, enum part part, int64_t from, int64_t to, uint32_t api,
                   uint32_t thread)
{
    if (to <= from)
        return;
    c->by_part[part] += to - from;
    if (to - from > c->longest_ns) {
        c->longest_ns = to - from;
        c->longest_from_ns = from;
        c->api = api;
        c->thread = thread;
    }
}

/* Makes the calls that ended by `now` the owners of later host work. If several calls block in
 * turn, the longer lost lead counts, not the sum. */
static void adopt_finished_drains(struct pass *p, int64_t now)
{
    for (; p->next_drain < p->drains.n && p->drains.at[p->next_drain].end_ns <= now;
         p->next_drain++) {
        const struct drain *d = &p->drains.at[p->next_drain];
        if (d->blocked_ns >= p->credit_ns) {
            p->credit_ns = d->blocked_ns;
            p->credit_part = d->part;
        }
    }
}

/* Charges launching or host work: first to the call that took the lead away, up to the time it
 * blocked, then to `part`. */
static void charge_work(struct pass *p, struct charge *c, enum part part, int64_t from, int64_t to,
                        uint32_t api, uint32_t thread)
{
    if (to <= from)
        return;
    adopt_finished_drains(p, from);
    int64_t owed = to - from < p->credit_ns ? to - from : p->credit_ns;
    p->credit_ns -= owed;
    charge(c, p->credit_part, from, from + owed, api, thread);
    charge(c, part, from + owed, to, api, thread);
}

static enum part part_of_call(const struct timeline *t, const struct api *a)
{
    switch (a->kind) {
    case API_COPY_SYNC:
    case API_COPY_ASYNC: /* a copy back to the host waits for a result */
        return a->op != TL_NONE && t->ops[a->op].copy_kind == COPY_D2H ? PART_IDLE_SYNC
                                                                       : PART_IDLE_COPY;
    case API_SYNC_DEVICE:
    case API_SYNC_STREAM:
    case API_SYNC_EVENT:
    case API_EVENT_QUERY:
        return PART_IDLE_SYNC;
    case API_ALLOC:
    case API_FREE:
    case API_HOST_ALLOC:
        return PART_IDLE_ALLOC;
    case API_LAUNCH:
    case API_GRAPH_LAUNCH:
    case API_MEMSET:
    case API_EVENT_RECORD:
    case API_STREAM_WAIT:
        return a->end_ns - a->start_ns > FACTS_LONG_CALL_NS ? PART_IDLE_HOST : PART_IDLE_LAUNCH;
    case API_MODULE:
        return PART_IDLE_HOST;
    default:
        return a->end_ns - a->start_ns > FACTS_LAUNCHING_NS ? PART_IDLE_HOST : PART_IDLE_LAUNCH;
    }
}

static void charge_call(struct pass *p, struct charge *c, const struct lane *l, const struct api *a,
                        int64_t from, int64_t to)
{
    enum part part = part_of_call(p->a->tl, a);
    uint32_t index = (uint32_t)(a - p->a->tl->apis);
    if (part == PART_IDLE_LAUNCH || part == PART_IDLE_HOST)
        charge_work(p, c, part, from, to, index, l->thread);
    else
        charge(c, part, from, to, index, l->thread);
}

/* First call of the lane that ends after t. */
static size_t call_after(const struct lane *l, int64_t t)
{
    size_t low = 0, high = l->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (l->at[mid].end_ns <= t)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The thread whose range names a piece without calls. The thread that launches next, if it is
 * inside a range then; otherwise the thread that made the last call, because the launching
 * thread may wait for it. */
static uint32_t thread_doing_host_work(const struct pass *p, uint32_t last, int64_t from,
                                       int64_t to)
{
    int64_t middle = from + (to - from) / 2;
    bool told = range_place_at(p->a->tl, p->launcher, middle) != TL_NONE;
    return told || last == TL_NONE ? p->launcher : last;
}

/* Charges a piece in which no launching thread was in a call. The time from the last call before it
 * to the next one decides between slow launching and host work. If the launch of the op that ends
 * the gap was not recorded, it may have happened at any time: that stays unexplained. */
static void charge_between_calls(struct pass *p, struct charge *c, int64_t from, int64_t to)
{
    const struct timeline *t = p->a->tl;
    int64_t before = t->start_ns, after = t->end_ns;
    uint32_t next = TL_NONE, last = TL_NONE;
    for (size_t i = 0; i < p->lanes; i++) {
        const struct lane *k = &p->lane[i];
        size_t j = call_after(k, from);
        if (j > 0 && k->at[j - 1].end_ns > before) {
            before = k->at[j - 1].end_ns;
            last = k->thread;
        }
        if (j < k->n && k->at[j].start_ns < after) {
            after = k->at[j].start_ns;
            next = (uint32_t)(&k->at[j] - t->apis);
        }
    }
    uint32_t whose =
        to - from > c->longest_ns ? thread_doing_host_work(p, last, from, to) : p->launcher;
    if (p->launch_unknown)
        charge(c, PART_UNEXPLAINED, from, to, next, whose);
    else
        charge_work(p, c, after - before > FACTS_LAUNCHING_NS ? PART_IDLE_HOST : PART_IDLE_LAUNCH,
                    from, to, next, whose);
}

/* Charges what the host did in [from, to). The thread of lane order[0] has priority; where it was
 * neither on input nor in a call, the other lanes are asked in turn. */
static void charge_host(struct pass *p, struct charge *c, const size_t *order, size_t lanes,
                        int64_t from, int64_t to)
{
    const struct lane *l = &p->lane[order[0]];
    size_t i = call_after(l, from), s = spans_after(&l->input, from);
    while (from < to) {
        while (s < l->input.n && l->input.at[s].end_ns <= from)
            s++;
        while (i < l->n && l->at[i].end_ns <= from)
            i++;
        bool input = s < l->input.n && l->input.at[s].start_ns <= from;
        if (input) {
            int64_t end = l->input.at[s].end_ns < to ? l->input.at[s].end_ns : to;
            charge(c, PART_IDLE_INPUT, from, end, TL_NONE, l->thread);
            from = end;
            continue;
        }
        int64_t limit = to;
        if (s < l->input.n && l->input.at[s].start_ns < limit)
            limit = l->input.at[s].start_ns;
        bool inside = i < l->n && l->at[i].start_ns <= from;
        if (inside) {
            int64_t end = l->at[i].end_ns < limit ? l->at[i].end_ns : limit;
            charge_call(p, c, l, &l->at[i], from, end);
            from = end;
            continue;
        }
        if (i < l->n && l->at[i].start_ns < limit)
            limit = l->at[i].start_ns;
        if (lanes > 1)
            charge_host(p, c, order + 1, lanes - 1, from, limit);
        else
            charge_between_calls(p, c, from, limit);
        from = limit;
    }
}

/* Fills `order` with the lanes' indices: the lane of `thread` first, then the others in their
 * order, in which the main thread leads. */
static void lane_order(const struct pass *p, uint32_t thread, size_t order[LANES])
{
    size_t n = 0;
    for (size_t i = 0; i < p->lanes; i++)
        if (p->lane[i].thread == thread)
            order[n++] = i;
    for (size_t i = 0; i < p->lanes; i++)
        if (p->lane[i].thread != thread)
            order[n++] = i;
}

/* Charges the time from call `a` to the start of its operation: the rest of the call,
 * then the start latency of FACTS_START_NS, then queueing. first: the operation is
 * the first of its stream. */
static void charge_start(struct pass *p, struct charge *c, const struct api *a, int64_t from,
                         int64_t to, bool first)
{
    uint32_t index = (uint32_t)(a - p->a->tl->apis);
    int64_t in_call = a->end_ns < to ? a->end_ns : to;
    if (in_call > from) {
        enum part part = part_of_call(p->a->tl, a);
        if (part == PART_IDLE_LAUNCH || part == PART_IDLE_HOST)
            charge_work(p, c, part, from, in_call, index, a->thread);
        else
            charge(c, part, from, in_call, index, a->thread);
        from = in_call;
    }
    int64_t latency = a->start_ns + FACTS_START_NS < to ? a->start_ns + FACTS_START_NS : to;
    if (latency > from) {
        charge_work(p, c, PART_IDLE_LAUNCH, from, latency, index, a->thread);
        from = latency;
    }
    charge(c, first ? PART_UNEXPLAINED : PART_IDLE_QUEUED, from, to, index, a->thread);
}

/* See gaps.h. Without lanes all of the time is unexplained. */
void charge_idle(struct pass *p, struct charge *c, int64_t from, int64_t to, uint32_t x)
{
    const struct timeline *t = p->a->tl;
    const struct api *a = x != TL_NONE && t->ops[x].api != TL_NONE ? &t->apis[t->ops[x].api] : NULL;
    if (p->lanes == 0) {
        charge(c, PART_UNEXPLAINED, from, to, TL_NONE, TL_NONE);
        return;
    }
    bool touched = x != TL_NONE && tl_migrates(&t->ops[x]);
    p->launch_unknown = x != TL_NONE && !a && !touched;
    if (touched) { /* the host touched migrated memory, so it needed the GPU's result and had to
                      wait for it: charge nothing to that wait */
        adopt_finished_drains(p, from);
        p->credit_ns = 0;
    }
    p->launcher = a ? a->thread : p->lane[0].thread;
    size_t order[LANES];
    lane_order(p, p->launcher, order);
    int64_t issued = !a || a->start_ns > to ? to : a->start_ns < from ? from : a->start_ns;
    if (issued > from)
        charge_host(p, c, order, p->lanes, from, issued);
    if (a && issued < to)
        charge_start(p, c, a, issued, to, p->first_op[t->ops[x].stream] == x);
}

/* ---- set-up ---- */

static int add_lane(struct pass *p, uint32_t thread)
{
    const struct timeline *t = p->a->tl;
    for (size_t i = 0; i < p->lanes; i++)
        if (p->lane[i].thread == thread)
            return 0;
    if (p->lanes == LANES)
        return 0;
    struct lane *l = &p->lane[p->lanes++];
    *l = (struct lane){.thread = thread,
                       .at = t->apis ? t->apis + t->threads[thread].first_api : NULL,
                       .n = t->threads[thread].apis};
    return input_spans(&l->input, t, thread, !analysis_of_window(p->a));
}

/* Adds the main thread, then the process' other threads by falling number of
 * launches. -1: out of memory. */
static int find_lanes(struct pass *p)
{
    const struct timeline *t = p->a->tl;
    const struct steps *s = &p->a->steps;
    struct sort_key *keys = malloc((t->thread_count + 1) * sizeof *keys);
    if (!keys)
        return -1;
    for (uint32_t i = 0; i < t->thread_count; i++)
        keys[i] = (struct sort_key){.index = i};
    for (uint32_t i = 0; i < t->op_count; i++) {
        uint32_t th = tl_op_thread(t, i);
        if (th != TL_NONE && t->threads[th].process == s->process)
            keys[th].time--;
    }
    int rc = sort_keys(keys, t->thread_count);
    if (rc >= 0 && t->thread_count &&
        (t->threads[s->main_thread].apis || t->threads[s->main_thread].ranges))
        rc = add_lane(p, s->main_thread);
    for (size_t i = 0; rc >= 0 && i < t->thread_count && keys[i].time < 0; i++)
        rc = add_lane(p, keys[i].index);
    free(keys);
    return rc < 0 ? -1 : 0;
}

static bool can_drain(unsigned kind)
{
    return kind == API_COPY_SYNC || kind == API_COPY_ASYNC || kind == API_SYNC_DEVICE ||
           kind == API_SYNC_STREAM || kind == API_SYNC_EVENT || kind == API_EVENT_QUERY ||
           kind == API_FREE || kind == API_ALLOC || kind == API_HOST_ALLOC;
}

static int compare_drains(const void *a, const void *b)
{
    const struct drain *x = a, *y = b;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return (x->blocked_ns > y->blocked_ns) - (x->blocked_ns < y->blocked_ns);
}

/* True if the GPU had no compute or communication work left after the call. A wait for an old event
 * blocks too, but leaves later work in the queue, so no lead was lost. Looks behind the end of the
 * call's own copy, because pageable copies return before their last bytes arrive. */
static bool emptied_queue(const struct pass *p, const struct api *a)
{
    const int64_t clock_error_ns = 5000;
    const struct op *own = a->op == TL_NONE ? NULL : &p->a->tl->ops[a->op];
    int64_t at = own && own->end_ns > a->end_ns ? own->end_ns : a->end_ns;
    at += clock_error_ns;
    return spans_covered(&p->act->compute, at, at + 1) == 0 &&
           spans_covered(&p->act->comm, at, at + 1) == 0;
}

/* Lists the calls that took away the host's lead, sorted by end. -1: out of memory. */
static int find_drains(struct pass *p)
{
    for (size_t i = 0; i < p->lanes; i++)
        for (size_t j = 0; j < p->lane[i].n; j++) {
            const struct api *a = &p->lane[i].at[j];
            if (!can_drain(a->kind) || a->end_ns - a->start_ns < FACTS_DRAIN_NS)
                continue;
            int64_t blocked = spans_covered(&p->act->busy, a->start_ns, a->end_ns);
            if (blocked < FACTS_DRAIN_NS || !emptied_queue(p, a))
                continue;
            struct drain *d = vec_push(&p->drains);
            if (!d)
                return -1;
            *d = (struct drain){a->end_ns, blocked, part_of_call(p->a->tl, a)};
        }
    if (p->drains.n)
        qsort(p->drains.at, p->drains.n, sizeof *p->drains.at, compare_drains);
    return 0;
}

static int find_first(struct pass *p)
{
    const struct timeline *t = p->a->tl;
    p->first_op = malloc((t->stream_count + 1) * sizeof *p->first_op);
    for (size_t i = 0; p->first_op && i < t->stream_count; i++)
        p->first_op[i] = TL_NONE;
    for (uint32_t i = (uint32_t)t->op_count; p->first_op && i-- > 0;)
        p->first_op[t->ops[i].stream] = i;
    return p->first_op ? 0 : -1;
}

int charge_begin(struct pass *p)
{
    return find_lanes(p) < 0 || find_drains(p) < 0 || find_first(p) < 0 ? -1 : 0;
}

void charge_end(struct pass *p)
{
    for (size_t i = 0; i < p->lanes; i++)
        spans_release(&p->lane[i].input);
    vec_release(&p->drains);
    free(p->first_op);
}
