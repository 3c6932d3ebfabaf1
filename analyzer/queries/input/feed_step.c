/* How long a step takes with another number of workers: as long as the slowest of the loop, the
 * workers, and the cores that they share. */
#include "analyzer/queries/input/feed.h"
#include "wire/fact_keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct costs {
    double off, hand, send, fork; /* per batch, and per worker for fork: either all
                                     at best or all at worst */
    double line;  /* the part of the rest of the step in which the loop lacks a core because
                     of the present workers */
    double less;  /* without workers: further costs that workers cause in the loop */
    bool crowded; /* if little room is left on the cores, the loop sometimes loses its core */
};

/* Time per step until the first batch of each loop arrives from idle workers. The loop asks them to
 * begin and waits for the answer, which takes two hand-overs between processes. */
static double fill_up(const struct feed *f, double first_ns, double hand_ns)
{
    return (first_ns + 2 * hand_ns) * f->loops / f->steps;
}

/* Time per step to start n workers anew for each loop; 0 if the loader stays the same. */
static double start_up(const struct feed *f, int n, double fork_ns)
{
    if (n == 0 || !f->anew)
        return 0;
    double each = f->startup_ns >= 0 && f->have > 0 ? f->startup_ns / f->have : fork_ns;
    return each * n * f->loops / f->steps;
}

/* Length of a step with n workers under these costs. */
static double step_with(const struct feed *f, int n, const struct costs *c)
{
    double cpu = f->cpu_ns >= 0 ? f->cpu_ns : f->fetch_ns, b = f->batches;
    double loop = f->rest_ns - c->line + (n ? b * c->hand : b * (cpu + c->off));
    if (n == 0)
        return loop - c->less;
    double workers = b * (cpu + c->off + c->send) / n, step = fmax(loop, workers);
    double wanted = f->train_ns + b * (cpu + c->send + c->hand);
    if (f->cores > 0)
        step = fmax(step, wanted / f->cores);
    double room = f->cores * step - wanted, tight = QUERY_TIGHT * f->cores * step;
    if (c->crowded && f->cores > 0 && room < tight)
        step += (tight - room) / 2;
    return step + fill_up(f, cpu + c->off + c->send, c->hand) + start_up(f, n, c->fork);
}

/* Time to make a batch that is not spent computing: sleep, and waiting for a core if other programs
 * use the cores, or at worst if this program's threads still do. */
static double off_core(const struct feed *f, int n, bool at_best)
{
    double too_many = n + 1 - f->cores, now = f->have + 1 - f->cores, part = 1;
    if (f->have > 0 && now > 0 && !f->others)
        part = too_many > 0 ? fmin(1, too_many / now) : QUERY_LINE_LEFT;
    if (at_best)
        return f->sleep_low + (f->others ? f->queue_ns : 0);
    return f->sleep_hi + part * f->queue_ns;
}

struct feed_step query_feed_step(const struct feed *f, int n)
{
    double shared =
        f->have > 0 && f->collate_ns > 0 ? QUERY_SHARED_MEMORY * f->collate_ns * f->batches : 0;
    double cold =
        fmax(QUERY_COLD_LEAST * f->rest_ns, fmin(QUERY_COLD_MOST * f->rest_ns, QUERY_COLD_NS));
    double beside = f->have > 0 ? fmax(0, cold - f->line_ns) : 0;
    struct costs low = {off_core(f, n, true), f->hand_low,     f->send_low, QUERY_FORK_NS.good,
                        f->line_ns,           shared + beside, false};
    struct costs high = {
        off_core(f, n, false), f->hand_hi, f->send_hi, QUERY_FORK_NS.bad, 0, 0, true};
    struct feed_step s = {step_with(f, n, &low), 0, step_with(f, n, &high)};
    double now = f->step_ns;
    double opening = f->opening_ns * f->loops / f->steps; /* stays with any number of workers */
    if (f->startup_ns > 0 && !f->persistent && !f->anew)
        now -= f->startup_ns * f->loops / f->steps;
    if (n == f->have) {
        s.low_ns = s.high_ns = now;
        /* if the model is too optimistic about the present number of workers, raise the upper
     * bound by the same factor */
    } else if (n > 0 && f->have > 0) {
        low.off = off_core(f, f->have, true);
        high.off = off_core(f, f->have, false);
        double model = sqrt(step_with(f, f->have, &low) * step_with(f, f->have, &high));
        s.high_ns *= now - opening > model ? (now - opening) / model : 1;
    }
    if (n != f->have) {
        s.low_ns += opening;
        s.high_ns += opening;
    }
    s.mid_ns = sqrt(s.low_ns * s.high_ns);
    return s;
}

int query_feed_most(const struct feed *f)
{
    double cpu = f->cpu_ns >= 0 ? f->cpu_ns : f->fetch_ns;
    int most = 0;
    if (f->cores <= 0)
        return 0;
    for (int n = 1; n <= QUERY_IO_WORKERS; n++) {
        struct feed_step s = query_feed_step(f, n);
        double making = cpu + f->send_low, busy = making / (making + f->sleep_low);
        double trains = f->train_ns / (n == f->have ? f->step_ns : s.mid_ns);
        if (n * busy > f->cores - trains + QUERY_HALF_A_CORE && n > 1)
            break;
        most = n;
    }
    return most;
}

int query_feed_best(const struct feed *f)
{
    int most = query_feed_most(f), best = f->have;
    double now = query_feed_step(f, f->have).mid_ns, least = now,
           enough = QUERY_WORTH_WORKERS * now;
    for (int n = 0; n <= most; n++) {
        struct feed_step s = query_feed_step(f, n);
        double with = (s.mid_ns + s.high_ns) / 2;
        if (n == f->have || s.high_ns > now - enough || with > least - enough)
            continue;
        least = with;
        best = n;
    }
    return best;
}

const char *query_feed_fact(const struct facts *facts, struct arena *arena, const struct feed *f,
                            const char *what)
{
    const char *dot = what ? "." : "", *rest = what ? what : "";
    int number = f->loader > 0 ? f->loader : 1;
    const char *value = timeline_meta(
        facts->tl, arena_printf(arena, FACT_TORCH_LOADER ".%d%s%s", number, dot, rest));
    return value || f->foreign /* a foreign class has no unnumbered fact */
               ? value
               : timeline_meta(facts->tl, arena_printf(arena, FACT_TORCH_LOADER "%s%s", dot, rest));
}

int64_t query_feed_share(const struct facts *facts, const struct feed *f, double ns)
{
    return (int64_t)(ns / f->step_ns * (double)facts->step_ns);
}

int64_t query_feed_starting(const struct facts *facts, struct arena *arena)
{
    struct feed f;
    bool starts = query_feed(facts, arena, &f) && f.have > 0 && f.startup_ns > 0 && !f.persistent;
    return starts ? query_feed_share(facts, &f, f.startup_ns * f.loops / f.steps) : 0;
}

int64_t query_feed_opening(const struct facts *facts, struct arena *arena)
{
    struct feed f;
    bool opens = query_feed(facts, arena, &f) && f.opening_ns > 0;
    return opens ? query_feed_share(facts, &f, f.opening_ns * f.loops / f.steps) : 0;
}
