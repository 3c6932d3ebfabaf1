/* Batches as tasks: LOAD for what workers make, and marks where the training thread makes or takes
 * one. */
#include "analyzer/replay/graph_make.h"

#include "analyzer/measure/input.h"
#include "analyzer/measure/median.h"
#include "analyzer/replay/limits.h"
#include "analyzer/timeline/name_test.h"
#include "analyzer/queries/input/delivery.h"

#include <stdlib.h>

static int by_start(const void *a, const void *b)
{
    const struct load *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Lists the ranges of the training thread in which it makes batches; if there are none, those in
 * which it takes them. Returns -1 without memory. */
static int find_marks(struct maker *m, const struct name_test *makes, const struct name_test *input)
{
    const struct timeline *t = m->t;
    const struct thread *th = facts_main_thread(m->a);
    bool own = false;
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges; i++)
        own |= name_test(makes, t->ranges[i].name);
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges; i++) {
        const struct range *r = &t->ranges[i];
        if (!name_test(own ? makes : input, r->name))
            continue;
        if (m->marks.n && r->start_ns < m->marks.at[m->marks.n - 1].end_ns)
            continue; /* nested in the mark before it */
        struct batch_mark *k = vec_push(&m->marks);
        if (!k)
            return -1;
        *k = (struct batch_mark){r->start_ns, r->end_ns, (uint32_t)(m->marks.n - 1), own};
    }
    return 0;
}

/* Returns how many of the first batches have no recorded load: load i is batch i + offset. It takes
 * the smallest offset under which nearly all loads end before their batch is taken, or returns
 * marks.n if there is none. */
static size_t load_offset(const struct maker *m, const struct load *loads, size_t n)
{
    for (size_t offset = 0; offset < 64 && offset < m->marks.n; offset++) {
        size_t bad = 0;
        for (size_t i = 0; i < n && i + offset < m->marks.n; i++)
            bad += loads[i].end_ns > m->marks.at[i + offset].end_ns + REPLAY_LOADED_NS;
        if (bad * (size_t)REPLAY_LOADS_ODD <= n)
            return offset;
    }
    return m->marks.n;
}

/* Returns the largest number of batches by which loading was ahead of taking in the recording: the
 * workers may be at least that far ahead. */
static int count_credits(const struct maker *m, const struct load *loads, size_t n, size_t offset)
{
    size_t most = 0, taken = 0;
    for (size_t i = 0; i < n; i++) {
        while (taken < m->marks.n && m->marks.at[taken].end_ns <= loads[i].start_ns)
            taken++;
        if (taken && i + offset + 1 > taken && i + offset + 1 - taken > most)
            most = i + offset + 1 - taken;
    }
    return (int)most;
}

/* Returns how long handing over this batch took: from the end of its load, or from the moment at
 * which the batch before it was taken, to the moment at which the training thread has it. 0: the
 * training thread waited for little of that, so the batch may have been ready long before. */
static int64_t handover(const struct maker *m, size_t batch, int64_t loaded_ns)
{
    const struct batch_mark *k = &m->marks.at[batch];
    int64_t waited = k->end_ns - k->start_ns;
    int64_t before = batch ? k[-1].end_ns : loaded_ns;
    int64_t way = k->end_ns - (loaded_ns > before ? loaded_ns : before);
    return waited > REPLAY_WAITED_NS && way > 0 && waited * 2 >= way ? way : 0;
}

/* Returns the usual delay from the end of a load to the moment at which the waiting training thread
 * has the batch. Such a delay exists because a thread of its own serves the workers' queue; in
 * Python this thread waits for the lock under which the next batch is made. Returns 0 if the delay
 * is short, or if it differs from batch to batch. */
static int64_t usual_handover(const struct maker *m, const struct load *loads, size_t n,
                              size_t offset)
{
    enum { MOST = 4096 };
    int64_t way[MOST];
    size_t seen = 0;
    for (size_t i = 0; i < n && i + offset < m->marks.n && seen < MOST; i++) {
        way[seen] = handover(m, i + offset, loads[i].end_ns);
        seen += way[seen] > 0;
    }
    if (seen < REPLAY_WAYS)
        return 0;
    sort_ns(way, seen);
    int64_t low = way[seen / 4], middle = way[seen / 2], high = way[seen - 1 - seen / 4];
    return middle > REPLAY_STALL_NS && (high - low) * REPLAY_WAYS_ALIKE < middle ? low : 0;
}

