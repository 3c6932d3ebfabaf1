/* Metrics for Prometheus, in the text format that its node exporter reads from files; it is
 * OpenMetrics as well. All are gauges of one run, or of its last interval (run --metrics), in base
 * units. Files of several ranks lie in one folder, so program, job and rank are labels of every
 * sample. */
#include "report/chars.h"
#include "report/export.h"
#include "report/words/text.h"

#include "analyzer/compare/work.h"
#include "analyzer/measure/marked.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FINDINGS = 10, LABELS = 512, RANK_LABEL = 32 };

struct metrics {
    FILE *f;
    const struct advice *a;
    char common[LABELS]; /* the labels of every sample: program="train.py",job="7",rank="0" */
};

/* Appends text if it fits with `spare` more bytes behind it. False: it does not. */
static bool append(char *labels, size_t size, const char *text, size_t length, size_t spare)
{
    size_t n = strlen(labels);
    if (n + length + spare >= size)
        return false;
    memcpy(labels + n, text, length);
    labels[n + length] = 0;
    return true;
}

/* Appends name="value" to labels; the value is cut to the room left. Nothing without a value. */
static void add_label(char *labels, size_t size, const char *name, const char *value)
{
    char begin[64], one[8];
    size_t m = value ? strlen(value) : 0, length;
    int n = snprintf(begin, sizeof begin, "%s%s=\"", labels[0] ? "," : "", name);
    if (n < 0 || (size_t)n >= sizeof begin || !append(labels, size, begin, (size_t)n, 1))
        return;
    for (size_t i = 0; i < m; i += length) {
        uint32_t code;
        length = utf8_next(value + i, m - i, &code);
        bool acts =
            char_acts(code) || code == 0xfffd || (code == '#' && text_commands(value + i, m - i));
        n = acts ? snprintf(one, sizeof one, "\xef\xbf\xbd")
                 : snprintf(one, sizeof one, "%s%.*s", code == '"' || code == '\\' ? "\\" : "",
                            (int)length, value + i);
        if (!append(labels, size, one, (size_t)n, 1))
            break;
    }
    append(labels, size, "\"", 1, 0);
}

static void family(const struct metrics *m, const char *name, const char *help)
{
    fprintf(m->f, "# HELP gpuprof_%s %s\n# TYPE gpuprof_%s gauge\n", name, help, name);
}

/* Writes one sample. label NULL: only the common labels. */
static void sample(const struct metrics *m, const char *name, const char *label, const char *value,
                   double v)
{
    char labels[LABELS + 128];
    snprintf(labels, sizeof labels, "%s", m->common);
    if (label)
        add_label(labels, sizeof labels, label, value);
    if (isfinite(v))
        fprintf(m->f, "gpuprof_%s{%s} %.9g\n", name, labels, v);
}

static void one(const struct metrics *m, const char *name, const char *help, double v)
{
    family(m, name, help);
    sample(m, name, NULL, NULL, v);
}

/* The recorded steps; if none were recorded (run --armed), those that the program marked. */
static struct marked find_steps(const struct facts *f)
{
    struct marked found = {0};
    const char *from = timeline_meta(f->tl, "metrics.from_ns");
    if (f->steps.used > 0 && f->steps.source != STEPS_NONE)
        return (struct marked){(int64_t)f->steps.count, f->steps.pace_ns, f->steps.median_ns,
                               f->steps.p95_ns};
    if (from && !marked_steps(f->tl, strtoll(from, NULL, 10), &found))
        found.steps = 0;
    return found;
}

static void steps(const struct metrics *m)
{
    const struct marked found = find_steps(m->a->facts);
    one(m, "steps", "Steps in the interval, or in the run when it has ended.", (double)found.steps);
    if (!found.steps)
        return;
    one(m, "step_median_seconds", "Median length of a step.", (double)found.median_ns / 1e9);
    one(m, "step_mean_seconds", "Mean length of a step, with long ones.",
        (double)found.mean_ns / 1e9);
    one(m, "step_p95_seconds", "95th percentile of the length of a step.",
        (double)found.p95_ns / 1e9);
}

/* The parts of a step: computing, and the GPU's idle time by cause. */
static void parts(const struct metrics *m)
{
    const struct facts *f = m->a->facts;
    if (f->step_ns <= 0)
        return;
    family(m, "step_part_seconds", "Time of a step by what fills it; the parts sum to the step.");
    for (int p = 0; p < PART_COUNT; p++)
        if (part_in(p, f->on_cpu ? CPU_PARTS : GPU_PARTS))
            sample(m, "step_part_seconds", "part", part_key[p], (double)f->breakdown_ns[p] / 1e9);
}

