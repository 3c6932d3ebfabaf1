/* What was measured, as JSON: device, steps, GPU, counts, parts of the step, ranks, health. */
#include "report/json/json_facts.h"

#include "report/export.h"
#include "report/words/text.h"

#include <stdlib.h>
#include <string.h>

static void write_device(struct json *j, const struct advice *a)
{
    const struct row_device *d = a->facts->device;
    json_begin(j, "device", '{');
    json_str(j, "name", d ? tl_text(a->facts->tl, d->name) : NULL);
    json_bool(j, "virtual", facts_virtual(a->facts));
    if (d) {
        char cc[32];
        snprintf(cc, sizeof cc, "%d.%d", (int)d->cc_major, (int)d->cc_minor);
        json_int(j, "ordinal", d->ordinal);
        json_str(j, "compute_capability", d->cc_major > 0 ? cc : NULL);
        json_int(j, "sm_count", d->sm_count);
        json_int(j, "memory_bytes", d->memory_bytes);
    }
    json_end(j, '}');
}

static void write_steps(struct json *j, const struct advice *a)
{
    const struct steps *s = &a->facts->steps;
    json_begin(j, "steps", '{');
    json_str(j, "unit", analysis_step_word(a->facts));
    json_int(j, "count", (int64_t)s->count);
    json_int(j, "used", (int64_t)s->used);
    json_ms(j, "median_ms", s->median_ns);
    json_ms(j, "pace_ms", s->pace_ns);
    json_int(j, "slow", (int64_t)s->slow);
    json_ms(j, "p95_ms", s->p95_ns);
    json_ms(j, "min_ms", s->min_ns);
    json_ms(j, "max_ms", s->max_ns);
    json_ms(j, "mean_ms", s->mean_ns);
    json_num(j, "cv", s->cv, 6);
    json_str(j, "source", text_step_source(s->source));
    json_str(j, "source_text", s->source_text);
    json_num(j, "confidence", s->confidence, 3);
    if (s->detected_median_ns > 0)
        json_ms(j, "detected_median_ms", s->detected_median_ns);
    json_end(j, '}');
}

static void write_gpu(struct json *j, const struct gpu_facts *g)
{
    json_begin(j, "gpu", '{');
    json_num(j, "busy_pct", g->busy_pct, 3);
    json_num(j, "compute_pct", g->compute_pct, 3);
    json_num(j, "comm_pct", g->comm_pct, 3);
    json_num(j, "comm_exposed_pct", g->comm_exposed_pct, 3);
    json_num(j, "copy_pct", g->copy_pct, 3);
    json_num(j, "copy_exposed_pct", g->copy_exposed_pct, 3);
    json_ms(j, "window_ms", g->window_ns);
    json_end(j, '}');
}

/* Events as the trace that was imported counts them (flows and counters included); of a profile of
 * our own, its records. */
static int64_t events(const struct timeline *t)
{
    int64_t n = 0;
    for (size_t i = 0; i < t->meta_count; i++)
        if (strcmp(tl_text(t, t->metas[i].key), "source_events") == 0)
            n += atoll(tl_text(t, t->metas[i].value));
    return n > 0 ? n : count_events(t);
}

static void write_counts(struct json *j, const struct timeline *t)
{
    json_begin(j, "counts", '{');
    json_int(j, "events", events(t));
    json_int(j, "records", count_events(t));
    json_int(j, "kernels", count_ops(t, OP_KERNEL) - count_graphs(t));
    json_int(j, "graphs", count_graphs(t));
    json_int(j, "copies", count_ops(t, OP_COPY));
    json_int(j, "memsets", count_ops(t, OP_MEMSET));
    json_int(j, "syncs", (int64_t)t->sync_count);
    json_int(j, "collectives", count_collectives(t));
    json_int(j, "api_calls", (int64_t)t->api_count);
    json_int(j, "ranges", (int64_t)t->range_count);
    json_int(j, "library_calls", (int64_t)t->call_count);
    json_end(j, '}');
}

