/* Writes the metrics of a running program (live.h). */
#include "cli/results/live.h"

#include "base/mode.h"
#include "cli/common/output.h"

#include <sys/stat.h>

static int write_metrics(const struct advice *a, bool running, const char *path, struct err *e)
{
    /* FOR_ALL: an exporter of another user reads the file. */
    enum { PRIVATE = 0600, FOR_ALL = 0644 };
    struct export_options o = {.source = path, .running = running};
    struct output out;
    if (output_open(&out, path, true, e) < 0)
        return -1;
    if (*out.temporary && mode_of_output() != PRIVATE)
        chmod(out.temporary, FOR_ALL);
    if (exporter_find("openmetrics")->analysis(a, &o, out.f, e) == 0)
        return output_commit(&out, e);
    output_discard(&out);
    return -1;
}

int live_metrics_of(const struct advice *a, const char *path, struct err *e)
{
    return write_metrics(a, false, path, e);
}

int live_metrics(int (*pour)(void *self, struct sink *to, struct err *e), void *self, bool running,
                 const char *path, struct err *e)
{
    struct timeline *t = timeline_new(e);
    struct advice *a = NULL;
    if (t) {
        struct sink sink = timeline_sink(t);
        if (pour(self, &sink, e) == 0 && timeline_finish(t, e) == 0)
            a = advise(t, e);
    }
    int rc = a ? write_metrics(a, running, path, e) : -1;
    if (a)
        advice_free(a);
    if (t)
        timeline_free(t);
    return rc;
}
