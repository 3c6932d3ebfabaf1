/* Finds why a rank is late: compares its work between collectives with that of a rank of its
 * group that is in time. The cause is more kernels, larger or slower kernels, or a GPU that
 * waits longer for its host. */
#include "analyzer/facts/ranks/ranks.h"
#include "analyzer/facts/limits.h"

#include "analyzer/measure/rank_work.h"
#include "wire/step_mark.h"

#include <stdlib.h>
#include <string.h>

struct pair {
    const struct ranks *r;
    struct arena *arena;
    struct rank_work late, other;
    int64_t other_rank;
    double scale_late, scale_other; /* factors from sums over the recording to one step */
};

/* The matched group of the rank whose members are charged with most lateness; sends and receives
 * are left out. NULL: none. */
static const struct group *group_of(const struct members *m, uint32_t member)
{
    const struct group *best = NULL;
    for (size_t i = 0; i < m->groups.n; i++) {
        const struct group *g = &m->groups.at[i];
        for (size_t k = g->first; k < g->first + g->count; k++) {
            const struct lineup *l = &m->lines.at[k];
            if (l->member == member && l->matched && !l->pairs && g->collectives &&
                (!best || g->late_ns > best->late_ns))
                best = g;
        }
    }
    return best;
}

/* The member of the group, other than the late ones, with the median charged
 * lateness; TL_NONE: none. */
static uint32_t someone_in_time(const struct facts *f, const struct members *m,
                                const struct group *g, uint32_t late)
{
    enum { MOST = 64 };
    uint32_t of[MOST];
    size_t n = 0;
    for (size_t k = g->first; k < g->first + g->count && n < MOST; k++) {
        uint32_t member = m->lines.at[k].member;
        bool in_group =
            f->ranks.group_size && m->at[member].late_steps * 2 > (int64_t)f->steps.used;
        if (member == late || !m->lines.at[k].matched || in_group)
            continue;
        size_t at = n++;
        for (; at > 0 && m->at[of[at - 1]].late_ns > m->at[member].late_ns; at--)
            of[at] = of[at - 1];
        of[at] = member;
    }
    return n ? of[(n - 1) / 2] : TL_NONE;
}

/* The sum comes from a file (a rank's summary), so limit it to 0 .. one day. */
static int64_t per_step(int64_t sum, double scale)
{
    enum { DAY_S = 86400 };
    double most = DAY_S * 1e9, ns = (double)sum * scale;
    return (int64_t)(ns > most ? most : ns < 0 ? 0 : ns);
}

/* Among the ranges that take at least least_ns longer on the late rank, the one with the shortest
 * time: the innermost. *more_ns: how much longer it takes. NULL: none. */
static const char *longer_range(const struct pair *p, int64_t least_ns, int64_t *more_ns)
{
    const char *best = NULL;
    int64_t own = INT64_MAX;
    for (size_t i = 0; i < p->late.range_count; i++) {
        const struct rank_range *x = &p->late.ranges[i];
        int64_t late = per_step(x->ns, p->scale_late);
        int64_t more = late - per_step(rank_work_range(&p->other, x->name), p->scale_other);
        if (more >= least_ns && late < own) {
            own = late;
            best = x->name;
            *more_ns = more;
        }
    }
    return best;
}

#define MS(ns) ((double)(ns) / 1e6)

/* Explains why the late rank's kernels take longer: there are more of them, they have more
 * thread blocks, or else its GPU is slower. More kernels or blocks are the explanation if
 * their number has grown by more than a FACTS_MORE_WORK-th of the share by which the time has
 * grown. NULL: out of memory. */
static const char *why_kernels(struct facts *f, const struct pair *p, int64_t more_ns)
{
    double kernels = (double)p->late.kernels * p->scale_late,
           others = (double)p->other.kernels * p->scale_other;
    double blocks = (double)p->late.blocks * p->scale_late,
           other_blocks = (double)p->other.blocks * p->scale_other;
    double longer = (double)p->late.compute_ns * p->scale_late /
                        ((double)p->other.compute_ns * p->scale_other + 1) -
                    1;
    f->ranks.late_cause = LATE_MORE_WORK;
    if (kernels > others * (1 + longer / FACTS_MORE_WORK))
        return arena_printf(p->arena,
                            "beside rank %lld it runs %.0f kernels per step instead of %.0f, which "
                            "take %.2f ms more",
                            (long long)p->other_rank, kernels, others, MS(more_ns));
    if (other_blocks > 0 && blocks > other_blocks * (1 + longer / FACTS_MORE_WORK))
        return arena_printf(p->arena,
                            "beside rank %lld its kernels have %.0f %% more thread blocks and take "
                            "%.2f ms more per step",
                            (long long)p->other_rank, 100 * (blocks / other_blocks - 1),
                            MS(more_ns));
    f->ranks.late_cause = LATE_SLOW_GPU;
    const char *clock = "";
    if (p->late.clock_mhz > 0 && p->other.clock_mhz > p->late.clock_mhz)
        clock = arena_printf(p->arena, " (at %lld MHz instead of %lld)",
                             (long long)p->late.clock_mhz, (long long)p->other.clock_mhz);
    return clock ? arena_printf(p->arena,
                                "beside rank %lld the same kernels take %.2f ms more per step%s",
                                (long long)p->other_rank, MS(more_ns), clock)
                 : NULL;
}

