/* The measurements as JSON: device, steps, GPU, counts, parts of the step, ranks, health. */
#include "report/json/json_facts.h"

#include "report/export.h"
#include "report/words/text.h"

#include <stdlib.h>
#include <string.h>

static void write_device(struct json_tree *j, const struct advice *a)
{
    const struct row_device *d = a->facts->device;
    tree_begin(j, "device", '{');
    tree_str(j, "name", d ? tl_text(a->facts->tl, d->name) : NULL);
    tree_bool(j, "virtual", facts_virtual(a->facts));
    if (d) {
        char cc[32];
        snprintf(cc, sizeof cc, "%d.%d", (int)d->cc_major, (int)d->cc_minor);
        tree_int(j, "ordinal", d->ordinal);
        tree_str(j, "compute_capability", d->cc_major > 0 ? cc : NULL);
        tree_int(j, "sm_count", d->sm_count);
        tree_int(j, "memory_bytes", d->memory_bytes);
    }
    tree_end(j);
}

static void write_profiled(struct json_tree *j, const struct advice *a)
{
    struct text text;
    if (a->facts->steps.profiled == 0)
        return;
    tree_begin(j, "profiled", '{');
    tree_int(j, "count", (int64_t)a->facts->steps.profiled);
    tree_ms(j, "all_ms", a->facts->steps.profiled_ns);
    tree_str(j, "text", text_profiler(&text, a));
    tree_end(j);
}

static void write_steps(struct json_tree *j, const struct advice *a)
{
    const struct steps *s = &a->facts->steps;
    tree_begin(j, "steps", '{');
    tree_str(j, "unit", scope_words(a->facts)->unit);
    tree_int(j, "count", (int64_t)s->count);
    tree_int(j, "used", (int64_t)s->used);
    tree_ms(j, "median_ms", s->median_ns);
    tree_ms(j, "pace_ms", s->pace_ns);
    tree_int(j, "slow", (int64_t)s->slow);
    if (a->facts->long_text) {
        tree_begin(j, "long", '{');
        tree_ms(j, "mean_ms", s->long_ns);
        tree_ms(j, "others_ms", s->short_ns);
        tree_str(j, "part", part_key[a->facts->long_part]);
        tree_ms(j, "extra_ms", a->facts->long_extra_ns);
        tree_str(j, "text", a->facts->long_text);
        tree_end(j);
    }
    if (a->facts->other_text) {
        tree_begin(j, "other", '{');
        tree_int(j, "count", (int64_t)a->facts->other_steps);
        tree_ms(j, "mean_ms", a->facts->other_ns);
        tree_str(j, "text", a->facts->other_text);
        tree_end(j);
    }
    write_profiled(j, a);
    tree_ms(j, "p95_ms", s->p95_ns);
    tree_ms(j, "min_ms", s->min_ns);
    tree_ms(j, "max_ms", s->max_ns);
    tree_ms(j, "mean_ms", s->mean_ns);
    tree_num(j, "cv", s->cv, 6);
    tree_str(j, "source", text_step_source(s->source));
    tree_str(j, "source_text", s->source_text);
    tree_num(j, "confidence", s->confidence, 3);
    if (text_covered_pct(a) >= 0)
        tree_num(j, "covered_pct", text_covered_pct(a), 3);
    if (s->doubt)
        tree_str(j, "doubt", s->doubt);
    if (s->detected_median_ns > 0) {
        tree_int(j, "detected_count", (int64_t)s->detected_count);
        tree_ms(j, "detected_median_ms", s->detected_median_ns);
    }
    tree_end(j);
}

static void write_gpu(struct json_tree *j, const struct gpu_facts *g)
{
    tree_begin(j, "gpu", '{');
    tree_num(j, "busy_pct", g->busy_pct, 3);
    tree_num(j, "compute_pct", g->compute_pct, 3);
    tree_num(j, "comm_pct", g->comm_pct, 3);
    tree_num(j, "comm_exposed_pct", g->comm_exposed_pct, 3);
    tree_num(j, "copy_pct", g->copy_pct, 3);
    tree_num(j, "copy_exposed_pct", g->copy_exposed_pct, 3);
    tree_ms(j, "window_ms", g->window_ns);
    tree_end(j);
}

/* Events as the imported trace counts them (with flows and counters); for a profile of gpuprof, its
 * records. */
