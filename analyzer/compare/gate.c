/* gate: may the new run pass?
 *
 * Against a baseline: slower if the lower end of the 95 % interval of the ratio of medians (of
 * means if long steps recur) exceeds the allowed regression; pass if the upper end does not;
 * otherwise, or with too few steps, inconclusive. So two equal runs pass, and noise alone fails no
 * build. Against a budget: each line is one limit; step times are judged by their interval in the
 * same way, shares as measured. */
#include "analyzer/compare/compare.h"
#include "analyzer/compare/gate_checks.h"
#include "analyzer/compare/steps_sample.h"
#include "base/size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKS = 64 };

struct gate_check *gate_add(struct gate *g, const char *name, const char *unit, double measured,
                            double allowed)
{
    if (g->check_count == CHECKS)
        return NULL;
    struct gate_check *c = &g->checks[g->check_count++];
    *c = (struct gate_check){.name = name,
                             .unit = unit,
                             .measured = measured,
                             .allowed = allowed,
                             .low = measured,
                             .high = measured};
    return c;
}

void gate_judge(struct gate *g, struct gate_check *c, enum gate_verdict v, const char *why)
{
    c->verdict = v;
    c->why = why;
    if (v == GATE_SLOWER || (v == GATE_INCONCLUSIVE && g->verdict == GATE_PASS))
        g->verdict = v;
}

/* Returns the change that explains most of a slowdown, and advice that is new, as the end of a
 * sentence. */
const char *gate_blame(struct gate *g)
{
    const struct change *best = NULL, *fresh = NULL;
    for (size_t i = 0; g->diff && i < g->diff->change_count; i++) {
        const struct change *c = &g->diff->changes[i];
        int64_t more = c->new_ns - c->base_ns;
        /* findings repeat the time of parts and kernels */
        bool advice = strcmp(c->kind, "finding") == 0;
        if (!advice && more > 0 && (!best || more > best->new_ns - best->base_ns))
            best = c;
        if (advice && c->base_ns == 0 && (!fresh || c->new_ns > fresh->new_ns))
            fresh = c;
    }
    if (!best)
        return "";
    char more[24];
    time_words(more, sizeof more, best->new_ns - best->base_ns);
    return arena_printf(&g->arena, "; most of it: %s, +%s%s%s", change_words(best), more,
                        fresh ? "; new advice: " : "", fresh ? fresh->what : "");
}

/* Compares with the baseline. Long steps that recur do not move the median, so d->by_mean then
 * compares the mean, which is what the loop takes. */
static void check_baseline(struct gate *g, double max_regress_pct)
{
    const struct diff *d = g->diff;
    char base[24], new[24];
    time_words(base, sizeof base, d->base_ns);
    time_words(new, sizeof new, d->new_ns);
    bool measured = d->base_ns > 0 && d->new_ns > 0;
    const char *const names[2][2] = {{"step time vs baseline", "time per sample vs baseline"},
                                     {"mean step vs baseline", "mean time per sample vs baseline"}};
    struct gate_check *c = gate_add(g, names[d->by_mean][d->per_sample], measured ? "%" : "",
                                    measured ? 100 * (d->ratio - 1) : 0, max_regress_pct);
    const char *commands = d->commands ? d->commands : "";
    const char *between = d->commands ? "; the commands differ: " : "";
    if (measured) {
        c->low = 100 * (d->ratio_low - 1);
        c->high = 100 * (d->ratio_high - 1);
    }
    if (d->comparable) {
        gate_judge(g, c, GATE_INCONCLUSIVE,
                   arena_printf(&g->arena, "not comparable: %s", d->comparable));
    } else if (d->of_windows) {
        gate_judge(g, c, GATE_INCONCLUSIVE,
                   "no step repeats in them, and one measurement decides nothing");
    } else if (!d->enough) {
        gate_judge(g, c, GATE_INCONCLUSIVE,
                   "one of the runs has too few steady steps (8 needed): record more");
    } else if (c->low > max_regress_pct) {
        gate_judge(g, c, GATE_SLOWER,
                   arena_printf(&g->arena, "slower: %s -> %s%s%s%s", base, new, gate_blame(g),
                                between, commands));
    } else if (c->high <= max_regress_pct) {
        gate_judge(g, c, GATE_PASS,
                   arena_printf(&g->arena, "%s -> %s%s%s", base, new, between, commands));
    } else {
        gate_judge(g, c, GATE_INCONCLUSIVE,
                   arena_printf(&g->arena,
                                "the interval is %+.2f to %+.2f %%: record more steps, or on "
                                "a quieter machine",
                                c->low, c->high));
    }
}

