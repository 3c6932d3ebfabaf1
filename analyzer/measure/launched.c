#include "analyzer/measure/launched.h"

#include <stdlib.h>

int launched_find(const struct timeline *t, int64_t *launch)
{
    int64_t *next = malloc((t->stream_count + 1) * sizeof *next);
    bool *seen = calloc(t->stream_count + 1, sizeof *seen);
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
    for (uint32_t i = 0; next && seen && i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        seen[o->stream] |= o->api != TL_NONE;
        if (!seen[o->stream] && next[o->stream] != INT64_MAX)
            launch[i] = LAUNCHED_BEFORE;
    }
    int rc = next && seen ? 0 : -1;
    free(next);
    free(seen);
    return rc;
}