static int64_t events(const struct timeline *t)
{
    int64_t n = 0;
    for (size_t i = 0; i < t->meta_count; i++)
        if (strcmp(tl_text(t, t->metas[i].key), "source_events") == 0)
            n += atoll(tl_text(t, t->metas[i].value));
    return n > 0 ? n : count_events(t);
}

static void write_counts(struct json_tree *j, const struct timeline *t)
{
    tree_begin(j, "counts", '{');
    tree_int(j, "events", events(t));
    tree_int(j, "records", count_events(t));
    tree_int(j, "kernels", count_ops(t, OP_KERNEL) - count_graphs(t));
    tree_int(j, "graphs", count_graphs(t));
    tree_int(j, "copies", count_ops(t, OP_COPY));
    tree_int(j, "memsets", count_ops(t, OP_MEMSET));
    tree_int(j, "syncs", (int64_t)t->sync_count);
    tree_int(j, "collectives", count_collectives(t));
    tree_int(j, "api_calls", (int64_t)t->api_count);
    tree_int(j, "ranges", (int64_t)t->range_count);
    tree_int(j, "library_calls", (int64_t)t->call_count);
    tree_end(j);
}

static void write_breakdown(struct json_tree *j, const struct advice *a)
{
    tree_begin(j, "breakdown_ms", '{');
    for (int p = 0; p < PART_COUNT; p++)
        if (part_in(p, GPU_PARTS) || a->facts->on_cpu)
            tree_ms(j, part_key[p], a->facts->breakdown_ns[p]);
    tree_end(j);
    tree_ms(j, "breakdown_of_ms", a->facts->step_ns);
    tree_str(j, "breakdown_of",
             analysis_of_window(a->facts) ? "window"
             : analysis_by_mean(a->facts) ? "mean"
                                          : "median");
}

/* The parts of the steps of ranks without a GPU. */
static void write_cpu_ranks(struct json_tree *j, const struct advice *a)
{
    const struct cpu_ranks *r = &a->facts->cpu_ranks;
    for (size_t i = 0; i < r->count; i++) {
        tree_begin(j, NULL, '{');
        tree_int(j, "rank", r->at[i].rank);
        tree_bool(j, "analysed", r->at[i].process == a->facts->steps.process);
        tree_ms(j, "step_mean_ms", r->at[i].step_ns);
        tree_ms(j, "own_ms", r->at[i].own_ns);
        tree_ms(j, "late_ms", i == r->late ? r->late_ns : 0);
        tree_begin(j, "parts_ms", '{');
        for (int p = 0; p < PART_COUNT; p++)
            if (part_in(p, CPU_PARTS))
                tree_ms(j, part_key[p], r->at[i].parts[p]);
        tree_end(j);
        tree_end(j);
    }
}

/* Ranks whose collectives were matched; empty without several ranks. */
static void write_ranks(struct json_tree *j, const struct advice *a)
{
    const struct ranks *r = &a->facts->ranks;
    tree_begin(j, "ranks", '[');
    for (size_t i = 0; i < r->count; i++) {
        const struct rank_facts *f = &r->at[i];
        tree_begin(j, NULL, '{');
        tree_int(j, "rank", f->rank);
        tree_bool(j, "analysed", facts_of_rank(a->facts, f));
        if (f->step_median_ns > 0)
            tree_ms(j, "step_median_ms", f->step_median_ns);
        else
            tree_null(j, "step_median_ms");
        tree_ms(j, "clock_offset_ms", f->offset_ns);
        tree_int(j, "collectives", f->matched);
        tree_ms(j, "comm_ms", f->comm_ns);
        tree_ms(j, "wait_ms", f->wait_ns);
        tree_ms(j, "wait_exposed_ms", f->wait_exposed_ns);
        tree_int(j, "late_count", f->late_count);
        tree_ms(j, "late_ms", f->late_ns);
        tree_end(j);
    }
    write_cpu_ranks(j, a);
    tree_end(j);
}

