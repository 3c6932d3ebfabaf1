#include "cli/load/compare_two.h"

#include "analyzer/profile/redact.h"

int two_load(struct two *t, const char *base, const char *now, const struct load_how *how,
             struct err *e)
{
    *t = (struct two){0};
    if (base && load_analysis(&base, 1, how, &t->base, e))
        return -1;
    if (load_analysis(&now, 1, how, &t->now, e)) {
        load_release(&t->base);
        return -1;
    }
    return 0;
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
