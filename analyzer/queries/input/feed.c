/* Finds the loader that the program waits for most, and what its batches and workers cost. */
#include "analyzer/queries/input/feed.h"

#include "analyzer/measure/median.h"
#include "analyzer/facts/recorded.h"
#include "analyzer/queries/input/feed_cpu.h"
#include "analyzer/queries/input/opening.h"
#include "wire/fact_keys.h"
#include "wire/spool_format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- which steps, which loader ---- */

static bool counts(const struct facts *f, int64_t ns)
{
    uint32_t s = facts_step_at(f, ns);
    return s != TL_NONE && (f->steps.at[s].used || f->steps.at[s].slow);
}

static bool is_wait(const struct row_loader *l)
{
    return l->what == SPOOL_LOADER_WAIT || l->what == SPOOL_LOADER_BEGIN ||
           l->what == SPOOL_LOADER_END;
}

/* A damaged or hostile profile may hold any number: subtract as doubles, since
 * integers could overflow. */
static double length(const struct row_loader *l)
{
    return (double)l->end_ns - (double)l->start_ns;
}

static bool in_process(const struct facts *f, const struct row_loader *l, uint32_t *thread)
{
    *thread = timeline_thread_index(f->tl, l->thread);
    return *thread != TL_NONE && f->tl->threads[*thread].process == f->steps.process;
}

enum { MOST_LOADERS = 64 };

/* Chooses the loader with most waiting time in the steps. Looks at the waits of the
 * training thread or, if it has none, at those of a thread that reads ahead for it. False:
 * no thread waits for a loader. */
static bool choose(const struct facts *facts, struct feed *f)
{
    /* [0]: waits of the training thread; [1]: of other threads */
    double of[2][MOST_LOADERS] = {{0}};
    uint32_t other = TL_NONE, thread;
    for (size_t i = 0; i < facts->tl->loader_count; i++) {
        const struct row_loader *l = &facts->tl->loaders[i];
        if (!is_wait(l) || !in_process(facts, l, &thread) || !counts(facts, l->start_ns))
            continue;
        bool ahead = thread != facts->steps.main_thread;
        other = ahead ? thread : other;
        size_t number = l->batch > 0 && l->batch < MOST_LOADERS ? (size_t)l->batch : 0;
        of[ahead][number] += length(l);
    }
    double own = 0, best = 0;
    for (size_t i = 0; i < MOST_LOADERS; i++)
        own += of[0][i];
    f->ahead = own <= 0 && other != TL_NONE;
    f->thread = f->ahead ? other : facts->steps.main_thread;
    for (size_t i = 0; i < MOST_LOADERS; i++) {
        f->loaders += of[f->ahead][i] > 0;
        if (of[f->ahead][i] > best) {
            best = of[f->ahead][i];
            f->loader = (int)i;
        }
    }
    return best > 0;
}

static bool of_loader(const struct feed *f, const struct row_loader *l)
{
    return l->batch <= 0 || f->loader == 0 || l->batch == f->loader;
}

/* ---- sums over its records ---- */

struct sums {
    double wait_ns, first_ns, around_ns; /* all waits; the first wait of each loop;
                                            starting and ending loops */
    double making_ns, cpu_ns, collate_ns;
    double waits, loops, ends, made, cpus, collated;
    int64_t *later;              /* lengths of all waits but the first of each loop */
    struct opening_wait *firsts; /* the first wait of each loop */
    size_t later_count, first_count;
    int most_worker;
    bool first_is_next, begun;
};

static void add_wait(struct sums *s, const struct row_loader *l)
{
    double ns = length(l);
    s->wait_ns += ns;
    if (l->what == SPOOL_LOADER_WAIT) {
        s->waits++;
        if (s->first_is_next)
            s->first_ns += ns;
        else
            s->later[s->later_count++] = (int64_t)fmin(ns, 1e15);
        s->first_is_next = false;
        return;
    }
    s->around_ns += ns;
    s->loops += l->what == SPOOL_LOADER_BEGIN;
    s->first_is_next = l->what == SPOOL_LOADER_BEGIN;
}

/* Also in steps that do not count: what is made in such a wait is no usual batch. */
static void note_first(struct sums *s, const struct row_loader *l, bool used)
{
    if (l->what == SPOOL_LOADER_WAIT && s->begun)
        s->firsts[s->first_count++] = (struct opening_wait){l->start_ns, l->end_ns, used, 0};
    s->begun = l->what == SPOOL_LOADER_BEGIN;
}

static void add_made(struct sums *s, const struct row_loader *l)
{
    if (l->what == SPOOL_LOADER_COLLATE) {
        s->collate_ns += length(l);
        s->collated++;
    } else if (l->what == SPOOL_LOADER_FETCH) {
        s->making_ns += length(l);
        s->made++;
        s->cpu_ns += l->cpu_ns >= 0 ? (double)l->cpu_ns : 0;
        s->cpus += l->cpu_ns >= 0;
        if (l->worker > s->most_worker && l->worker < 100000)
            s->most_worker = (int)l->worker;
    }
}