static void write_breakdown(struct json *j, const struct advice *a)
{
    json_begin(j, "breakdown_ms", '{');
    for (int p = 0; p < PART_COUNT; p++)
        if (GPU_PARTS >> p & 1 || a->facts->on_cpu)
            json_ms(j, part_key[p], a->facts->breakdown_ns[p]);
    json_end(j, '}');
    json_ms(j, "breakdown_of_ms", a->facts->step_ns);
    json_str(j, "breakdown_of", analysis_by_mean(a->facts) ? "mean" : "median");
}

/* Ranks without a GPU: the parts of their steps. */
static void write_cpu_ranks(struct json *j, const struct advice *a)
{
    const struct cpu_ranks *r = &a->facts->cpu_ranks;
    for (size_t i = 0; i < r->count; i++) {
        json_begin(j, NULL, '{');
        json_int(j, "rank", r->at[i].rank);
        json_ms(j, "step_mean_ms", r->at[i].step_ns);
        json_ms(j, "own_ms", r->at[i].own_ns);
        json_ms(j, "late_ms", i == r->late ? r->late_ns : 0);
        json_begin(j, "parts_ms", '{');
        for (int p = PART_DATA; p < PART_COUNT; p++)
            json_ms(j, part_key[p], r->at[i].parts[p]);
        json_end(j, '}');
        json_end(j, '}');
    }
}

/* Ranks whose collectives were matched; nothing of it without several ranks. */
static void write_ranks(struct json *j, const struct advice *a)
{
    const struct ranks *r = &a->facts->ranks;
    json_begin(j, "ranks", '[');
    for (size_t i = 0; i < r->count; i++) {
        const struct rank_facts *f = &r->at[i];
        json_begin(j, NULL, '{');
        json_int(j, "rank", f->rank);
        json_ms(j, "step_median_ms", f->step_median_ns);
        json_ms(j, "clock_offset_ms", f->offset_ns);
        json_int(j, "collectives", f->matched);
        json_ms(j, "comm_ms", f->comm_ns);
        json_ms(j, "wait_ms", f->wait_ns);
        json_ms(j, "wait_exposed_ms", f->wait_exposed_ns);
        json_int(j, "late_count", f->late_count);
        json_ms(j, "late_ms", f->late_ns);
        json_end(j, '}');
    }
    write_cpu_ranks(j, a);
    json_end(j, ']');
}

void json_facts(struct json *j, const struct advice *a)
{
    write_device(j, a);
    write_steps(j, a);
    write_gpu(j, &a->facts->gpu);
    write_counts(j, a->facts->tl);
    write_breakdown(j, a);
    write_ranks(j, a);
}

void json_health(struct json *j, const struct advice *a)
{
    const struct timeline *t = a->facts->tl;
    json_begin(j, "health", '{');
    json_int(j, "dropped", a->facts->health.dropped);
    json_num(j, "unexplained_pct", a->facts->health.unexplained_pct, 3);
    if (a->facts->health.overhead_pct < 0)
        json_null(j, "overhead_pct");
    else
        json_num(j, "overhead_pct", a->facts->health.overhead_pct, 3);
    json_num(j, "recorded_pct", a->facts->health.recorded_pct, 3);
    if (a->facts->health.run_steps) {
        json_int(j, "run_steps", a->facts->health.run_steps);
        json_num(j, "run_mean_ms", (double)a->facts->health.run_mean_ns / 1e6, 6);
    } else {
        json_null(j, "run_steps");
        json_null(j, "run_mean_ms");
    }
    json_begin(j, "warnings", '[');
    for (size_t i = 0; i < t->health_count; i++) {
        if (t->healths[i].severity < 1)
            continue;
        json_begin(j, NULL, '{');
        json_str(j, "code", tl_text(t, t->healths[i].code));
        json_str(j, "text", tl_text(t, t->healths[i].text));
        json_str(j, "severity", t->healths[i].severity > 1 ? "error" : "warning");
        json_int(j, "value", t->healths[i].value);
        json_end(j, '}');
    }
    json_end(j, ']');
    json_end(j, '}');
}