static void collectives(const struct metrics *m)
{
    const struct ranks *r = &m->a->facts->ranks;
    char rank[32];
    if (m->a->facts->totals.family_count[FAMILY_COMM] == 0)
        return;
    one(m, "collective_seconds", "Time of a step in collectives, waiting for other ranks included.",
        (double)facts_per_step(m->a->facts, m->a->facts->totals.family_ns[FAMILY_COMM]) / 1e9);
    if (r->count < 2)
        return;
    family(m, "collective_wait_seconds",
           "Time of a step in collectives that the last rank had not "
           "entered yet.");
    for (size_t i = 0; i < r->count; i++) {
        snprintf(rank, sizeof rank, "%lld", (long long)r->at[i].rank);
        sample(m, "collective_wait_seconds", "of_rank", rank, (double)r->at[i].wait_ns / 1e9);
    }
}

/* The readings of the GPU, and how often it was throttled. Throttle reasons 1 and 2 do not count:
 * an idle GPU, and clocks that the user has set. */
static void gauges(const struct metrics *m)
{
    enum { CHOSEN = 3 };
    const struct timeline *t = m->a->facts->tl;
    int64_t used = -1, power = -1, throttled = 0, known = 0;
    for (size_t i = 0; i < t->gpu_sample_count; i++) {
        const struct row_gpu_sample *s = &t->gpu_samples[i];
        used = s->memory_used_bytes > used ? s->memory_used_bytes : used;
        power = s->power_mw >= 0 ? s->power_mw : power;
        known += s->throttle_reasons >= 0;
        throttled += s->throttle_reasons > 0 && (s->throttle_reasons & ~(int64_t)CHOSEN) != 0;
    }
    if (used >= 0)
        one(m, "gpu_memory_used_bytes", "Memory of the GPU in use, highest reading.", (double)used);
    if (power >= 0)
        one(m, "gpu_power_watts", "Power of the GPU, last reading.", (double)power / 1e3);
    if (known)
        one(m, "gpu_throttled_ratio", "Share of readings in which the GPU's clocks were held down.",
            (double)throttled / (double)known);
}

static void findings(const struct metrics *m)
{
    if (m->a->ranked_count == 0 || m->a->facts->step_ns <= 0)
        return;
    family(m, "finding_saves_ratio",
           "Share of a step, or of the run, that a finding's change would save, at most.");
    for (size_t i = 0; i < m->a->ranked_count && i < MOST_FINDINGS; i++)
        sample(m, "finding_saves_ratio", "rule", m->a->ranked[i]->rule->id,
               (double)m->a->ranked[i]->saves_high_ns /
                   (double)outcome_of_ns(m->a->facts, m->a->ranked[i]));
}

static void find_labels(struct metrics *m)
{
    const struct timeline *t = m->a->facts->tl;
    const char *job = timeline_meta(t, "job");
    uint32_t p = m->a->facts->steps.process;
    char program[256], rank[32] = "";
    if (p < t->process_count && t->processes[p].rank >= 0)
        snprintf(rank, sizeof rank, "%lld", (long long)t->processes[p].rank);
    add_label(m->common, LABELS - RANK_LABEL, "program",
              work_program(m->a, program, sizeof program));
    add_label(m->common, LABELS - RANK_LABEL, "job", job);
    add_label(m->common, LABELS, "rank", rank);
}

static int openmetrics_analysis(const struct advice *a, const struct export_options *o, FILE *f,
                                struct err *e)
{
    struct metrics m = {.f = f, .a = a};
    const struct facts *facts = a->facts;
    find_labels(&m);
    one(&m, "running", "1 while the run goes on: the numbers are of its last interval.",
        o->running);
    steps(&m);
    parts(&m);
    if (!facts->on_cpu && facts->gpu.window_ns > 0) {
        one(&m, "gpu_busy_ratio", "Share of the time in which the GPU works.",
            facts->gpu.busy_pct / 100);
        one(&m, "gpu_compute_ratio", "Share of the time in which the GPU computes.",
            facts->gpu.compute_pct / 100);
    }
    collectives(&m);
    gauges(&m);
    one(&m, "records_lost", "Records that the recording lacks.", (double)facts->health.dropped);
    one(&m, "virtual_gpu", "1 if a virtual GPU computed the times.", facts_virtual(facts));
    findings(&m);
    fputs("# EOF\n", f);
    return export_done(f, e);
}

const struct exporter export_openmetrics = {
    .name = "openmetrics",
    .suffix = ".prom",
    .help = "metrics for Prometheus' node exporter",
    .analysis = openmetrics_analysis,
};
