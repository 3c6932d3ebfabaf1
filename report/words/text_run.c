/* Words about a recorded run: lost records, how the program ended, the setting to try, the order of
 * the findings. */
#include "report/words/text.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static bool imported(const struct advice *a)
{
    const char *source = timeline_meta(a->facts->tl, "source");
    return source && strcmp(source, "run") != 0;
}

const char *text_lost(struct text *b, const struct advice *a)
{
    struct text n;
    if (a->facts->health.dropped == 0 && imported(a))
        snprintf(b->s, sizeof b->s, "lost records: unknown for this trace format");
    else
        snprintf(b->s, sizeof b->s, "%s records lost", text_count(&n, a->facts->health.dropped));
    return b->s;
}

/* CUPTI's part is an estimate: measured costs were 0.45 to 5 times as large (docs/measurements). */
static void put_estimate(struct text *b, double all, double cupti)
{
    double least = all - cupti / 2, most = all + 4 * cupti;
    snprintf(b->s, sizeof b->s, "about %.*f %% (%.*f to %.*f %%)", all < 1, all, least < 1, least,
             most < 1, most);
}

const char *text_overhead(struct text *b, const struct advice *a)
{
    const struct health_facts *h = &a->facts->health;
    if (h->overhead_pct < 0)
        snprintf(b->s, sizeof b->s, "not measured");
    else if (h->cupti_pct > 0)
        put_estimate(b, h->overhead_pct, h->cupti_pct);
    else
        snprintf(b->s, sizeof b->s, "%s%.2f %%", imported(a) ? "at least " : "", h->overhead_pct);
    return b->s;
}

/* A possible reason for a failed program on a virtual GPU: kernels compute no results there. "" if
 * the program did not end by itself, or ran no kernels there. */
static const char *no_results(const struct facts *f, int signal)
{
    bool by_itself = signal == 0 || signal == SIGABRT || signal == SIGSEGV || signal == SIGBUS ||
                     signal == SIGFPE;
    if (!by_itself || !facts_virtual(f) || f->totals.kernel_count_all == 0)
        return "";
    return "; kernels compute no results on the virtual GPU";
}

const char *text_ended(struct text *b, const struct advice *a)
{
    const char *code = timeline_meta(a->facts->tl, "ended.status");
    const char *signal = timeline_meta(a->facts->tl, "ended.signal");
    const char *missing = timeline_meta(a->facts->tl, "ended.missing_call");
    if (!code && !signal)
        return NULL;
    int number = atoi(signal ? signal : code);
    if (number == 0 && !missing)
        return NULL;
    if (!missing && !signal && text_out_of_memory(b, a))
        return b->s;
    if (missing)
        snprintf(b->s, sizeof b->s, "%s stopped: it called %.60s, which the virtual GPU lacks",
                 number ? "the program" : "a process of the program", missing);
    else if (signal)
        snprintf(b->s, sizeof b->s, "signal %d (%s) killed the program%s", number,
                 strsignal(number), no_results(a->facts, number));
    else
        snprintf(b->s, sizeof b->s, "the program failed with exit status %d%s", number,
                 no_results(a->facts, 0));
    return b->s;
}

const char *text_setting(struct text *b, const struct advice *a, const struct outcome *x)
{
    if (!x->setting || imported(a))
        return NULL;
    snprintf(b->s, sizeof b->s, "gpuprof try --apply %s CMD", x->setting);
    for (char *p = b->s; (p = strchr(p, ';'));)
        *p = ','; /* a shell would take ; for the end of the command */
    return b->s;
}

/* The number that is shown for a finding. */
static int64_t shown_ns(const struct outcome *x)
{
    return x->upper_bound ? x->saves_high_ns : x->saves_mid_ns;
}