/* ---- budget ---- */

struct limit {
    const char *section, *key, *name, *unit;
    bool at_least; /* a minimum; else a maximum */
    bool timed;    /* the median step, which has an interval */
};

static const struct limit limits[] = {
    {"step_time", "median_ms_max", "median step", "ms", false, true},
    {"step_time", "p95_ms_max", "95th percentile step", "ms", false, false},
    {"gpu", "busy_pct_min", "GPU busy", "%", true, false},
    {"gpu", "compute_pct_min", "GPU computing", "%", true, false},
    {"gpu", "comm_exposed_pct_max", "exposed communication", "%", false, false},
    {"idle", "input_pct_max", "waiting for input", "% of the step", false, false},
    {"idle", "copy_pct_max", "waiting for copies", "% of the step", false, false},
    {"idle", "sync_pct_max", "idle after synchronisation", "% of the step", false, false},
    {"idle", "launch_pct_max", "waiting for launches", "% of the step", false, false},
    {"idle", "unexplained_pct_max", "unexplained", "% of the step", false, false},
    {"health", "dropped_max", "records dropped", "count", false, false},
};

static double part_pct(const struct advice *a, enum part p)
{
    return a->facts->step_ns > 0
               ? 100.0 * (double)a->facts->breakdown_ns[p] / (double)a->facts->step_ns
               : 0;
}

/* Returns the measured value of a limit: `values` has the order of `limits`. */
static double measure(const struct advice *a, const struct limit *l)
{
    const double values[] = {(double)a->facts->step_ns / 1e6,
                             (double)a->facts->steps.p95_ns / 1e6,
                             a->facts->gpu.busy_pct,
                             a->facts->gpu.compute_pct,
                             a->facts->gpu.comm_exposed_pct,
                             part_pct(a, PART_IDLE_INPUT) + part_pct(a, PART_DATA) +
                                 part_pct(a, PART_COLLATE) + part_pct(a, PART_WORKERS),
                             part_pct(a, PART_IDLE_COPY) + part_pct(a, PART_COPY),
                             part_pct(a, PART_IDLE_SYNC),
                             part_pct(a, PART_IDLE_LAUNCH),
                             part_pct(a, PART_UNEXPLAINED),
                             (double)a->facts->health.dropped};
    _Static_assert(sizeof values / sizeof *values == sizeof limits / sizeof *limits,
                   "one value a limit");
    return values[l - limits];
}

/* True for limits that mean nothing for a run without a GPU. Its waiting for data is known
 * nevertheless. */
static bool about_gpu(const struct limit *l)
{
    return strcmp(l->section, "gpu") == 0 ||
           (strcmp(l->section, "idle") == 0 && strcmp(l->key, "input_pct_max") != 0);
}

/* Judges one line of a budget. Returns -1 with *e set if there are too many, or without memory. */
static int check_limit(struct gate *g, const struct advice *a, const struct limit *l,
                       double allowed, struct err *e)
{
    bool of_step = strcmp(l->section, "idle") == 0 && analysis_of_window(a->facts);
    struct gate_check *c =
        gate_add(g, l->name, of_step ? "% of the window" : l->unit, measure(a, l), allowed);
    if (!c)
        return err_set(e, "budget: more than %d limits", CHECKS);
    if (l->timed) {
        double low, high;
        if (sample_median(a, &low, &high) < 0)
            return err_set(e, "out of memory");
        c->low = low / 1e6;
        c->high = high / 1e6;
    }
    if (a->facts->on_cpu && about_gpu(l)) {
        gate_judge(g, c, GATE_INCONCLUSIVE, "this run used no GPU");
    } else if (a->facts->steps.source == STEPS_NONE && strcmp(l->section, "gpu") != 0 &&
               strcmp(l->section, "health") != 0 &&
               !(analysis_of_window(a->facts) && strcmp(l->section, "idle") == 0)) {
        gate_judge(g, c, GATE_INCONCLUSIVE, "this run contains no steps");
    } else if (l->timed && a->facts->steps.used < LEAST_STEPS) {
        gate_judge(g, c, GATE_INCONCLUSIVE, "too few steady steps (8 needed): record more");
    } else if (l->at_least ? c->high < allowed : c->low > allowed) {
        gate_judge(g, c, GATE_SLOWER, "over budget");
    } else if (l->at_least ? c->low >= allowed : c->high <= allowed) {
        gate_judge(g, c, GATE_PASS, "within budget");
    } else {
        gate_judge(g, c, GATE_INCONCLUSIVE, "the interval contains the limit: record more steps");
    }
    return 0;
}