/* Sums up all records. Rows of a thread are sorted by time. */
static void add_all(const struct facts *facts, const struct feed *f, struct sums *s)
{
    uint32_t thread;
    for (size_t i = 0; i < facts->tl->loader_count; i++) {
        const struct row_loader *l = &facts->tl->loaders[i];
        if (!of_loader(f, l) || l->end_ns < l->start_ns)
            continue;
        if (!is_wait(l)) {
            add_made(s, l);
        } else if (in_process(facts, l, &thread) && thread == f->thread) {
            bool used = counts(facts, l->start_ns);
            note_first(s, l, used);
            if (used)
                add_wait(s, l);
        }
    }
}

/* ---- putting it together ---- */

static double fact_number(const struct facts *facts, struct arena *arena, const struct feed *f,
                          const char *what)
{
    const char *text = query_feed_fact(facts, arena, f, what);
    return text ? strtod(text, NULL) : 0;
}

static void settings(const struct facts *facts, struct arena *arena, struct feed *f)
{
    const char *now = query_feed_fact(facts, arena, f, NULL),
               *iterable = query_feed_fact(facts, arena, f, FACT_LOADER_ITERABLE);
    const char *workers = now ? strstr(now, "num_workers=") : NULL;
    int told = workers ? atoi(workers + strlen("num_workers=")) : -1;
    f->have = told > f->have ? told : f->have;
    f->persistent = now && strstr(now, "persistent_workers=True");
    f->foreign = query_feed_fact(facts, arena, f, FACT_LOADER_FOREIGN) != NULL;
    f->anew = f->foreign || query_feed_fact(facts, arena, f, FACT_LOADER_ANEW) != NULL;
    f->iterable = iterable != NULL;
    f->shards = iterable && strcmp(iterable, "shards") == 0;
}

/* Divides the time to make a batch. Time that is neither computing nor waiting for a core is sleep:
 * for a disk, a network, a lock. */
static void split_fetch(struct feed *f, const struct cpu_use *u)
{
    double off = f->cpu_ns >= 0 && f->fetch_ns > f->cpu_ns ? f->fetch_ns - f->cpu_ns : 0;
    double line = -1;
    /* assume the same ratio of waiting to computing as in all of the worker's time */
    if (f->have > 0 && u->worker_cpu > 0 && u->worker_line >= 0)
        line = f->cpu_ns * u->worker_line / u->worker_cpu;
    else if (f->have <= 0 && u->main_cpu > 0 && u->main_line >= 0)
        line = f->cpu_ns * u->main_line / u->main_cpu;
    f->sleep_hi = off;
    f->queue_ns = line > 0 ? (line < off ? line : off) : 0;
    f->sleep_known = line >= 0 || off * 100 < f->fetch_ns * QUERY_OFF_CORE_PCT;
    f->sleep_low = line >= 0 ? (line < off ? off - line : 0) : 0;
    if (line >= 0 && off > 0)
        f->sleep_hi = f->sleep_low + QUERY_SLEEP_DOUBT * (off - f->sleep_low);
}

/* Sets the cost of handing a batch from a worker to the loop: estimates by size,
 * lowered to what was observed. */
static void set_handover_costs(const struct facts *facts, struct arena *arena, struct feed *f,
                               struct sums *s)
{
    double bytes = fact_number(facts, arena, f, "batch.bytes");
    const char *text = timeline_meta(facts->tl, FACT_TORCH_BATCH_BYTES);
    bytes = text ? strtod(text, NULL) : bytes;
    f->hand_low = QUERY_HAND_NS.good + QUERY_HAND_PER_BYTE.good * bytes;
    f->hand_hi = QUERY_HAND_NS.bad + QUERY_HAND_PER_BYTE.bad * bytes;
    f->send_low = QUERY_HAND_NS.good + QUERY_SEND_PER_BYTE.good * bytes;
    f->send_hi = QUERY_HAND_NS.bad + QUERY_SEND_PER_BYTE.bad * bytes;
    /* The shortest waits found their batch ready: they contain only the hand-over. */
    if (f->have > 0 && s->later_count >= (size_t)QUERY_READY_WAITS) {
        sort_ns(s->later, s->later_count);
        double ready = (double)s->later[s->later_count / (size_t)QUERY_READY_WAITS];
        f->hand_seen = true;
        f->hand_low = ready < f->hand_low ? ready : f->hand_low;
        f->hand_hi = ready < f->hand_hi ? ready : f->hand_hi;
    }
}

