/* Words and numbers that all outputs share (text.h). */
#include "report/words/text.h"

#include "base/size.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *with_unit(struct text *b, double v, const char *unit)
{
    snprintf(b->s, sizeof b->s, "%.*f%s%s", three_figures(v), v, *unit ? " " : "", unit);
    return b->s;
}

const char *text_time(struct text *b, int64_t ns)
{
    return length_words(b->s, sizeof b->s, ns);
}

const char *text_ms(struct text *b, int64_t ns)
{
    return time_words(b->s, sizeof b->s, ns);
}

const char *text_change(struct text *b, int64_t ns)
{
    struct text m;
    snprintf(b->s, sizeof b->s, "%s%.60s", ns > 0 ? "+" : "", text_ms(&m, ns));
    return b->s;
}

const char *text_bytes(struct text *b, int64_t n)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
    double v = (double)n;
    size_t u = 0;
    while (fabs(v) >= 1000 && u + 1 < sizeof units / sizeof *units) {
        v /= 1000;
        u++;
    }
    if (u == 0)
        snprintf(b->s, sizeof b->s, "%" PRId64 " B", n);
    else
        with_unit(b, v, units[u]);
    return b->s;
}

const char *text_count(struct text *b, int64_t n)
{
    char plain[24];
    int len = snprintf(plain, sizeof plain, "%" PRId64, n);
    char *out = b->s;
    for (int i = 0; i < len; i++) {
        if (i && plain[i - 1] != '-' && (len - i) % 3 == 0)
            *out++ = ',';
        *out++ = plain[i];
    }
    *out = 0;
    return b->s;
}

const char *text_mean_count(struct text *b, double v)
{
    double whole = floor(v + 0.5);
    if (fabs(v) >= 99.95 || fabs(v - whole) < 1e-9)
        return text_count(b, (int64_t)whole);
    if (v > 0 && v < 0.005)
        snprintf(b->s, sizeof b->s, "below 0.01");
    else
        snprintf(b->s, sizeof b->s, "%.*f", v < 9.95 ? 2 : 1, v);
    return b->s;
}

const char *text_value(struct text *b, double v, const char *unit)
{
    bool whole = !unit || strcmp(unit, "count") == 0;
    if (whole && fabs(v) < 1e15 && v == floor(v))
        return text_count(b, (int64_t)v);
    return with_unit(b, v, whole ? "" : unit);
}

