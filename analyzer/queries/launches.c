/* Decides whether launches wait for their kernels. The replay and all rules use this one answer. */
#include "analyzer/queries/query.h"

#include <stdlib.h>
#include <string.h>

/* Counts launches and those that end after their kernel, separately for long and for
 * short (brief) kernels. Skips the first launch of each kernel: it loads code, and may
 * end late because of that. */
static void count_launches(const struct facts *f, struct query_launches *l,
                           struct query_launches *brief)
{
    const struct timeline *t = f->tl;
    bool *seen = calloc((size_t)t->strings.n + 1, sizeof *seen);
    for (uint32_t i = 0; seen && i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (o->kind != OP_KERNEL || o->api == TL_NONE || t->apis[o->api].kind != API_LAUNCH ||
            t->apis[o->api].ops > 1)
            continue;
        const struct api *c = &t->apis[o->api];
        bool first = !seen[o->name];
        seen[o->name] = true;
        if (first || !query_used(f, i))
            continue;
        bool is_long = o->end_ns - o->start_ns >= QUERY_LAUNCH_LONG_NS,
             waited = c->end_ns >= o->end_ns;
        l->launches += is_long;
        l->waited += is_long && waited;
        brief->launches += !is_long;
        brief->waited += !is_long && waited;
    }
    free(seen);
}

static bool is_on(const char *value)
{
    return value && *value && strcmp(value, "0") != 0;
}

static bool wait(const struct query_launches *l)
{
    return l->launches >= QUERY_LAUNCHES_MIN && l->waited * 100 >= l->launches * QUERY_ALMOST_PCT;
}

struct query_launches query_launches(const struct facts *f)
{
    struct query_launches l = {.set = is_on(timeline_meta(f->tl, "env.CUDA_LAUNCH_BLOCKING"))};
    struct query_launches brief = {0};
    const char *source = timeline_meta(f->tl, "source");
    /* in gpuprof's own recordings the environment is recorded */
    bool ours = source && strcmp(source, "run") == 0;
    count_launches(f, &l, &brief);
    l.block = l.launches >= QUERY_LAUNCHES_MIN ? wait(&l) : l.set;
    l.untold = !ours && !l.set && l.launches < QUERY_LAUNCHES_MIN && wait(&brief);
    return l;
}
