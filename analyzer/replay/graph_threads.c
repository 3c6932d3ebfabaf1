/* Makes the tasks of one host thread: its calls, the time between them, and the GPU work that they
 * issue. */
#include "analyzer/replay/graph_make.h"

#include "analyzer/queries/waits.h"
#include "analyzer/replay/limits.h"

/* Adds the host time [from, to) of a thread, divided at the marks of batches. */
static void put_gap(struct maker *m, uint32_t thread, int64_t from, int64_t to)
{
    uint32_t lane = (uint32_t)m->g->streams + thread;
    bool main = thread == m->a->steps.main_thread;
    for (; main && m->mark < m->marks.n && m->marks.at[m->mark].start_ns < to; m->mark++) {
        const struct batch_mark *k = &m->marks.at[m->mark];
        int64_t s = k->start_ns > from ? k->start_ns : from;
        if (k->end_ns <= s)
            continue;
        if (s > from)
            graph_put(m, TASK_HOST_GAP, from, lane, from, s, TL_NONE);
        int64_t e = k->end_ns < to ? k->end_ns : to;
        if (k->makes)
            graph_put(m, TASK_LOAD, s, lane, s, e, k->number)->flags |= TASK_INLINE;
        else if (k->end_ns <= to)
            graph_put(m, TASK_GET, e, lane, s, e, k->number);
        else
            graph_put(m, TASK_HOST_GAP, s, lane, s, e, TL_NONE);
        from = e;
        if (k->end_ns > to)
            break;
    }
    if (to > from)
        graph_put(m, TASK_HOST_GAP, from, lane, from, to, TL_NONE);
}

void graph_put_op(struct maker *m, uint32_t op, int64_t key)
{
    static const enum task_kind kinds[] = {
        [OP_KERNEL] = TASK_KERNEL, [OP_COPY] = TASK_COPY, [OP_MEMSET] = TASK_MEMSET};
    const struct op *o = &m->t->ops[op];
    enum task_kind kind =
        o->kind == OP_KERNEL && o->class.family == FAMILY_COMM ? TASK_COLL : kinds[o->kind];
    graph_put(m, kind, key, m->home[o->stream], o->start_ns, o->end_ns, op);
}

/* Did the call return only when its copy had ended? A small copy is staged, and its call returns
 * before. */
static bool copy_blocked(const struct op *o, const struct api *c)
{
    return c->end_ns - c->start_ns > 2 * REPLAY_CALL_NS && c->end_ns > o->start_ns &&
           c->end_ns + REPLAY_COPY_TAIL_NS > o->end_ns;
}

static void put_api(struct maker *m, uint32_t api, const uint32_t *event_of)
{
    const struct api *c = &m->t->apis[api];
    uint32_t lane = (uint32_t)m->g->streams + c->thread, op = m->first_op[api];
    enum call_wait wait = query_call_wait(m->t, c);
    bool copies = op != TL_NONE && m->t->ops[op].kind == OP_COPY;
    bool copy_wait = copies && wait != CALL_GOES_ON && copy_blocked(&m->t->ops[op], c);
    bool for_kernel = m->g->launches_block && graph_ran_inside(m->a, api);
    bool waits = (!copies && wait == CALL_AWAITS_GPU) || copy_wait || for_kernel ||
                 graph_awaited_for_room(m->a, api) != TL_NONE;
    int64_t length = c->end_ns - c->start_ns,
            usual = c->kind == API_LAUNCH && !for_kernel ? graph_launch_ns(m) : REPLAY_CALL_NS,
            own = waits && length > usual ? usual : length;
    int64_t idle = graph_free_waited(m, api);
    if (idle >= 0) { /* the call first waits, then works */
        graph_put(m, TASK_WAIT, c->start_ns, lane, c->start_ns, idle, api);
        graph_put(m, TASK_HOST_API, c->start_ns, lane, idle, c->end_ns, api);
        return;
    }
    if (for_kernel && m->t->ops[c->op].start_ns > c->start_ns)
        own = m->t->ops[c->op].start_ns - c->start_ns;
    graph_put(m, TASK_HOST_API, c->start_ns, lane, c->start_ns, c->start_ns + own, api);
    for (; op != TL_NONE; op = m->next_op[op])
        graph_put_op(m, op, c->start_ns);
    if (c->kind == API_EVENT_RECORD && event_of[api] != TL_NONE &&
        m->t->events[event_of[api]].stream != TL_NONE)
        graph_put(m, TASK_EV_REC, c->start_ns, m->t->events[event_of[api]].stream, c->start_ns,
                  c->start_ns, event_of[api]);
    if (c->kind == API_STREAM_WAIT && c->sync != TL_NONE && m->t->syncs[c->sync].stream != TL_NONE)
        graph_put(m, TASK_EV_WAIT, c->start_ns, m->t->syncs[c->sync].stream, c->start_ns,
                  c->start_ns, c->sync);
    if (waits) {
        struct task *w =
            graph_put(m, TASK_WAIT, c->start_ns, lane, c->start_ns + own, c->end_ns, api);
        w->flags |= copy_wait ? TASK_COPY_WAIT | TASK_DRAINS : for_kernel ? TASK_FOR_KERNEL : 0;
    }
}