double percent_of(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

const char *text_groups(struct text *b, const struct advice *a)
{
    struct group_total lost = advice_group(a, false), cheaper = advice_group(a, true);
    struct text x, y;
    if (!lost.findings || !cheaper.findings)
        return NULL;
    snprintf(b->s, sizeof b->s,
             "lost time at most %.24s%s%s (%zu finding%s), cheaper computing %.24s (%zu)",
             text_ms(&x, lost.most_ns), lost.of_run ? " " : "",
             lost.of_run ? scope_words_of_run(a->facts)->per : "", lost.findings,
             lost.findings == 1 ? "" : "s", text_ms(&y, cheaper.most_ns), cheaper.findings);
    return b->s;
}

/* Writes the unit once if both have the same. */
const char *text_between(struct text *b, int64_t low_ns, int64_t high_ns)
{
    struct text low, high;
    const char *unit = strchr(text_ms(&high, high_ns), ' ');
    char *other = strchr((text_ms(&low, low_ns), low.s), ' ');
    if (unit && other && strcmp(unit, other) == 0)
        *other = 0;
    snprintf(b->s, sizeof b->s, "%.60s to %.60s", low.s, high.s);
    return b->s;
}

const char *text_saving(struct text *b, const struct facts *f, const struct outcome *o)
{
    struct text t, range;
    int64_t of_ns = outcome_of_ns(f, o);
    const char *of = o->of_run ? " of the run" : "";
    if (o->upper_bound)
        snprintf(b->s, sizeof b->s, "up to %.60s (%.1f %%%s)", text_ms(&t, o->saves_high_ns),
                 percent_of(o->saves_high_ns, of_ns), of);
    else
        snprintf(b->s, sizeof b->s, "%.60s (%.1f %%%s), %.100s", text_ms(&t, o->saves_mid_ns),
                 percent_of(o->saves_mid_ns, of_ns), of,
                 text_between(&range, o->saves_low_ns, o->saves_high_ns));
    return b->s;
}

const char *text_outcome_kind(const struct outcome *o)
{
    return o->upper_bound ? "upper-bound" : "predicted";
}

const char *text_error_class(enum error_class c)
{
    static const char *const names[] = {"structural", "kernel-model", "rerun-decides"};
    return names[c];
}

const char *text_ledger_kind(const struct outcome *o)
{
    static const char *const names[LEDGER_KINDS] = {"structural", "kernel", "host-limited",
                                                    "one step only"};
    return o->upper_bound || !o->edit.kind ? NULL : names[o->change];
}

const char *text_check_verdict(const struct gate_check *c)
{
    return c->verdict == GATE_SLOWER && !*c->unit ? "failed" : text_gate_verdict(c->verdict);
}

const char *text_gate_verdict(enum gate_verdict v)
{
    return v == GATE_PASS ? "pass" : v == GATE_SLOWER ? "slower" : "inconclusive";
}

const char *text_step_source(enum step_source s)
{
    static const char *const names[] = {"none", "nvtx", "framework", "detected"};
    return names[s];
}

const char *text_copy(struct text *b, const struct copy_total *c)
{
    static const char *const memory[] = {"", "pageable", "pinned", "device", "array", "managed"};
    const char *way = c->kind == COPY_H2D   ? "host to device"
                      : c->kind == COPY_D2H ? "device to host"
                      : c->kind == COPY_D2D ? "within the device"
                      : c->kind == COPY_P2P ? "device to device"
                      : c->kind == COPY_H2H ? "host to host"
                                            : "copy";
    uint8_t host = c->kind == COPY_H2D ? c->src_kind : c->kind == COPY_D2H ? c->dst_kind : 0;
    const char *kind = host < sizeof memory / sizeof *memory ? memory[host] : "";
    snprintf(b->s, sizeof b->s, "%s%s%s", way, *kind ? ", " : "", kind);
    return b->s;
}

const char *text_device(const struct advice *a)
{
    const char *cpu = timeline_meta(a->facts->tl, "cpu_model");
    if (a->facts->on_cpu)
        return cpu ? cpu : "unknown CPU";
    const char *name = a->facts->device ? tl_text(a->facts->tl, a->facts->device->name) : NULL;
    if (!text_has_parts(a) && (!name || !*name))
        return "no GPU recorded";
    return name ? name : "unknown GPU";
}

const char *text_thread(struct text *b, const struct advice *a, uint32_t thread)
{
    const struct thread *th = &a->facts->tl->threads[thread];
    const char *name = tl_text(a->facts->tl, th->row.name);
    const char *training =
        a->facts->steps.count && a->facts->steps.main_thread == thread ? " (training)" : "";
    if (strncmp(name, "thread ", 7) == 0)
        snprintf(b->s, sizeof b->s, "%.80s%s", name, training);
    else
        snprintf(b->s, sizeof b->s, "thread %lld%s%.80s%s", (long long)th->row.tid,
                 *name ? " " : "", name, training);
    return b->s;
}

const char *text_virtual_name(struct text *b, const char *device)
{
    if (!device) { /* the program gave it no work */
        snprintf(b->s, sizeof b->s,
                 "Virtual GPU: a model computes the GPU's times; no real device was measured.");
        return b->s;
    }
    int plain = (int)strcspn(device, "("); /* the name says in brackets what this line says */
    while (plain > 0 && device[plain - 1] == ' ')
        plain--;
    snprintf(b->s, sizeof b->s,
             "Virtual GPU (%.*s): a model computes the GPU's times; no real device was measured.",
             plain, device);
    return b->s;
}

const char *text_virtual(struct text *b, const struct advice *a)
{
    const struct facts *f = a->facts; /* without GPU work, the device is the processor */
    const char *device = f->device ? tl_text(f->tl, f->device->name) : NULL;
    return facts_virtual(f) ? text_virtual_name(b, device) : NULL;
}

const char *text_replay(struct text *b, const struct whatif *w)
{
    char alike[64] = "the steps do different work, so they do not predict each other";
    if (w->tasks == 0)
        return NULL;
    if (w->once) {
        snprintf(b->s, sizeof b->s,
                 "the window replayed once; unexplained %.1f %% of the critical "
                 "path%s",
                 w->unexplained_pct,
                 w->unexplained_pct > WHATIF_UNEXPLAINED_PCT ? ": not sure" : "");
        return b->s;
    }
    if (w->steps < 4)
        snprintf(alike, sizeof alike, "repeated as if the loop continued");
    else if (w->holdout_error_pct >= 0)
        snprintf(alike, sizeof alike, "steps predict each other within %.1f %% (p95 %.1f %%)",
                 w->holdout_error_pct, w->holdout_p95_pct);
    snprintf(b->s, sizeof b->s,
             "%zu step%s replayed; %s; %.1f %% of the critical path unexplained%s", w->steps,
             w->steps == 1 ? "" : "s", alike, w->unexplained_pct,
             w->unexplained_pct > WHATIF_UNEXPLAINED_PCT ? ": not sure" : "");
    return b->s;
}

int64_t stacked_saving_ns(const struct advice *a)
{
    int64_t sum = 0;
    if (a->stack_count) { /* replayed together, so these savings add up */
        for (size_t i = 0; i < a->stack_count; i++)
            sum += a->stack[i].saves_ns;
        return sum < a->facts->step_ns ? sum : a->facts->step_ns;
    }
    for (size_t i = 0; i < a->ranked_count; i++) {
        const struct outcome *o = a->ranked[i];
        if (!outcome_changes_training(o) && !o->of_run) /* left out of the stack as well */
            sum += o->upper_bound ? o->saves_high_ns : o->saves_mid_ns;
    }
    return sum < a->facts->step_ns ? sum : a->facts->step_ns;
}

static bool hidden(const struct export_options *o, const struct outcome *x)
{
    return o->rule && strcmp(o->rule, x->rule->id) != 0;
}

const struct outcome *shown_finding(const struct advice *a, const struct export_options *o,
                                    size_t i)
{
    size_t shown = 0;
    for (size_t r = 0; r < a->ranked_count; r++) {
        if (hidden(o, a->ranked[r]))
            continue;
        if (shown == i)
            return o->top > 0 && i >= (size_t)o->top ? NULL : a->ranked[r];
        shown++;
    }
    return NULL;
}

const struct outcome *shown_outcome(const struct advice *a, const struct export_options *o,
                                    size_t i, enum verdict v)
{
    const struct outcome *x = &a->outcomes[i];
    return x->verdict == v && !hidden(o, x) ? x : NULL;
}

int64_t count_events(const struct timeline *t)
{
    return (int64_t)(t->op_count + t->api_count + t->sync_count + t->event_count + t->range_count +
                     t->call_count + t->loader_count + t->collective_count);
}

int64_t count_ops(const struct timeline *t, enum op_kind kind)
{
    int64_t n = 0;
    for (size_t i = 0; i < t->op_count; i++)
        n += t->ops[i].kind == kind;
    return n;
}

int64_t count_graphs(const struct timeline *t)
{
    int64_t n = 0;
    for (size_t i = 0; i < t->op_count; i++)
        n += t->ops[i].in_graph == GRAPH_WHOLE;
    return n;
}

int64_t count_collectives(const struct timeline *t)
{
    int64_t n = (int64_t)t->collective_count;
    if (n == 0)
        for (size_t i = 0; i < t->op_count; i++)
            n += t->ops[i].kind == OP_KERNEL && t->ops[i].class.family == FAMILY_COMM;
    return n;
}

const struct kept_trial *shown_trial(const struct export_options *o, const struct outcome *x)
{
    for (size_t i = 0; i < o->trial_count; i++)
        if (strcmp(o->trials[i].rule, x->rule->id) == 0)
            return &o->trials[i];
    return NULL;
}

const struct kept_trial *other_trial(const struct advice *a, const struct export_options *o,
                                     size_t i)
{
    for (size_t k = 0, seen = 0; k < o->trial_count; k++) {
        const struct outcome *x = NULL;
        for (size_t n = 0; (x = shown_finding(a, o, n)); n++)
            if (strcmp(x->rule->id, o->trials[k].rule) == 0)
                break;
        if (!x && seen++ == i)
            return &o->trials[k];
    }
    return NULL;
}

const char *text_trial(struct text *b, const struct outcome *x, const struct kept_trial *k)
{
    struct text p, m, low, high, step;
    bool same = x && x->setting && strcmp(x->setting, k->setting) == 0;
    snprintf(b->s, sizeof b->s,
             "%.60s%s%s: %s%s, measured %s (95 %%: %s to %s) of a %s step, %lld + %lld runs",
             same ? "" : k->setting, same ? "" : ": ", k->verdict,
             k->predicted_mid_ns < 0 ? "not predicted" : "predicted ",
             k->predicted_mid_ns < 0 ? "" : text_ms(&p, k->predicted_mid_ns),
             text_ms(&m, k->measured_mid_ns), text_ms(&low, k->measured_low_ns),
             text_ms(&high, k->measured_high_ns), text_ms(&step, k->step_ns),
             (long long)k->runs_without, (long long)k->runs_with);
    return b->s;
}

const char *text_widened(struct text *b, const struct outcome *x)
{
    struct text by;
    if (x->widened_ns <= 0)
        return NULL;
    snprintf(b->s, sizeof b->s,
             "interval widened by %s at either end after %zu trial%s of such changes",
             text_ms(&by, x->widened_ns), x->widened_after, x->widened_after == 1 ? "" : "s");
    return b->s;
}
