/* Perfetto's own format, for its GPU views and for queries (trace_perfetto.h). */
#include "report/trace/trace_perfetto.h"

#include <stdlib.h>

static int perfetto_analysis(const struct advice *a, const struct export_options *o, FILE *f,
                             struct err *e)
{
    struct trace c;
    struct perfetto x = {0};
    const char *realtime = timeline_meta(a->facts->tl, "start_realtime_ns");
    int rc = trace_open(&c, a, &trace_perfetto, &x, o->merged_ranks);
    if (rc == 0) {
        perfetto_begin(&x, f, realtime ? strtoll(realtime, NULL, 10) + c.base_ns : 0);
        rc = trace_write(&c);
    }
    rc = perfetto_end(&x) < 0 ? -1 : rc;
    trace_close(&c);
    return rc < 0 ? err_no_memory(e) : export_done(f, e);
}

const struct exporter export_perfetto = {
    .name = "perfetto",
    .suffix = ".pftrace",
    .help = "Perfetto's own format, for its GPU views",
    .analysis = perfetto_analysis,
};
