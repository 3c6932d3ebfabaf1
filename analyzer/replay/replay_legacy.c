/* Finds the streams that the legacy default stream orders (replay_legacy.h), sorted by context, because
 * a recording may have 100,000 streams. */
#include "analyzer/replay/replay_legacy.h"

#include <stdlib.h>
#include <string.h>

/* The blocking streams of one context. */
struct blocking {
    int64_t device, context;
    size_t stream;
    bool legacy; /* the legacy default stream */
};

static bool same_context(const struct blocking *x, const struct blocking *y)
{
    return x->device == y->device && x->context == y->context;
}

static int by_context(const void *a, const void *b)
{
    const struct blocking *x = a, *y = b;
    int by_device = (x->device > y->device) - (x->device < y->device);
    return by_device ? by_device : (x->context > y->context) - (x->context < y->context);
}

int replay_find_legacy(struct replay *r, const struct graph *g)
{
    const struct stream *all = g->a->tl->streams;
    struct blocking *b = malloc((g->streams + 1) * sizeof *b);
    size_t n = 0;
    if (!b)
        return -1;
    memset(r->legacy, 0, (g->streams + 1) * sizeof *r->legacy);
    for (size_t s = 0; s < g->streams; s++)
        if (all[s].row.flags >= 0 && !(all[s].row.flags & STREAM_NON_BLOCKING))
            b[n++] = (struct blocking){all[s].device, all[s].row.context, s,
                                       all[s].row.flags & STREAM_LEGACY_DEFAULT};
    qsort(b, n, sizeof *b, by_context);
    for (size_t from = 0, to; from < n; from = to) {
        size_t legacy = 0;
        for (to = from; to < n && same_context(&b[from], &b[to]); to++)
            legacy += b[to].legacy;
        for (size_t i = from; i < to; i++)
            r->legacy[b[i].stream] = b[i].legacy ? to - from > 1 : legacy > 0;
    }
    free(b);
    return 0;
}
