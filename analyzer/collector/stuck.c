/* Finds out whether the program is stuck. A rank that has not joined a collective in which others
 * wait may have a reason: it validates, or writes a checkpoint. So it is reported only if it is
 * idle: a signal has stopped it, or its threads have used no core for a while and its main thread
 * does not wait for the disk or a driver. Whether the other ranks compute does not matter: a thread
 * that waits for the GPU may spin.
 *
 * The spool's header says how far a rank is on each communicator, even while nothing is recorded.
 * The kernel says where its host thread is. */
#include "analyzer/collector/stuck.h"

#include "base/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES = 10, SHOWN_TIMES = 5, FEW_LENGTHS = 2, FEW_STEPS = 8, BUSY_SHARE = 50, MOST = 256 };
static const int64_t look_ns = 1000000000, second_ns = 1000000000;
/* A wait is reported once it has lasted least_ns, or unmarked_ns if the program marks no steps.
 * After half of that time the other gpuprofs of the job see it. A rank counts as idle if it was not
 * busy, nor stopped by a signal, for idle_ns. If no look happened for suspended_ns, gpuprof was
 * suspended, perhaps with the whole machine. */
static const int64_t least_ns = 10000000000, unmarked_ns = 30000000000, idle_ns = 5000000000,
                     suspended_ns = 5000000000;

/* ---- one process ---- */

/* See stuck.h. */
int64_t stuck_usual_ns(const struct spool_pace *p)
{
    int64_t sorted[SPOOL_PACES];
    size_t n = p->lengths < SPOOL_PACES ? p->lengths : SPOOL_PACES;
    if (n < FEW_LENGTHS || p->steps < FEW_STEPS)
        return 0;
    memcpy(sorted, p->length_ns, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, order_int64);
    return sorted[n / 2];
}

/* Notes how fast the process makes steps, and when it last used a core or waited for the disk or a
 * driver (D), or was stopped by a signal (T). */
static void look_at_process(struct spool *s, int64_t now_ns)
{
    struct spool_pace *p = &s->pace;
    int64_t steps = (int64_t)atomic_load(&s->h->steps), cpu = 0;
    if (steps > p->steps) {
        if (p->changed_ns && p->steps)
            p->length_ns[p->lengths++ % SPOOL_PACES] =
                (now_ns - p->changed_ns) / (steps - p->steps);
        p->steps = steps;
        p->changed_ns = now_ns;
    }
    for (size_t i = 0; i < s->threads.n; i++)
        cpu += s->threads.at[i].cpu_ns;
    bool busy = !p->looked_ns || cpu - p->cpu_ns > (now_ns - p->looked_ns) / BUSY_SHARE;
    char state = busy ? 'R' : stuck_state_of(s->fixed.pid);
    if (busy || state == 'D')
        p->busy_ns = now_ns;
    if (state == 'T' || state == 't')
        p->stopped_ns = now_ns;
    p->cpu_ns = cpu;
    p->looked_ns = now_ns;
}

/* ---- its places on communicators ---- */

/* True if this rank has waited longer than its usual steps explain. */
static bool waits_long(const struct collector *c, const struct rank_place *x, int64_t begun_ns,
                       int64_t now_ns)
{
    const struct spool_pace *p = &x->s->pace;
    int64_t usual = stuck_usual_ns(p), since = begun_ns > c->resumed_ns ? begun_ns : c->resumed_ns;
    if (p->steps && (!usual || now_ns - p->changed_ns < TIMES * usual))
        return false;
    return now_ns - since > (p->steps ? least_ns : unmarked_ns) && now_ns - since > TIMES * usual &&
           now_ns - p->stopped_ns > least_ns && !x->stopped;
}

static bool does_nothing(const struct rank_place *x, int64_t now_ns)
{
    const struct spool_pace *p = &x->s->pace;
    return x->stopped || (now_ns - p->busy_ns >= idle_ns && now_ns - p->stopped_ns >= idle_ns);
}