/* Groups of these ranks that exchange data; empty without several ranks. */
static void write_rank_groups(struct json_tree *j, const struct advice *a)
{
    const struct ranks *r = &a->facts->ranks;
    tree_begin(j, "rank_groups", '[');
    for (size_t i = 0; i < r->group_kinds; i++) {
        const struct rank_group *g = &r->groups[i];
        tree_begin(j, NULL, '{');
        tree_str(j, "name", g->name);
        tree_str(j, "kind", g->pairs ? "pairs" : "collectives");
        tree_int(j, "groups", (int64_t)g->groups);
        tree_int(j, "ranks", (int64_t)g->ranks);
        tree_str(j, "first_ranks", g->members);
        tree_int(j, "collectives", g->collectives);
        tree_ms(j, "comm_ms", g->comm_ns);
        tree_ms(j, "wait_ms", g->wait_ns);
        tree_ms(j, "late_ms", g->late_ns);
        tree_end(j);
    }
    tree_end(j);
}

static void write_two_ms(struct json_tree *j, const char *key, const int64_t ns[2])
{
    tree_begin(j, key, '[');
    for (size_t i = 0; i < 2; i++)
        if (ns[i] < 0)
            tree_null(j, NULL);
        else
            tree_ms(j, NULL, ns[i]);
    tree_end(j);
}

static void write_two(struct json_tree *j, const char *key, const double v[2])
{
    tree_begin(j, key, '[');
    for (size_t i = 0; i < 2; i++)
        tree_num(j, NULL, v[i], 1);
    tree_end(j);
}

/* The late rank beside one that is in time; null if no rank is late. */
static void write_late_rank(struct json_tree *j, const struct advice *a)
{
    const struct rank_beside *b = &a->facts->ranks.beside;
    if (!b->known) {
        tree_null(j, "late_rank");
        return;
    }
    tree_begin(j, "late_rank", '{');
    tree_int(j, "rank", b->rank[0]);
    tree_int(j, "beside", b->rank[1]);
    write_two_ms(j, "compute_ms", b->compute_ns);
    write_two_ms(j, "idle_ms", b->idle_ns);
    write_two(j, "kernels", b->kernels);
    write_two(j, "blocks", b->blocks);
    tree_begin(j, "ranges", '[');
    for (size_t i = 0; i < b->range_count; i++) {
        tree_begin(j, NULL, '{');
        tree_str(j, "name", b->ranges[i].name);
        write_two_ms(j, "ms", b->ranges[i].ns);
        tree_end(j);
    }
    tree_end(j);
    tree_end(j);
}

void json_facts(struct json_tree *j, const struct advice *a)
{
    write_device(j, a);
    write_steps(j, a);
    write_gpu(j, &a->facts->gpu);
    write_counts(j, a->facts->tl);
    write_breakdown(j, a);
    json_gaps(j, a->facts);
    json_work(j, a->facts);
    json_memory(j, a);
    json_lines(j, a);
    write_ranks(j, a);
    write_rank_groups(j, a);
    write_late_rank(j, a);
}

void json_health(struct json_tree *j, const struct advice *a)
{
    const struct timeline *t = a->facts->tl;
    tree_begin(j, "health", '{');
    tree_int(j, "dropped", a->facts->health.dropped);
    tree_num(j, "unexplained_pct", a->facts->health.unexplained_pct, 3);
    if (a->facts->health.overhead_pct < 0)
        tree_null(j, "overhead_pct");
    else
        tree_num(j, "overhead_pct", a->facts->health.overhead_pct, 3);
    tree_num(j, "recorded_pct", a->facts->health.recorded_pct, 3);
    tree_num(j, "unseen_pct", a->facts->health.unseen_pct, 3);
    if (a->facts->health.run_steps) {
        tree_int(j, "run_steps", a->facts->health.run_steps);
        tree_num(j, "run_mean_ms", (double)a->facts->health.run_mean_ns / 1e6, 6);
    } else {
        tree_null(j, "run_steps");
        tree_null(j, "run_mean_ms");
    }
    tree_begin(j, "warnings", '[');
    for (size_t i = 0; i < t->health_count; i++) {
        if (t->healths[i].severity < 1)
            continue;
        tree_begin(j, NULL, '{');
        tree_str(j, "code", tl_text(t, t->healths[i].code));
        tree_str(j, "text", tl_text(t, t->healths[i].text));
        tree_str(j, "severity", t->healths[i].severity > 1 ? "error" : "warning");
        tree_int(j, "value", t->healths[i].value);
        tree_end(j);
    }
    tree_end(j);
    tree_end(j);
}