static void set_wait_times(struct feed *f, const struct sums *s, const struct cpu_use *u)
{
    f->wait_ns = s->wait_ns / f->steps;
    /* the training thread waits while it sleeps, and only while the thread
     * that reads ahead is behind */
    if (f->ahead) {
        double asleep =
            u->main_cpu >= 0 ? 1 - u->main_cpu - (u->main_line > 0 ? u->main_line : 0) : 0;
        double behind = f->wait_ns >= QUERY_BEHIND * f->step_ns ? f->wait_ns : 0;
        f->wait_ns = asleep > 0 && asleep * f->step_ns < behind ? asleep * f->step_ns : behind;
        f->wait_ns = asleep > 0 ? f->wait_ns : 0;
    }
    if (f->wait_ns > f->step_ns)
        f->wait_ns = f->step_ns;
    f->rest_ns = f->step_ns - f->wait_ns;
    double line = f->have > 0 && u->main_line > 0 && !f->others ? u->main_line * f->step_ns : 0;
    f->line_ns = line < f->rest_ns / 2 ? line : f->rest_ns / 2;
}

/* Finds whether other programs use cores: those that this program neither uses nor leaves
 * idle. If idle time was not recorded, threads that wait for a core show it, because they
 * would use any free core. */
static void share_cores(const struct facts *facts, struct feed *f, const struct cpu_use *u)
{
    const char *text = timeline_meta(facts->tl, "idle_cores");
    double idle = text ? strtod(text, NULL) : -1, own = u->all;
    if (f->cores <= 0 || own <= 0)
        return;
    if (idle >= 0)
        f->others = own + idle < QUERY_OTHERS_SURE * f->cores;
    else
        f->others =
            own < QUERY_OTHERS_OWN * f->cores && own + u->lines > QUERY_OTHERS_WANTED * f->cores;
    double left = idle >= 0 ? own + idle : own * QUERY_OTHERS_LEAVE, fair = f->cores / 2;
    if (f->others) /* a mostly sleeping thread gets its turn among any number of others */
        f->cores = left > fair ? left : fair;
}

/* The start of workers and data sets, per loop. */
static void set_starts(struct feed *f, const struct sums *s, const struct opening *o)
{
    double each = f->fetch_ns * s->loops, making = o->waited_ns > each ? o->waited_ns : each;
    f->startup_ns = -1;
    if (s->loops <= 0)
        return;
    if (f->have > 0) {
        double first = s->first_ns - making - s->loops * f->hand_low;
        f->startup_ns = (s->around_ns + (first > 0 ? first : 0)) / s->loops;
    }
    f->opening_ns = o->waited_ns > 0 ? (making - each) / s->loops : 0;
}

static void fill(const struct facts *facts, struct arena *arena, struct feed *f, struct sums *s)
{
    struct opening o = {0};
    f->have = s->made > 0 ? s->most_worker + 1 : -1;
    settings(facts, arena, f);
    if (f->iterable)
        o = query_opening(facts, f, s->firsts, s->first_count);
    if (o.made < s->made) {
        s->made -= o.made;
        s->making_ns -= o.making_ns;
        s->cpu_ns -= o.cpu_ns;
        s->cpus -= o.cpus;
    } else {
        o = (struct opening){0};
    }
    f->steps = (double)steps_like(&facts->steps);
    f->step_ns = (double)facts->steps.pace_ns;
    f->loops = s->loops;
    f->batches = s->waits / f->steps;
    f->fetch_ns = s->made > 0 ? s->making_ns / s->made : 0;
    f->cpu_ns = s->cpus > 0 ? s->cpu_ns / s->cpus : -1;
    f->collate_ns = s->collated > 0 && s->made > 0 ? s->collate_ns / s->made : -1;
    f->cores = facts->host.usable_cores;
    struct cpu_use u = query_cpu_use(facts);
    share_cores(facts, f, &u);
    split_fetch(f, &u);
    set_wait_times(f, s, &u);
    set_handover_costs(facts, arena, f, s);
    set_starts(f, s, &o);
    double own = f->have == 0 && f->cpu_ns > 0 ? f->cpu_ns * f->batches : 0;
    double all = u.trains >= 0 ? u.trains * f->step_ns : f->rest_ns + own;
    f->train_ns = all > own ? all - own : 0;
    f->train_known = u.trains >= 0;
}

bool query_feed(const struct facts *facts, struct arena *arena, struct feed *f)
{
    *f = (struct feed){.have = -1};
    if (facts->steps.source == STEPS_NONE || facts->steps.pace_ns <= 0 ||
        steps_like(&facts->steps) == 0 || !choose(facts, f))
        return false;
    struct sums s = {.most_worker = -1};
    s.later = calloc(facts->tl->loader_count + 1, sizeof *s.later);
    s.firsts = calloc(facts->tl->loader_count + 1, sizeof *s.firsts);
    bool room = s.later && s.firsts;
    if (room) {
        add_all(facts, f, &s);
        fill(facts, arena, f, &s);
    }
    free(s.later);
    free(s.firsts);
    return room;
}
