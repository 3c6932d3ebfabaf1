/* CUPTI's clock -> profile time. Each anchor pairs CUPTI's clock with CLOCK_MONOTONIC; a stamp is
 * converted by the anchor that is nearest to it on CUPTI's own scale. While nobody sets the clock
 * all anchors agree to a fraction of a microsecond; after a step, stamps from before it are nearest
 * to anchors from before it. */
#include "analyzer/import/spool.h"

enum { RECENT = 16 };

void spool_read_anchors(struct spool *s)
{
    uint32_t head = atomic_load_explicit(&s->h->anchors_head, memory_order_acquire);
    if (head - s->anchors_seen > SPOOL_ANCHORS)
        s->anchors_seen = head - SPOOL_ANCHORS; /* the oldest are lost: the reader was asleep */
    for (; s->anchors_seen != head; s->anchors_seen++) {
        struct spool_anchor a = s->h->anchors[s->anchors_seen % SPOOL_ANCHORS];
        if (!a.cupti_ns)
            a.cupti_ns = a.realtime_ns;
        struct spool_anchor *slot = vec_push(&s->anchors);
        if (slot)
            *slot = a;
    }
}

static uint64_t distance(int64_t a, int64_t b)
{
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

int64_t spool_cupti_time(const struct spool *s, int64_t cupti_ns)
{
    size_t n = s->anchors.n, best = n;
    uint64_t least = UINT64_MAX;
    for (size_t i = n; i-- > 0;) {
        if (n - i > RECENT && least < 2000000000u)
            break; /* near enough: the rest is older */
        uint64_t d = distance(cupti_ns, s->anchors.at[i].cupti_ns);
        if (d < least) {
            least = d;
            best = i;
        }
    }
    /* unsigned: damaged anchors wrap around instead of being undefined */
    uint64_t offset =
        best < n
            ? (uint64_t)s->anchors.at[best].cupti_ns - (uint64_t)s->anchors.at[best].monotonic_ns
            : (uint64_t)s->fixed.start_realtime_ns - (uint64_t)s->fixed.start_monotonic_ns;
    return spool_time(s, (int64_t)((uint64_t)cupti_ns - offset));
}
