/* Turns sums over the collectives into results per step: for each rank, for the latest one, and for
 * ranks that are late together. */
#include "analyzer/facts/ranks/ranks.h"

#include "wire/step_mark.h"

#include <stdlib.h>
#include <string.h>

/* String id of the ranges that mark the analysed steps, on any thread; TL_NONE:
 * the steps are not marked. */
static uint32_t mark_name(const struct facts *f)
{
    const struct timeline *t = f->tl;
    if (f->steps.count == 0 || f->steps.source == STEPS_NONE || f->steps.source == STEPS_DETECTED)
        return TL_NONE;
    for (const struct range *r = t->ranges; r < t->ranges + t->range_count; r++)
        if (r->start_ns == f->steps.at[0].start_ns &&
            (r->thread == f->steps.main_thread ||
             (t->threads[r->thread].process == f->steps.process &&
              spool_step_mark(tl_text(t, r->name)))))
            return r->name;
    return TL_NONE;
}

static bool same_mark(const struct timeline *t, uint32_t a, uint32_t b)
{
    /* the names may end in numbers, as ProfilerStep#7 */
    size_t n = strcspn(tl_text(t, b), "#0123456789");
    return a == b || (n > 0 && strncmp(tl_text(t, a), tl_text(t, b), n) == 0 &&
                      strcspn(tl_text(t, a), "#0123456789") == n);
}

/* Median time between marks of `process` that are named like those of the analysed steps. If there
 * is only one mark: its length. 0 = no mark. */
static int64_t own_step(const struct facts *f, uint32_t process, uint32_t name)
{
    enum { MOST = 1024 };
    int64_t v[MOST], last = 0, only = 0;
    size_t n = 0;
    const struct timeline *t = f->tl;
    if (process == f->steps.process)
        return f->steps.median_ns;
    for (size_t k = 0; name != TL_NONE && k < t->thread_count; k++) {
        const struct thread *th = &t->threads[k];
        if (th->process != process)
            continue;
        for (size_t i = th->first_range; i < th->first_range + th->ranges && n < MOST; i++) {
            const struct range *r = &t->ranges[i];
            if (!same_mark(t, r->name, name))
                continue;
            if (last && r->start_ns > last)
                v[n++] = r->start_ns - last;
            last = r->start_ns;
            only = r->end_ns - r->start_ns;
        }
    }
    return n ? median_ns(v, n) : only;
}

/* Publishes the ranks that have matched collectives; their sums become times per used
 * step. -1: out of memory. */
static int sum_up(struct facts *facts, const struct members *m)
{
    struct ranks *r = &facts->ranks;
    int64_t used = (int64_t)(facts->steps.used ? facts->steps.used : 1);
    uint32_t name = mark_name(facts);
    r->at = arena_array(&facts->arena, m->n + 1, sizeof *r->at);
    r->late = TL_NONE;
    if (!r->at)
        return -1;
    for (size_t i = 0; i < m->n; i++) {
        struct rank_facts f = m->at[i];
        if (f.matched == 0) {
            r->left_out++;
            continue;
        }
        f.comm_ns /= used;
        f.wait_ns /= used;
        f.wait_exposed_ns /= used;
        f.model_wait_ns /= used;
        f.late_ns /= used;
        f.late_queued_ns /= used;
        f.step_median_ns = own_step(facts, f.process, name);
        heat_keep_row(facts, i, r->count);
        r->at[r->count++] = f;
        r->late_ns += f.late_ns;
        if (r->late == TL_NONE || f.late_ns > r->at[r->late].late_ns)
            r->late = (uint32_t)(r->count - 1);
    }
    if (r->count)
        r->transfer_ns /= used * (int64_t)r->count;
    return 0;
}

/* "8 to 15": the ranks of in_group; at most six runs of consecutive ranks. NULL: out of memory. */
static const char *group_words(const struct ranks *r, struct arena *arena)
{
    enum { RUNS = 6 };
    const char *text = "";
    size_t runs = 0;
    for (size_t i = 0, j; text && i < r->count; i = j) {
        for (j = i;
             j < r->count && r->in_group[j] && (j == i || r->at[j].rank == r->at[j - 1].rank + 1);
             j++)
            ;
        if (j == i) {
            j++;
            continue;
        }
        const char *comma = runs ? ", " : "";
        if (runs++ == RUNS)
            return arena_printf(arena, "%s, ...", text);
        text = j - i == 1 ? arena_printf(arena, "%s%s%lld", text, comma, (long long)r->at[i].rank)
                          : arena_printf(arena, "%s%s%lld to %lld", text, comma,
                                         (long long)r->at[i].rank, (long long)r->at[j - 1].rank);
    }
    return text;
}

/* True if in most of its collectives the rank came late together with others. *late_ns:
 * its lateness per step. */
static bool comes_with_others(const struct facts *f, const struct rank_facts *r, int64_t *late_ns)
{
    *late_ns = r->group_ns / (int64_t)(f->steps.used ? f->steps.used : 1);
    return r->group_count * 2 > r->matched;
}

/* True if the rank is late in most steps, for at least half as long as the latest rank; used where
 * the late ranks are in different groups. *late_ns: its lateness per step. */
static bool late_as_others(const struct facts *f, const struct rank_facts *r, int64_t *late_ns)
{
    *late_ns = r->late_ns;
    return r->late_steps * 2 > (int64_t)f->steps.used &&
           r->late_ns * 2 >= f->ranks.at[f->ranks.late].late_ns;
}

/* Marks the ranks for which `is_late` holds, if these are at least two and at most half of all. */
static void mark_group(struct facts *f,
                       bool (*is_late)(const struct facts *, const struct rank_facts *, int64_t *))
{
    struct ranks *r = &f->ranks;
    int64_t sum = 0, late_ns;
    r->group_size = 0;
    for (size_t i = 0; i < r->count; i++) {
        r->in_group[i] = is_late(f, &r->at[i], &late_ns);
        r->group_size += r->in_group[i];
        sum += r->in_group[i] ? late_ns : 0;
    }
    if (r->group_size < 2 || r->group_size * 2 > r->count)
        r->group_size = 0;
    else
        r->group_ns = sum / (int64_t)r->group_size;
}

/* Finds the ranks that are late together. -1: out of memory. */
static int find_group(struct facts *f, const struct members *m)
{
    struct ranks *r = &f->ranks;
    r->in_group = arena_array(&f->arena, r->count + 1, sizeof *r->in_group);
    if (!r->in_group)
        return -1;
    mark_group(f, comes_with_others);
    if (r->group_size == 0 && m->groups.n > 1)
        mark_group(f, late_as_others);
    if (r->group_size == 0)
        return 0;
    r->group_text = group_words(r, &f->arena);
    return r->group_text ? 0 : -1;
}

int ranks_summarise(struct facts *f, const struct members *m)
{
    if (sum_up(f, m) < 0)
        return -1;
    heat_close(f);
    return find_group(f, m);
}
