/* Writes the tables of runs, steps and findings (tables.h). */
#include "report/tables/tables.h"

#include "analyzer/compare/work.h"
#include "report/tables/csv.h"
#include "report/words/text.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SCHEMA = 1 };

const char *const table_name[TABLE_KINDS] = {"runs", "steps", "findings"};

static const char *const heads[TABLE_KINDS] = {
    "schema,run,gpuprof_version,started,started_unix_s,host,job,git_commit,program,command,device,"
    "is_virtual,world_size,ranks,batch,ended_status,ended_signal,steps,used_steps,step_median_ms,"
    "step_mean_ms,step_p95_ms,gpu_busy_pct,gpu_compute_pct,memory_peak_bytes,records_lost,"
    "verdict_class,verdict,findings",
    "run,step,used,start_ms,step_ms",
    "run,rank,rule,title,kind,saves_low_ms,saves_mid_ms,saves_high_ms,step_ms",
};

/* Parts of a step that are columns: those of the GPU. */
static bool is_column(int part)
{
    return part_in(part, GPU_PARTS);
}

void table_head(enum table_kind kind, FILE *f)
{
    fputs(heads[kind], f);
    for (int p = 0; kind != TABLE_FINDINGS && p < PART_COUNT; p++)
        if (is_column(p))
            fprintf(f, ",%s_ms", part_key[p]);
    fputc('\n', f);
}

static void parts(struct csv *c, const struct advice *a, const int64_t *part_ns)
{
    for (int p = 0; p < PART_COUNT; p++)
        if (is_column(p) && !a->facts->on_cpu)
            csv_ms(c, part_ns[p]);
        else if (is_column(p))
            csv_text(c, NULL);
}

static void started(struct csv *c, const struct timeline *t)
{
    const char *ns = timeline_meta(t, "start_realtime_ns");
    time_t seconds = ns ? (time_t)(strtoll(ns, NULL, 10) / 1000000000) : 0;
    struct tm utc;
    char text[32] = "";
    if (seconds > 0 && gmtime_r(&seconds, &utc))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    csv_text(c, text);
    csv_count(c, seconds > 0 ? (int64_t)seconds : -1);
}

/* The host of the process that has the steps, else of the first process that has one. */
static const char *host(const struct advice *a)
{
    const struct timeline *t = a->facts->tl;
    uint32_t p = a->facts->steps.process;
    if (p < t->process_count && t->processes[p].host)
        return tl_text(t, t->processes[p].host);
    for (size_t i = 0; i < t->process_count; i++)
        if (t->processes[i].host)
            return tl_text(t, t->processes[i].host);
    return NULL;
}

static int64_t world_size(const struct timeline *t)
{
    int64_t most = -1;
    for (size_t i = 0; i < t->process_count; i++)
        most = t->processes[i].world_size > most ? t->processes[i].world_size : most;
    return most;
}

static int64_t memory_peak(const struct timeline *t)
{
    int64_t most = -1;
    for (size_t i = 0; i < t->gpu_sample_count; i++)
        if (t->gpu_samples[i].memory_used_bytes > most)
            most = t->gpu_samples[i].memory_used_bytes;
    return most;
}

static int64_t number(const struct timeline *t, const char *key)
{
    const char *text = timeline_meta(t, key);
    return text && *text ? atoll(text) : -1;
}

static void program(struct csv *c, const struct advice *a)
{
    char name[256];
    csv_text(c, work_program(a, name, sizeof name));
    csv_text(c, timeline_meta(a->facts->tl, "command"));
}

static void run_row(struct csv *c, const struct advice *a, const char *run)
{
    const struct timeline *t = a->facts->tl;
    const struct steps *s = &a->facts->steps;
    const struct row_device *d = a->facts->device;
    int64_t batch = work_batch(a);
    size_t ranks = a->facts->ranks.count ? a->facts->ranks.count : a->facts->cpu_ranks.count;
    csv_int(c, SCHEMA);
    csv_text(c, run);
    csv_text(c, GPUPROF_VERSION);
    started(c, t);
    csv_text(c, host(a));
    csv_text(c, timeline_meta(t, "job"));
    csv_text(c, timeline_meta(t, "commit"));
    program(c, a);
    csv_text(c, d ? tl_text(t, d->name) : NULL);
    csv_int(c, facts_virtual(a->facts));
    csv_count(c, world_size(t));
    csv_int(c, ranks ? (int64_t)ranks : 1);
    csv_count(c, batch ? batch : -1);
    csv_count(c, number(t, "ended.status"));
    csv_count(c, number(t, "ended.signal"));
    csv_int(c, (int64_t)s->count);
    csv_int(c, (int64_t)s->used);
    csv_ms(c, s->median_ns);
    csv_ms(c, s->pace_ns);
    csv_ms(c, s->p95_ns);
    csv_number(c, a->facts->gpu.busy_pct, 3);
    csv_number(c, a->facts->gpu.compute_pct, 3);
    csv_count(c, memory_peak(t));
    csv_int(c, a->facts->health.dropped);
    csv_text(c, a->verdict_class);
    csv_text(c, a->verdict);
    csv_int(c, (int64_t)a->ranked_count);
    parts(c, a, a->facts->breakdown_ns);
    csv_end(c);
}

static void step_rows(struct csv *c, const struct advice *a, const char *run)
{
    const struct facts *f = a->facts;
    for (size_t i = 0; i < f->steps.count; i++) {
        const struct step *s = &f->steps.at[i];
        csv_text(c, run);
        csv_int(c, facts_step_number(f, i));
        csv_int(c, s->used);
        csv_ms(c, s->start_ns);
        csv_ms(c, s->length_ns ? s->length_ns : s->to_ns - s->from_ns);
        parts(c, a, f->step_parts[i]);
        csv_end(c);
    }
}

static void finding_rows(struct csv *c, const struct advice *a, const char *run)
{
    for (size_t i = 0; i < a->ranked_count; i++) {
        const struct outcome *o = a->ranked[i];
        csv_text(c, run);
        csv_int(c, (int64_t)i + 1);
        csv_text(c, o->rule->id);
        csv_text(c, o->title);
        csv_text(c, text_outcome_kind(o));
        csv_ms(c, o->saves_low_ns);
        csv_ms(c, o->saves_mid_ns);
        csv_ms(c, o->saves_high_ns);
        csv_ms(c, outcome_of_ns(a->facts, o));
        csv_end(c);
    }
}

void table_rows(enum table_kind kind, FILE *f, const struct advice *a, const char *run)
{
    struct csv c = {.f = f};
    if (kind == TABLE_RUNS)
        run_row(&c, a, run);
    else if (kind == TABLE_STEPS)
        step_rows(&c, a, run);
    else
        finding_rows(&c, a, run);
}