static void find_places(const struct collector *c, const struct spool *s, int64_t now_ns,
                        struct rank_places *p)
{
    bool stopped = stuck_is_stopped(s->fixed.pid);
    for (int i = 0; i < SPOOL_COMMS && p->n < MOST; i++) {
        const struct spool_comm *e = &s->h->comms[i];
        uint64_t comm = atomic_load(&e->comm);
        uint64_t begun = atomic_load_explicit(&e->begun, memory_order_acquire);
        struct rank_place *x = comm && begun ? vec_push(p) : NULL;
        if (!x)
            continue;
        int64_t begun_ns = atomic_load(&e->begun_ns);
        begun_ns = begun_ns > 0 && begun_ns <= now_ns ? begun_ns : 0; /* damaged */
        *x =
            (struct rank_place){.s = s, .comm = comm, .begun = begun, .pid = (int32_t)s->fixed.pid};
        x->inside = begun > atomic_load(&e->ended);
        x->waited_ns = now_ns - begun_ns;
        x->rank = s->row.rank >= 0 ? (int32_t)s->row.rank : atomic_load(&e->rank);
        x->ranks = atomic_load(&e->ranks);
        x->in_pairs = atomic_load(&e->in_pairs) != 0;
        x->marks = s->pace.steps != 0;
        x->stopped = stopped;
        x->idle = does_nothing(x, now_ns);
        x->waits = waits_long(c, x, begun_ns, now_ns);
        snprintf(x->host, sizeof x->host, "%s", c->host);
        spool_copy_string(s, atomic_load(&e->function), x->function, sizeof x->function);
    }
}

/* True if some ranks of this communicator belong to other gpuprofs. */
static bool is_shared(const struct rank_place *x, const struct rank_places *p)
{
    int32_t ours = 0;
    for (size_t i = 0; i < p->n; i++)
        ours += p->at[i].comm == x->comm;
    return x->ranks <= 0 || ours < x->ranks;
}

/* True if the rank may be waiting, or waited for. */
static bool is_slow(const struct rank_place *x, int64_t now_ns)
{
    const struct spool_pace *p = &x->s->pace;
    int64_t usual = stuck_usual_ns(p);
    if (!p->steps)
        return x->waited_ns > unmarked_ns / 2;
    return usual && now_ns - p->changed_ns > least_ns / 2 &&
           now_ns - p->changed_ns > SHOWN_TIMES * usual;
}

void stuck_find_places(struct collector *c, int64_t now_ns, bool asked, struct rank_places *p)
{
    bool slow = now_ns < c->asked_until_ns, suspect = asked;
    for (size_t i = 0; i < c->spools.n; i++)
        if (!c->spools.at[i]->done && c->spools.at[i]->h)
            find_places(c, c->spools.at[i], now_ns, p);
    for (size_t i = 0; i < p->n; i++)
        if (is_shared(&p->at[i], p)) {
            slow |= asked || is_slow(&p->at[i], now_ns);
            suspect |= p->at[i].idle != 0;
        }
    stuck_show(c, p, now_ns, slow);
    if (slow && suspect)
        stuck_read_others(c, p);
}

/* ---- all processes ---- */

/* Looks at all processes. Ignores what happened while gpuprof was suspended. */
static void look_at_all(struct collector *c, int64_t now_ns)
{
    if (c->looked_ns && now_ns - c->looked_ns > suspended_ns)
        c->resumed_ns = now_ns;
    for (size_t i = 0; i < c->spools.n; i++) {
        struct spool *s = c->spools.at[i];
        if (s->done || !s->h)
            continue;
        look_at_process(s, now_ns);
        if (c->resumed_ns == now_ns)
            s->pace.busy_ns = s->pace.changed_ns = now_ns;
    }
    c->looked_ns = now_ns;
}

bool collect_stuck(struct collector *c, char *line, size_t n)
{
    struct rank_places p = {0};
    struct wait w;
    int64_t now_ns = clock_monotonic_ns();
    bool told = false;
    if (now_ns - c->looked_ns < look_ns)
        return false;
    look_at_all(c, now_ns);
    stuck_find_places(c, now_ns, false, &p);
    for (size_t i = 0; i < p.n && !told; i++) {
        /* the gpuprof that records the late rank reports it */
        told = stuck_find(&p, i, &w) && w.late->s &&
               !(w.comm == c->told_comm && w.least == c->told_begun);
        if (!told)
            continue;
        c->told_comm = w.comm;
        c->told_begun = w.least;
        stuck_describe(&w, line, n);
        collect_health(c, w.late->s->process, "stuck", line, w.waited_ns / second_ns);
    }
    vec_release(&p);
    return told;
}