static const struct limit *find_limit(const char *section, const char *key)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (strcmp(limits[i].section, section) == 0 && strcmp(limits[i].key, key) == 0)
            return &limits[i];
    return NULL;
}

static char *trim(char *s)
{
    while (*s == ' ' || *s == '\t' || *s == '\r')
        s++;
    size_t n = strlen(s);
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t' || s[n - 1] == '\r'))
        s[--n] = 0;
    return s;
}

/* Reads one line of the ini file: [section], key = number, or a comment after # or ;. `section`
 * holds the current section. */
static int budget_line(struct gate *g, const struct advice *a, char *line, int number,
                       char *section, size_t size, struct err *e)
{
    line[strcspn(line, "#;")] = 0;
    line = trim(line);
    if (!*line)
        return 0;
    if (*line == '[') {
        char *end = strchr(line, ']');
        if (!end || end[1] || (size_t)(end - line) > size)
            return err_set(e, "budget line %d: not a section: %s", number, line);
        *end = 0;
        memcpy(section, line + 1, (size_t)(end - line));
        return 0;
    }
    char *eq = strchr(line, '=');
    if (!eq)
        return err_set(e, "budget line %d: expected key = number, found '%s'", number, line);
    *eq = 0;
    const char *key = trim(line), *value = trim(eq + 1);
    const struct limit *l = find_limit(section, key);
    if (!l)
        return err_set(e, "budget line %d: no limit [%s] %s", number, section, key);
    char *end;
    double allowed = strtod(value, &end);
    if (end == value || *end || !isfinite(allowed))
        return err_set(e, "budget line %d: '%s' is not a number", number, value);
    return check_limit(g, a, l, allowed, e);
}

static int check_budget(struct gate *g, const struct advice *a, const char *text, struct err *e)
{
    char section[64] = "";
    char *copy = arena_strdup(&g->arena, text), *next;
    size_t before = g->check_count;
    if (!copy)
        return err_set(e, "out of memory");
    int number = 1;
    for (char *line = copy; line; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        if (budget_line(g, a, line, number, section, sizeof section, e) < 0)
            return -1;
    }
    return g->check_count > before ? 0 : err_set(e, "budget: it contains no limit");
}

/* Fails the gate if the program failed: a failed run may look fast. */
static void check_end(struct gate *g, const struct advice *now)
{
    const char *code = timeline_meta(now->facts->tl, "ended.status");
    const char *signal = timeline_meta(now->facts->tl, "ended.signal");
    int number = signal ? atoi(signal) : code ? atoi(code) : 0;
    struct gate_check *c = number ? gate_add(g, "end of the program", "", number, 0) : NULL;
    if (c)
        gate_judge(g, c, GATE_SLOWER,
                   arena_printf(&g->arena,
                                signal ? "signal %d killed the program"
                                       : "the program failed with exit status %d",
                                number));
}

struct gate *gate_run(struct advice *base, struct advice *now, const struct gate_wish *wish,
                      struct err *e)
{
    struct gate *g = calloc(1, sizeof *g);
    if (!g || !(g->checks = arena_array(&g->arena, CHECKS, sizeof *g->checks))) {
        gate_free(g);
        err_set(e, "out of memory");
        return NULL;
    }
    check_end(g, now);
    if (base) {
        g->diff = diff_find(base, now, wish->per_sample, e);
        if (!g->diff) {
            gate_free(g);
            return NULL;
        }
        if (!wish->history)
            check_baseline(g, wish->max_regress_pct);
    }
    if (wish->history && gate_check_history(g, now, wish) < 0) {
        gate_free(g);
        err_set(e, "out of memory");
        return NULL;
    }
    if (wish->budget_text && check_budget(g, now, wish->budget_text, e) < 0) {
        gate_free(g);
        return NULL;
    }
    return g;
}

void gate_free(struct gate *g)
{
    if (!g)
        return;
    diff_free((struct diff *)g->diff);
    arena_release(&g->arena);
    free(g);
}
