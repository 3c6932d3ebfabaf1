/* Finds the launch time of each operation: from its call, or else from its start and from what
 * follows it in its stream. */
#include "analyzer/measure/launched.h"

#include <stdlib.h>

/* What a stream ran without a known launch, behind its first known one. */
struct stream_launches {
    size_t known, unknown;
};

/* A cut-down trace names few launches: those say nothing of what ran before the first of them. */
static bool tells(const struct stream_launches *s)
{
    return s->known && s->unknown <= s->known;
}

static void count_launches(struct stream_launches *of, const struct timeline *t)
{
    for (uint32_t i = 0; i < t->op_count; i++) {
        struct stream_launches *s = &of[t->ops[i].stream];
        s->known += t->ops[i].api != TL_NONE;
        s->unknown += s->known && t->ops[i].api == TL_NONE;
    }
}

int launched_find(const struct timeline *t, int64_t *launch)
{
    int64_t *next = malloc((t->stream_count + 1) * sizeof *next);
    bool *seen = calloc(t->stream_count + 1, sizeof *seen);
    struct stream_launches *of = calloc(t->stream_count + 1, sizeof *of);
    for (size_t i = 0; next && i < t->stream_count; i++)
        next[i] = INT64_MAX;
    for (size_t i = t->op_count; next && i-- > 0;) {
        const struct op *o = &t->ops[i];
        int64_t behind = next[o->stream];
        launch[i] = o->api != TL_NONE      ? t->apis[o->api].start_ns
                    : o->start_ns < behind ? o->start_ns
                                           : behind;
        if (o->api != TL_NONE)
            next[o->stream] = launch[i];
    }
    if (of)
        count_launches(of, t);
    for (uint32_t i = 0; seen && of && i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        seen[o->stream] |= o->api != TL_NONE;
        if (!seen[o->stream] && tells(&of[o->stream]))
            launch[i] = LAUNCHED_BEFORE;
    }
    int rc = next && seen && of ? 0 : -1;
    free(next);
    free(seen);
    free(of);
    return rc;
}
