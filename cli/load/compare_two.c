/* Loads the two profiles that diff and gate compare. */
#include "cli/load/compare_two.h"

#include "analyzer/profile/redact.h"
#include "cli/common/progress.h"

int two_load(struct two *t, const char *base, const char *now, const struct load_how *how,
             struct err *e)
{
    *t = (struct two){0};
    progress_begin("analysing", now);
    int rc = base ? load_analysis(&base, 1, how, &t->base, e) : 0;
    if (rc == 0)
        rc = load_analysis(&now, 1, how, &t->now, e);
    progress_end();
    if (rc < 0)
        load_release(&t->base);
    return rc;
}

void two_release(struct two *t)
{
    load_release(&t->now);
    load_release(&t->base);
}

struct export_options two_options(const struct two *t, const char *base, const char *now)
{
    struct export_options o = load_options(&t->now, now);
    o.base_source = base ? redact_path(base, t->now.redact) : NULL;
    if (!o.virtual_gpu && t->base.analysis)
        o.virtual_gpu = load_virtual(&t->base);
    return o;
}