/* Adds LOAD tasks for batches whose making was not recorded: as if one worker made them one after
 * the other, each from the delivery of the batch before to its own delivery. So a replay with
 * shorter steps does not get batches faster. This worker has the last lane for itself. */
static int infer_loads(struct maker *m, const struct deliveries *d)
{
    enum { AHEAD = 2 }; /* PyTorch's loader lets a worker prepare at least this many batches */
    uint32_t lane = (uint32_t)m->g->lanes - 1;
    size_t ready = 0; /* the last batch that is made when batch i is taken */
    m->marks.n = 0;
    m->g->credits = AHEAD;
    for (size_t i = 0; i < d->n; i++) {
        struct batch_mark *k = vec_push(&m->marks);
        if (!k)
            return -1;
        *k = (struct batch_mark){d->at[i].from_ns, d->at[i].to_ns, (uint32_t)i, false};
        int64_t from = i ? d->at[i - 1].made_ns : m->g->start_ns, to = d->at[i].made_ns;
        from = from > m->g->start_ns ? from : m->g->start_ns;
        if (to >= from && from < m->end_ns)
            graph_put(m, TASK_LOAD, from, lane, from, to, (uint32_t)i)->flags |= TASK_BEHIND;
        /* More batches were ready than a queue of AHEAD holds: the queue was longer. */
        ready = ready > i ? ready : i;
        while (ready + 1 < d->n && d->at[ready + 1].made_ns <= d->at[i].from_ns)
            ready++;
        if ((int)(ready - i) + 1 > m->g->credits)
            m->g->credits = (int)(ready - i) + 1;
    }
    return 0;
}

/* Finds marks and loads by the names of ranges. Returns -1 without memory. */
static int find_ranges(struct maker *m, struct loads *loads)
{
    const struct timeline *t = m->t;
    struct name_test makes = name_test_open(t, input_makes), input = name_test_open(t, input_name);
    int rc = find_marks(m, &makes, &input);
    for (size_t i = 0; rc == 0 && i < t->range_count; i++) {
        const struct range *r = &t->ranges[i];
        if (r->thread == m->a->steps.main_thread || !name_test(&makes, r->name))
            continue;
        struct load *l = vec_push(loads);
        if (l)
            *l = (struct load){r->start_ns, r->end_ns, r->thread};
        rc = l ? 0 : -1;
    }
    name_test_close(&makes);
    name_test_close(&input);
    return rc;
}

/* Adds the recorded loads as tasks, if it can tell which load makes which batch. */
static void put_made(struct maker *m, struct loads *loads)
{
    qsort(loads->at, loads->n, sizeof *loads->at, by_start);
    size_t offset = load_offset(m, loads->at, loads->n);
    if (offset < m->marks.n) {
        m->g->credits = count_credits(m, loads->at, loads->n, offset);
        m->g->way_ns = usual_handover(m, loads->at, loads->n, offset);
    }
    for (size_t i = 0; m->g->credits && i < loads->n; i++) {
        const struct load *l = &loads->at[i];
        if (l->start_ns >= m->g->start_ns && l->start_ns < m->end_ns)
            graph_put(m, TASK_LOAD, l->start_ns, (uint32_t)m->g->streams + l->thread, l->start_ns,
                      l->end_ns, (uint32_t)(i + offset))
                ->flags |= TASK_BEHIND;
    }
}

int graph_put_loads(struct maker *m)
{
    struct loads loads = {0};
    int rc = graph_loader(m, &loads);
    if (rc == 0) {
        struct deliveries d;
        rc = query_deliveries(m->a, &d);
        if (rc == 0 && d.n) {
            enum delivery_reading waits = query_delivery_reading(m->a, &d);
            m->g->batches_ready = waits != DELIVERY_LIMITS;
            m->g->batches_late = waits != DELIVERY_COSTS;
            rc = infer_loads(m, &d);
            query_deliveries_release(&d);
            return rc < 0 || m->failed ? -1 : 0;
        }
        if (rc == 0)
            rc = find_ranges(m, &loads);
    }
    if (rc >= 0 && loads.n && m->marks.n && !m->marks.at[0].makes)
        put_made(m, &loads);
    vec_release(&loads);
    return rc < 0 || m->failed ? -1 : 0;
}