/* A short look-up is part of the host's work before the launch that follows: the graph must be the
 * same whether or not look-ups were recorded. A longer first look-up of a function may load its
 * code, and stays a task. */
static bool is_aside(const struct api *c)
{
    return c->kind == API_LOOKUP && c->op == TL_NONE && c->end_ns - c->start_ns < REPLAY_NEAR_NS;
}

/* Finds out whether another thread handed its work over to this one, which was silent in [from,
 * to): autograd's thread takes over for the backward pass, and hands back afterwards. The other
 * thread must have been busy until shortly before `to` and must then be silent. Returns its last
 * call, or TL_NONE. */
static uint32_t handed_over(const struct maker *m, uint32_t thread, int64_t from, int64_t to)
{
    uint32_t best = TL_NONE;
    for (uint32_t k = 0; to - from >= REPLAY_TURN_NS && k < m->t->thread_count; k++) {
        const struct thread *th = &m->t->threads[k];
        if (k == thread || th->process != m->a->steps.process || th->apis == 0)
            continue;
        uint32_t low = timeline_api_from(m->t, th, to), next = low, end = th->first_api + th->apis;
        while (low > th->first_api && is_aside(&m->t->apis[low - 1]))
            low--;
        while (next < end && is_aside(&m->t->apis[next]))
            next++;
        if (low == th->first_api)
            continue;
        const struct api *c = &m->t->apis[low - 1];
        bool silent = next == end || m->t->apis[next].start_ns >= to + REPLAY_NEAR_NS;
        if (silent && c->start_ns >= from && c->end_ns <= to && c->start_ns >= m->g->start_ns &&
            (best == TL_NONE || c->end_ns > m->t->apis[best].end_ns))
            best = low - 1;
    }
    return best;
}

/* Adds the time between two calls of a thread: its own work, or the time since another thread
 * handed over. */
static void put_pause(struct maker *m, uint32_t thread, int64_t from, int64_t to)
{
    bool main = thread == m->a->steps.main_thread;
    size_t k = m->mark;
    while (main && k < m->marks.n && m->marks.at[k].end_ns <= from)
        k++;
    bool batch = main && k < m->marks.n && m->marks.at[k].start_ns < to;
    uint32_t by = batch ? TL_NONE : handed_over(m, thread, from, to);
    if (by == TL_NONE) {
        put_gap(m, thread, from, to);
        return;
    }
    from = m->t->apis[by].end_ns;
    graph_put(m, TASK_HOST_GAP, from, (uint32_t)m->g->streams + thread, from, to, by)->flags |=
        TASK_HANDED;
}

/* Returns the operation that a host which polls an event in [from_ns, to_ns) waited for: the one
 * that ended last in that time. The recording does not show the event itself. TL_NONE: none
 * ended. */