const char *text_order(struct text *b, const struct advice *a, const struct export_options *o)
{
    const struct outcome *x, *before = NULL;
    bool bound = false, mixed = false, last = false, larger = false, lost = false;
    for (size_t i = 0; (x = shown_finding(a, o, i)); before = x, i++) {
        bool more = before && shown_ns(x) > shown_ns(before);
        bool begins = before && !outcome_changes_training(before) && outcome_changes_training(x);
        mixed |= more && !begins;
        last |= begins;
        lost |= i == 1 && more && !before->rule->cheaper && x->rule->cheaper;
        larger |= begins && more;
        bound |= x->upper_bound;
    }
    if (!mixed && !larger)
        return NULL;
    snprintf(
        b->s, sizeof b->s, "%s%s.%s",
        !mixed ? "Changes to the training itself come last"
        : lost
            ? "Lost time comes before cheaper computing; within each, the surest saving comes first"
            : "The change with the surest saving comes first, not the one with the largest",
        mixed && last ? "; changes to the training itself come last" : "",
        mixed && bound ? " An \"up to\" is a limit, and ranks by a part of it." : "");
    return b->s;
}

double text_covered_pct(const struct advice *a)
{
    const struct steps *s = &a->facts->steps;
    int64_t all = a->facts->gpu.window_ns;
    if (s->used == 0 || all <= 0 || a->facts->on_cpu || analysis_of_window(a->facts))
        return -1;
    double pct = 100.0 * (double)s->count * (double)s->pace_ns / (double)all;
    return pct < 100 ? pct : 100;
}

const char *text_covers(struct text *b, const struct advice *a)
{
    const double HALF = 50;
    struct text time;
    double pct = text_covered_pct(a);
    if (pct < 0 || pct >= HALF)
        return NULL;
    snprintf(b->s, sizeof b->s,
             "the %s cover %.*f %% of the recording's %s; the numbers are not about the rest",
             scope_words(a->facts)->units, pct < 1 ? 1 : 0, pct,
             text_time(&time, a->facts->gpu.window_ns));
    return b->s;
}

/* PyTorch's profiler takes time for each function of Python. Where it was measured, that was 3 to 4
 * us: a step of small operators took 1.5 times as long with stacks as with operators alone. In a
 * published recording the functions follow each other in 2.5 us, their own work included. gpuprof
 * counts 0.3 us, which is less than on any known machine, and mentions it from a twentieth of the
 * time that the GPU waits for the host. */
const char *text_stacks(struct text *b, const struct advice *a)
{
    const struct facts *f = a->facts;
    struct text n;
    enum { FUNCTION_NS = 300 };
    int64_t host = f->breakdown_ns[PART_IDLE_LAUNCH] + f->breakdown_ns[PART_IDLE_HOST];
    double waits = f->step_ns > 0 ? (double)host / (double)f->step_ns : 0;
    double cost = (double)f->health.python_functions * FUNCTION_NS;
    if (cost <= 0 || waits < 0.1 || cost * 20 < waits * (double)f->gpu.window_ns)
        return NULL;
    snprintf(b->s, sizeof b->s,
             "%s calls of Python functions were recorded (with_stack=True), which slows the host; "
             "without them the GPU waits less for it than shown here",
             text_count(&n, (int64_t)f->health.python_functions));
    return b->s;
}

const char *text_profiler(struct text *b, const struct advice *a)
{
    const struct steps *s = &a->facts->steps;
    struct text time;
    if (s->profiled == 0)
        return NULL;
    snprintf(
        b->s, sizeof b->s,
        "the numbers leave out %zu of the %zu steps, in which torch.profiler, or run --memory, "
        "starts, stops or writes what it has (%s); while it records, the host takes longer",
        s->profiled, s->count, text_time(&time, s->profiled_ns));
    return b->s;
}

const char *text_no_findings(const struct advice *a, bool rule)
{
    if (advice_blind(a))
        return "No advice: the recording contains too little data.";
    if (advice_missing(a))
        return "gpuprof found nothing to change in what was recorded, and records are missing.";
    if (!rule && a->class == VERDICT_CONTENTION)
        return "gpuprof found nothing else to change; on free cores a recording may show more.";
    return rule ? "This rule found nothing to change." : "gpuprof found nothing to change.";
}
