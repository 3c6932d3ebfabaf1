/* The Chrome trace in the form that PyTorch's profiler gives it, which Perfetto, chrome://tracing,
 * speedscope, HTA and TraceLens read. Written as a stream. */
#include "report/json/json_write.h"
#include "report/trace/trace_chrome.h"
#include "report/words/text.h"

#include <stdlib.h>
#include <string.h>

struct chrome {
    struct json j;
    struct trace c;
};

static void write_devices(struct chrome *x)
{
    struct json *j = &x->j;
    json_begin(j, "deviceProperties", '[');
    for (size_t i = 0; i < x->c.t->device_count; i++) {
        const struct row_device *d = &x->c.t->devices[i];
        json_begin(j, NULL, '{');
        json_int(j, "id", d->ordinal);
        if (x->c.merged)
            json_int(j, "pid", x->c.device_pid[i]);
        json_str(j, "name", tl_text(x->c.t, d->name));
        json_int(j, "totalGlobalMem", d->memory_bytes > 0 ? d->memory_bytes : 0);
        json_int(j, "computeMajor", d->cc_major);
        json_int(j, "computeMinor", d->cc_minor);
        json_int(j, "numSms", d->sm_count);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void write_rank(struct chrome *x)
{
    const struct advice *a = x->c.a;
    const struct row_process *p = a->facts->steps.process < x->c.t->process_count
                                      ? &x->c.t->processes[a->facts->steps.process]
                                      : NULL;
    json_begin(&x->j, "distributedInfo", '{');
    json_str(&x->j, "backend", "nccl");
    json_int(&x->j, "rank", p && p->rank >= 0 ? p->rank : 0);
    json_int(&x->j, "world_size", p && p->world_size > 0 ? p->world_size : 1);
    json_end(&x->j, '}');
}

/* Writes which pids belong to which rank, so that a reader can tell the ranks apart. */
static void write_ranks(struct chrome *x)
{
    struct json *j = &x->j;
    json_begin(j, "ranks", '[');
    for (size_t i = 0; i < x->c.t->process_count; i++) {
        const struct row_process *p = &x->c.t->processes[i];
        json_begin(j, NULL, '{');
        json_int(j, "first_pid", x->c.first_pid[i]);
        json_int(j, "last_pid", x->c.first_pid[i] + PIDS_A_PROCESS - 1);
        json_int(j, "pid", p->pid);
        json_int(j, "rank", p->rank);
        json_int(j, "world_size", p->world_size);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void write_about(struct chrome *x)
{
    struct text notice;
    const char *virtual_gpu = text_virtual(&notice, x->c.a);
    json_begin(&x->j, "gpuprof", '{');
    json_str(&x->j, "version", GPUPROF_VERSION);
    json_bool(&x->j, "virtual_gpu", virtual_gpu != NULL);
    json_str(&x->j, "verdict", x->c.a->verdict);
    if (x->c.merged)
        write_ranks(x);
    json_end(&x->j, '}');
    json_begin(&x->j, "metadata", '{');
    json_str(&x->j, "made_by", "gpuprof " GPUPROF_VERSION);
    if (virtual_gpu)
        json_str(&x->j, "notice", virtual_gpu);
    json_end(&x->j, '}');
}

static void write_header(struct chrome *x)
{
    const char *realtime = timeline_meta(x->c.t, "start_realtime_ns");
    int64_t start_ns = realtime ? strtoll(realtime, NULL, 10) : 0;
    json_int(&x->j, "schemaVersion", 1);
    write_about(x);
    write_devices(x);
    write_rank(x);
    json_str(&x->j, "displayTimeUnit", "ms");
    json_int(&x->j, "baseTimeNanoseconds", start_ns + x->c.base_ns);
}

static int write_trace(struct chrome *x, const struct export_options *o)
{
    const char *slash = o->source ? strrchr(o->source, '/') : NULL;
    json_begin(&x->j, NULL, '{');
    write_header(x);
    json_begin(&x->j, "traceEvents", '[');
    x->j.tight = true; /* otherwise an eighth of the text would be spaces */
    if (trace_write(&x->c))
        return -1;
    x->j.tight = false;
    json_newline(&x->j);
    json_end(&x->j, ']');
    json_newline(&x->j);
    if (x->c.rows.left_out)
        json_int(&x->j, "slicesLeftOut", (int64_t)x->c.rows.left_out);
    json_str(&x->j, "traceName", slash ? slash + 1 : o->source);
    json_end(&x->j, '}');
    return 0;
}

static int chrome_analysis(const struct advice *a, const struct export_options *o, FILE *f,
                           struct err *e)
{
    struct chrome x;
    int rc = -1;
    json_start(&x.j, f);
    if (trace_open(&x.c, a, &trace_chrome, &x.j, o->merged_ranks) || write_trace(&x, o))
        err_set(e, "out of memory");
    else if (json_end_document(&x.j) == 0 || export_done(f, e) == 0)
        rc = 0;
    trace_close(&x.c);
    return rc;
}

const struct exporter export_chrome = {
    .name = "chrome",
    .suffix = ".json",
    .help = "Chrome trace for Perfetto and other viewers",
    .analysis = chrome_analysis,
};