uint32_t graph_polled_op(const struct facts *f, int64_t from_ns, int64_t to_ns)
{
    const struct timeline *t = f->tl;
    size_t low = 0, high = t->op_count;
    while (low < high) { /* finds the first operation that starts at or after to_ns */
        size_t mid = low + (high - low) / 2;
        if (t->ops[mid].start_ns < to_ns)
            low = mid + 1;
        else
            high = mid;
    }
    uint32_t best = TL_NONE;
    for (size_t k = low; k-- > 0 && low - k < 1000;) {
        const struct op *o = &t->ops[k];
        if (o->end_ns >= from_ns && o->end_ns <= to_ns && o->api != TL_NONE &&
            t->streams[o->stream].process == f->steps.process &&
            (best == TL_NONE || o->end_ns > t->ops[best].end_ns))
            best = (uint32_t)k;
    }
    return best;
}

/* Adds a row of polls in short succession as one wait. Returns the row's last call, or i if it is
 * no wait. */
static uint32_t put_polls(struct maker *m, uint32_t i, uint32_t end)
{
    const struct api *all = m->t->apis;
    uint32_t last = i;
    while (last + 1 < end && all[last + 1].kind == API_EVENT_QUERY &&
           all[last + 1].start_ns < all[last].end_ns + REPLAY_NEAR_NS &&
           all[last + 1].start_ns < m->end_ns)
        last++;
    if (last - i + 1 < REPLAY_POLLS ||
        graph_polled_op(m->a, all[i].end_ns, all[last].end_ns) == TL_NONE)
        return i;
    uint32_t lane = (uint32_t)m->g->streams + all[i].thread;
    graph_put(m, TASK_HOST_API, all[i].start_ns, lane, all[i].start_ns, all[i].end_ns, i);
    graph_put(m, TASK_WAIT, all[i].end_ns, lane, all[i].end_ns, all[last].end_ns, last);
    return last;
}

/* Adds the rest of a wait for the GPU that began before the window: a window from the GPU's first
 * work to its last often begins when all is launched and the host waits already. Returns the wait's
 * end, or `from` if the call is no such wait. */
static int64_t put_open_wait(struct maker *m, uint32_t api, int64_t from)
{
    const struct api *c = &m->t->apis[api];
    if (c->start_ns >= from || c->end_ns <= from || m->first_op[api] != TL_NONE ||
        query_call_wait(m->t, c) != CALL_AWAITS_GPU)
        return from;
    graph_put(m, TASK_WAIT, from, (uint32_t)m->g->streams + c->thread, from, c->end_ns, api);
    return c->end_ns;
}

int graph_put_thread(struct maker *m, uint32_t thread, const uint32_t *event_of)
{
    const struct thread *th = &m->t->threads[thread];
    int64_t cursor = m->g->start_ns;
    bool main = thread == m->a->steps.main_thread, any = main;
    m->mark = 0;
    for (uint32_t i = th->first_api; i < th->first_api + th->apis; i++) {
        const struct api *c = &m->t->apis[i];
        if (c->start_ns < m->g->start_ns)
            cursor = put_open_wait(m, i, cursor);
        if (c->start_ns < m->g->start_ns || c->start_ns >= m->end_ns || is_aside(c))
            continue;
        if (c->start_ns > cursor && (any || handed_over(m, thread, cursor, c->start_ns) != TL_NONE))
            put_pause(m, thread, cursor, c->start_ns);
        uint32_t last = i;
        if (c->kind == API_EVENT_QUERY)
            last = put_polls(m, i, th->first_api + th->apis);
        if (last == i)
            put_api(m, i, event_of);
        any = true;
        i = last;
        if (m->t->apis[last].end_ns > cursor)
            cursor = m->t->apis[last].end_ns;
    }
    if (main && cursor < m->end_ns && !m->g->once)
        put_gap(m, thread, cursor, m->end_ns);
    return m->failed ? -1 : 0;
}
