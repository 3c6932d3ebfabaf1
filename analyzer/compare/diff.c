/* diff: what changed between two analyses, and how certain that is.
 *
 * The interval is that of the ratio of median step times (of mean step times if long steps recur),
 * by a block bootstrap over the used steps. Neighbouring steps depend on each other (clocks,
 * caches, other processes), so it draws blocks of ten steps and not single ones. 5,000 draws with a
 * fixed seed: the same input gives the same answer. Cost: O(draws x steps). */
#include "analyzer/compare/compare.h"
#include "analyzer/compare/steps_sample.h"
#include "analyzer/compare/work.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_STEPS = 8, KERNELS_SHOWN = 12, CHANGES = 64 };

static const char *device_name(const struct advice *a)
{
    return a->facts->device ? tl_text(a->facts->tl, a->facts->device->name) : "";
}

const char *runs_differ(struct arena *arena, const struct advice *base, const struct advice *now,
                        bool per_sample)
{
    bool window = analysis_of_window(base->facts);
    if (!base->facts->steps.count || !now->facts->steps.count)
        return arena_printf(arena, "%s contains no steps",
                            now->facts->steps.count    ? "the baseline"
                            : base->facts->steps.count ? "the new recording"
                                                       : "neither");
    if (base->facts->on_cpu != now->facts->on_cpu)
        return "one used a GPU, the other did not";
    if (facts_virtual(base->facts) != facts_virtual(now->facts))
        return "one ran on a virtual GPU, the other on a real one";
    if (strcmp(device_name(base), device_name(now)) != 0)
        return arena_printf(arena, "they ran on different GPUs (%s; %s)", device_name(base),
                            device_name(now));
    if (window != analysis_of_window(now->facts))
        return "in one of them no step repeats";
    if (window && work_of_windows_differs(base, now))
        return "no step repeats in them, and they recorded different work";
    return work_differs(arena, base, now, per_sample);
}

static void add_change(struct diff *d, struct change c)
{
    if (llabs(c.new_ns - c.base_ns) <= d->base_ns / 1000 || d->change_count == CHANGES)
        return; /* less than a thousandth of the step counts as unchanged */
    d->changes[d->change_count++] = c;
}

static void add(struct diff *d, const char *kind, const char *what, int64_t base_ns, int64_t new_ns)
{
    add_change(d, (struct change){what, kind, base_ns, new_ns, false, NULL});
}

/* What one rule's finding saves at most in each. */
static void add_finding(struct diff *d, const struct outcome *base, const struct outcome *now)
{
    bool had = base->verdict == RULE_FIRES, has = now->verdict == RULE_FIRES;
    add_change(d, (struct change){base->rule->id, "finding", had ? base->saves_high_ns : 0,
                                  has ? now->saves_high_ns : 0,
                                  (had && base->of_run) || (has && now->of_run), has ? now : NULL});
}

static int64_t kernel_ns(const struct advice *a, const char *name)
{
    int64_t ns = 0;
    for (size_t i = 0; i < a->facts->totals.kernel_count; i++)
        if (strcmp(tl_text(a->facts->tl, a->facts->totals.kernels[i].name), name) == 0)
            ns += a->facts->totals.kernels[i].total_ns;
    return facts_per_step(a->facts, ns);
}

static int64_t moved_ns(const struct change *c)
{
    return llabs(c->new_ns - c->base_ns);
}

static int by_movement(const void *x, const void *y)
{
    const struct change *a = x, *b = y;
    int64_t p = moved_ns(a), q = moved_ns(b);
    return p != q ? (p < q) - (p > q) : strcmp(a->what, b->what);
}

/* Is the name among the first n kernels of `a`? */
static bool shown(const struct advice *a, const char *name, size_t n)
{
    for (size_t i = 0; i < a->facts->totals.kernel_count && i < n; i++)
        if (strcmp(tl_text(a->facts->tl, a->facts->totals.kernels[i].name), name) == 0)
            return true;
    return false;
}

static void add_kernels(struct diff *d, const struct advice *a, const struct advice *other,
                        bool a_is_base)
{
    for (size_t i = 0; i < a->facts->totals.kernel_count && i < KERNELS_SHOWN; i++) {
        const char *name = tl_text(a->facts->tl, a->facts->totals.kernels[i].name);
        int64_t here = kernel_ns(a, name), there = kernel_ns(other, name);
        if (shown(a, name, i) || (!a_is_base && shown(other, name, KERNELS_SHOWN)))
            continue; /* already listed: as another family, or from the base's side */
        add(d, "kernel", name, a_is_base ? here : there, a_is_base ? there : here);
    }
}

