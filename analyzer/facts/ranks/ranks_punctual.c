/* Replays the collectives without the late rank's lateness: where that rank arrived last and by
 * its own doing, it now arrives together with the one before it. A rank that then waits less
 * reaches its next collective earlier by that time, and so do the ranks that meet it there. Cost:
 * one pass over the collectives. */
#include "analyzer/facts/ranks/ranks.h"

#include <stdlib.h>
#include <string.h>

uint32_t member_of(const struct members *m, const struct rank_facts *r)
{
    uint32_t i = 0;
    while (i < m->n && m->at[i].device != r->device)
        i++;
    return i;
}

/* How long a rank that arrives at start_ns waits for the last one, at most as
 * long as its kernel runs. */
static int64_t waits(const struct arrival *v, int64_t start_ns, int64_t last_ns)
{
    int64_t wait = last_ns - start_ns, length = v->end_ns - v->start_ns;
    wait = wait < length ? wait : length;
    return wait > 0 ? wait : 0;
}

/* Replays one collective. ahead, by member: how much earlier than recorded the member reaches this
 * point; updated. -1: out of memory. */
static int replay_collective(const struct facts *f, struct members *m, const struct meet *x,
                             const struct arrival *v, size_t n, uint32_t late, int64_t *ahead)
{
    int64_t last = v[n - 1].start_ns, then = INT64_MIN;
    int64_t gap = v[n - 1].member == late && x->own_ns > 0 ? last - v[n - 2].start_ns : 0;
    for (size_t i = 0; i < n; i++) {
        int64_t at = v[i].start_ns - ahead[v[i].member] - (i == n - 1 ? gap : 0);
        then = at > then ? at : then;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t at = v[i].start_ns - ahead[v[i].member] - (i == n - 1 ? gap : 0);
        int64_t spare = waits(&v[i], v[i].start_ns, last) - waits(&v[i], at, then);
        if (v[i].end_ns > last)
            ahead[v[i].member] = last - then;
        if (spare <= 0 || m->at[v[i].member].process != f->steps.process)
            continue;
        struct late_wait *w = vec_push(&m->waits);
        if (!w)
            return -1;
        *w = (struct late_wait){v[i].op, spare};
    }
    return 0;
}

static int by_op(const void *a, const void *b)
{
    uint32_t x = ((const struct late_wait *)a)->op, y = ((const struct late_wait *)b)->op;
    return (x > y) - (x < y);
}

static int hand_over(struct facts *f, struct members *m)
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

int punctual_waits(struct facts *f, struct members *m)
{
    struct arrival *v = malloc((m->n + 1) * sizeof *v);
    int64_t *ahead = calloc(m->n + 1, sizeof *ahead);
    int rc = v && ahead ? 0 : -1;
    uint32_t late =
        rc == 0 && f->ranks.late != TL_NONE ? member_of(m, &f->ranks.at[f->ranks.late]) : TL_NONE;
    for (size_t i = 0; rc == 0 && late != TL_NONE && i < m->meets.n; i++) {
        const struct meet *x = &m->meets.at[i];
        size_t n = meet_arrivals(f, m, &m->groups.at[x->group], x->k, v);
        rc = replay_collective(f, m, x, v, n, late, ahead);
    }
    free(v);
    free(ahead);
    return rc < 0 ? rc : hand_over(f, m);
}