static const char *why_host(const struct pair *p, int64_t more_ns)
{
    int64_t range_ns = 0;
    const char *range = longer_range(p, more_ns / 2, &range_ns);
    const char *in = range ? arena_printf(p->arena, ", and its host spends %.2f ms more in '%s'",
                                          MS(range_ns), range)
                           : "";
    return in ? arena_printf(p->arena, "beside rank %lld its GPU idles for %.2f ms more per step%s",
                             (long long)p->other_rank, MS(more_ns), in)
              : NULL;
}

/* Sets late_cause and late_why if kernels or idle time explain at least half of the lateness. If
 * neither rank has kernels besides collectives, only collectives were recorded, and no cause can be
 * found. -1: out of memory. */
static int explain(struct facts *f, struct pair *p, int64_t late_ns)
{
    if (p->late.compute_ns == 0 && p->other.compute_ns == 0)
        return 0;
    int64_t kernels =
        per_step(p->late.compute_ns, p->scale_late) - per_step(p->other.compute_ns, p->scale_other);
    int64_t host =
        per_step(p->late.idle_ns, p->scale_late) - per_step(p->other.idle_ns, p->scale_other);
    if (kernels * 2 >= late_ns && kernels >= host)
        f->ranks.late_why = why_kernels(f, p, kernels);
    else if (host * 2 < late_ns)
        return 0;
    else {
        f->ranks.late_cause = LATE_HOST;
        f->ranks.late_why = why_host(p, host);
    }
    return f->ranks.late_why ? 0 : -1;
}

/* ---- the two ranks side by side ---- */

/* Adds a range unless it is there, keeping those that differ most, in this order. */
static void add_range(const struct pair *p, struct rank_beside *b, const char *name)
{
    int64_t late = rank_work_range(&p->late, name), other = rank_work_range(&p->other, name);
    int64_t ns[2] = {late ? per_step(late, p->scale_late) : -1,
                     other ? per_step(other, p->scale_other) : -1};
    size_t at = b->range_count;
    for (size_t i = 0; i < b->range_count; i++)
        if (strcmp(b->ranges[i].name, name) == 0)
            return;
    for (;
         at > 0 && llabs(ns[0] - ns[1]) > llabs(b->ranges[at - 1].ns[0] - b->ranges[at - 1].ns[1]);
         at--)
        if (at < RANKS_BESIDE)
            b->ranges[at] = b->ranges[at - 1];
    if (at == RANKS_BESIDE)
        return;
    b->ranges[at].name = name;
    memcpy(b->ranges[at].ns, ns, sizeof ns);
    b->range_count += b->range_count < RANKS_BESIDE;
}

static void set_beside(struct ranks *r, const struct pair *p, int64_t rank)
{
    struct rank_beside *b = &r->beside;
    const struct rank_work *w[] = {&p->late, &p->other};
    const double scale[] = {p->scale_late, p->scale_other};
    *b = (struct rank_beside){.known = true, .rank = {rank, p->other_rank}};
    for (size_t i = 0; i < 2; i++) {
        b->compute_ns[i] = per_step(w[i]->compute_ns, scale[i]);
        b->idle_ns[i] = per_step(w[i]->idle_ns, scale[i]);
        b->kernels[i] = (double)w[i]->kernels * scale[i];
        b->blocks[i] = (double)w[i]->blocks * scale[i];
    }
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < w[i]->range_count; k++)
            if (!spool_step_mark(w[i]->ranges[k].name))
                add_range(p, b, w[i]->ranges[k].name);
}

int ranks_explain(struct facts *f, const struct members *m)
{
    struct ranks *r = &f->ranks;
    size_t at = r->late;
    for (size_t i = 0; r->group_size && i < r->count; i++)
        at = r->in_group[i] && (!r->in_group[at] || r->at[i].late_ns > r->at[at].late_ns) ? i : at;
    if (r->count < 2 || at >= r->count || r->at[at].late_ns * FACTS_LATE_WORTH < f->step_ns)
        return 0;
    uint32_t late = member_of(m, &r->at[at]);
    const struct group *g = group_of(m, late);
    uint32_t other = g ? someone_in_time(f, m, g, late) : TL_NONE;
    if (other == TL_NONE)
        return 0;
    struct pair p = {.r = r, .arena = &f->arena, .other_rank = m->at[other].rank};
    if (rank_work_find(f->tl, m->at[late].process, m->at[late].device, &p.late) < 0 ||
        rank_work_find(f->tl, m->at[other].process, m->at[other].device, &p.other) < 0)
        return -1;
    if (p.late.collectives == 0 || p.other.collectives == 0)
        return 0;
    double per = (double)r->at[at].matched / (double)(f->steps.used ? f->steps.used : 1);
    p.scale_late = per / (double)p.late.collectives;
    p.scale_other = per / (double)p.other.collectives;
    set_beside(r, &p, r->at[at].rank);
    return explain(f, &p, r->group_size ? r->group_ns : r->at[at].late_ns);
}