static int compare_steps(struct diff *d, const struct advice *base, const struct advice *now)
{
    struct pace_change *p = &d->pace;
    *p = (struct pace_change){base->facts->steps.pace_ns, now->facts->steps.pace_ns, 1, 1, 1};
    if (p->base_ns > 0)
        p->ratio = p->ratio_low = p->ratio_high = (double)p->new_ns / (double)p->base_ns;
    if (!d->enough)
        return 0;
    if (sample_pace_ratio(base, now, &p->ratio_low, &p->ratio_high) < 0)
        return -1;
    d->ratio_low = p->ratio_low;
    d->ratio_high = p->ratio_high;
    return d->by_mean ? 0 : sample_ratio(base, now, &d->ratio_low, &d->ratio_high);
}

/* Converts every ratio from steps to samples, by the sizes of the batches. */
static void per_sample(struct diff *d, const struct advice *base, const struct advice *now)
{
    int64_t b = work_batch(base), n = work_batch(now);
    double *const ratios[] = {&d->ratio,      &d->ratio_low,      &d->ratio_high,
                              &d->pace.ratio, &d->pace.ratio_low, &d->pace.ratio_high};
    for (size_t i = 0; b && n && i < sizeof ratios / sizeof *ratios; i++)
        *ratios[i] *= (double)b / (double)n;
}

const char *change_words(const struct change *c)
{
    for (int i = 0; strcmp(c->kind, "part") == 0 && i < PART_COUNT; i++)
        if (strcmp(c->what, part_key[i]) == 0)
            return part_title[i];
    return c->what;
}

struct diff *diff_find(struct advice *base, struct advice *now, bool by_sample, struct err *e)
{
    struct diff *d = calloc(1, sizeof *d);
    if (!d || !(d->changes = arena_array(&d->arena, CHANGES, sizeof *d->changes))) {
        diff_free(d);
        err_set(e, "out of memory");
        return NULL;
    }
    d->now = now;
    d->per_sample = by_sample;
    d->of_windows = analysis_of_window(base->facts) && analysis_of_window(now->facts);
    d->by_mean = analysis_by_mean(base->facts) || analysis_by_mean(now->facts);
    d->base_ns = d->by_mean ? base->facts->steps.pace_ns : base->facts->steps.median_ns;
    d->new_ns = d->by_mean ? now->facts->steps.pace_ns : now->facts->steps.median_ns;
    d->ratio = d->base_ns > 0 ? (double)d->new_ns / (double)d->base_ns : 1;
    d->ratio_low = d->ratio_high = d->ratio;
    d->comparable = runs_differ(&d->arena, base, now, by_sample);
    d->commands = work_commands_differ(&d->arena, base, now);
    d->enough = base->facts->steps.used >= LEAST_STEPS && now->facts->steps.used >= LEAST_STEPS;
    if (compare_steps(d, base, now) < 0) {
        diff_free(d);
        err_set(e, "out of memory");
        return NULL;
    }
    if (by_sample)
        per_sample(d, base, now);
    if (d->base_ns <= 0 || d->new_ns <= 0)
        return d; /* without a step time nothing can have changed */
    for (size_t i = 0; i < base->outcome_count && i < now->outcome_count; i++)
        add_finding(d, &base->outcomes[i], &now->outcomes[i]);
    for (int p = 0; p < PART_COUNT; p++)
        add(d, "part", part_key[p], base->facts->breakdown_ns[p], now->facts->breakdown_ns[p]);
    add_kernels(d, base, now, true);
    add_kernels(d, now, base, false);
    qsort(d->changes, d->change_count, sizeof *d->changes, by_movement);
    while (d->change_count > 1 &&
           /* Changes under 1 % of the largest would not be noticed. */
           moved_ns(&d->changes[d->change_count - 1]) < moved_ns(&d->changes[0]) / 100)
        d->change_count--;
    return d;
}

const struct outcome *diff_grown(const struct diff *d)
{
    for (size_t i = 0; i < d->change_count; i++)
        if (d->changes[i].finding && d->changes[i].new_ns > d->changes[i].base_ns)
            return d->changes[i].finding;
    return NULL;
}

void diff_free(struct diff *d)
{
    if (!d)
        return;
    arena_release(&d->arena);
    free(d);
}
