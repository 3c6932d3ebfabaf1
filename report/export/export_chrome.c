/* The Chrome trace in the form that PyTorch's profiler gives it, which Perfetto, chrome://tracing,
 * speedscope, HTA and TraceLens read. Written as a stream. */
#include "report/chrome/chrome.h"
#include "report/words/text.h"

#include <stdlib.h>
#include <string.h>

static void write_devices(struct chrome *c)
{
    struct json *j = &c->j;
    json_begin(j, "deviceProperties", '[');
    for (size_t i = 0; i < c->t->device_count; i++) {
        const struct row_device *d = &c->t->devices[i];
        json_begin(j, NULL, '{');
        json_int(j, "id", d->ordinal);
        if (c->merged)
            json_int(j, "pid", c->device_pid[i]);
        json_str(j, "name", tl_text(c->t, d->name));
        json_int(j, "totalGlobalMem", d->memory_bytes > 0 ? d->memory_bytes : 0);
        json_int(j, "computeMajor", d->cc_major);
        json_int(j, "computeMinor", d->cc_minor);
        json_int(j, "numSms", d->sm_count);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void write_rank(struct chrome *c)
{
    const struct advice *a = c->a;
    const struct row_process *p = a->facts->steps.process < c->t->process_count
                                      ? &c->t->processes[a->facts->steps.process]
                                      : NULL;
    json_begin(&c->j, "distributedInfo", '{');
    json_str(&c->j, "backend", "nccl");
    json_int(&c->j, "rank", p && p->rank >= 0 ? p->rank : 0);
    json_int(&c->j, "world_size", p && p->world_size > 0 ? p->world_size : 1);
    json_end(&c->j, '}');
}

/* Writes which pids belong to which rank, so that a reader can tell the ranks apart. */
static void write_ranks(struct chrome *c)
{
    struct json *j = &c->j;
    json_begin(j, "ranks", '[');
    for (size_t i = 0; i < c->t->process_count; i++) {
        const struct row_process *p = &c->t->processes[i];
        json_begin(j, NULL, '{');
        json_int(j, "first_pid", c->first_pid[i]);
        json_int(j, "last_pid", c->first_pid[i] + PIDS_A_PROCESS - 1);
        json_int(j, "pid", p->pid);
        json_int(j, "rank", p->rank);
        json_int(j, "world_size", p->world_size);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void write_about(struct chrome *c)
{
    struct text notice;
    const char *virtual_gpu = text_virtual(&notice, c->a);
    json_begin(&c->j, "gpuprof", '{');
    json_str(&c->j, "version", GPUPROF_VERSION);
    json_bool(&c->j, "virtual_gpu", virtual_gpu != NULL);
    json_str(&c->j, "verdict", c->a->verdict);
    if (c->merged)
        write_ranks(c);
    json_end(&c->j, '}');
    json_begin(&c->j, "metadata", '{');
    json_str(&c->j, "made_by", "gpuprof " GPUPROF_VERSION);
    if (virtual_gpu)
        json_str(&c->j, "notice", virtual_gpu);
    json_end(&c->j, '}');
}

static void write_header(struct chrome *c)
{
    const char *realtime = timeline_meta(c->t, "start_realtime_ns");
    int64_t start_ns = realtime ? strtoll(realtime, NULL, 10) : 0;
    json_int(&c->j, "schemaVersion", 1);
    write_about(c);
    write_devices(c);
    write_rank(c);
    json_str(&c->j, "displayTimeUnit", "ms");
    json_int(&c->j, "baseTimeNanoseconds", start_ns + c->base_ns);
}

static int write_trace(struct chrome *c, const struct export_options *o)
{
    const char *slash = o->source ? strrchr(o->source, '/') : NULL;
    json_begin(&c->j, NULL, '{');
    write_header(c);
    json_begin(&c->j, "traceEvents", '[');
    c->j.tight = true; /* otherwise an eighth of the text would be spaces */
    if (chrome_host(c) || chrome_gpu(c))
        return -1;
    c->j.tight = false;
    json_newline(&c->j);
    json_end(&c->j, ']');
    json_newline(&c->j);
    if (c->rows.left_out)
        json_int(&c->j, "slicesLeftOut", (int64_t)c->rows.left_out);
    json_str(&c->j, "traceName", slash ? slash + 1 : o->source);
    json_end(&c->j, '}');
    return 0;
}

static int chrome_analysis(const struct advice *a, const struct export_options *o, FILE *f,
                           struct err *e)
{
    struct chrome c = {.a = a,
                       .t = a->facts->tl,
                       .base_ns = a->facts->tl->start_ns < 0 ? a->facts->tl->start_ns : 0};
    int rc = -1;
    json_start(&c.j, f);
    if (rows_open(&c.rows, a->facts->tl, a->facts->steps.process) ||
        rows_align(&c.rows, a->facts) || chrome_name_rows(&c, o->merged_ranks) ||
        write_trace(&c, o))
        err_set(e, "out of memory");
    else if (json_end_document(&c.j) == 0 || export_done(f, e) == 0)
        rc = 0;
    rows_close(&c.rows);
    vec_release(&c.items);
    arena_release(&c.arena);
    return rc;
}

const struct exporter export_chrome = {
    .name = "chrome",
    .suffix = ".json",
    .help = "Chrome trace for Perfetto and other viewers",
    .analysis = chrome_analysis,
};
