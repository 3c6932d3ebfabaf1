/* Converts CUPTI's clock to profile time. Each anchor pairs CUPTI's clock with CLOCK_MONOTONIC.
 * Between two anchors the clocks drift apart smoothly, so the offset is interpolated. If the
 * real-time clock is set, the offset jumps, and a new segment of anchors begins.
 *
 * If the clock is set back, the same stamps occur twice. A stamp is then taken to belong to the
 * newest segment in which it makes sense: not before the segment began, and not in the future. This
 * is wrong only for records that arrive later than the clock was set back. */
#include "analyzer/collector/spool/spool.h"

#include "base/clock.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { ANCHORS_MAX = 8192 }; /* covers hours */
enum { SLEW = 1000 };        /* a clock is slewed by at most 0.05 %, so 0.1 % is a jump */
enum { GAPS_MAX = 1024 };
static const int64_t late_ns = 2000000000; /* records arrive within two rounds of the agent */
/* records may still arrive this long after the last anchor */
static const int64_t no_anchor_ns = 10000000000;

static int64_t offset_of(const struct spool_anchor *a)
{
    return spool_minus(a->cupti_ns, a->monotonic_ns);
}

static bool is_step(const struct spool_anchor *before, const struct spool_anchor *after)
{
    int64_t jump = spool_minus(offset_of(after), offset_of(before));
    int64_t slewed = spool_minus(after->monotonic_ns, before->monotonic_ns) / SLEW;
    return fabs((double)jump) > (double)SPOOL_CLOCK_STEP_NS + fabs((double)slewed);
}

/* Drops the older half of the anchors if there are too many: records arrive within seconds, so only
 * the newest anchors are needed. */
static void forget_old(struct spool *s)
{
    size_t half = ANCHORS_MAX / 2, left = 0;
    if (s->anchors.n < ANCHORS_MAX)
        return;
    memmove(s->anchors.at, s->anchors.at + half, (s->anchors.n - half) * sizeof *s->anchors.at);
    s->anchors.n -= half;
    for (size_t i = 0; i < s->segments.n; i++) {
        size_t at = s->segments.at[i];
        bool last_before = at < half && (i + 1 == s->segments.n || s->segments.at[i + 1] > half);
        if (at >= half || last_before)
            s->segments.at[left++] = at >= half ? at - half : 0;
        else
            s->segments_lost++;
    }
    s->segments.n = left;
}

/* Notes the time around a jump of the clock. If it was set back by less than records may be late,
 * records before the jump cannot be told from those after it, so the gap is extended. */
static void note_gap(struct spool *s, const struct spool_anchor *before,
                     const struct spool_anchor *after)
{
    int64_t back = spool_minus(offset_of(before), offset_of(after));
    int64_t more = back > 0 && back < late_ns ? back : 0;
    struct spool_clock_gap *g = s->clock_gaps.n < GAPS_MAX ? vec_push(&s->clock_gaps) : NULL;
    if (g)
        *g = (struct spool_clock_gap){spool_time(s, spool_minus(before->monotonic_ns, more)),
                                      spool_time(s, spool_plus(after->monotonic_ns, more))};
}

static void add_anchor(struct spool *s, struct spool_anchor a)
{
    forget_old(s);
    if (!a.cupti_ns)
        a.cupti_ns = a.realtime_ns;
    bool begins = !s->anchors.n || is_step(&s->anchors.at[s->anchors.n - 1], &a);
    struct spool_anchor *slot = vec_push(&s->anchors);
    if (!slot)
        return;
    *slot = a;
    size_t *segment = begins ? vec_push(&s->segments) : NULL;
    if (segment)
        *segment = s->anchors.n - 1;
    if (segment && s->anchors.n > 1)
        note_gap(s, slot - 1, slot);
}

void spool_read_anchors(struct spool *s)
{
    uint32_t head = atomic_load_explicit(&s->h->anchors_head, memory_order_acquire);
    if (head - s->anchors_seen > SPOOL_ANCHORS)
        s->anchors_seen = head - SPOOL_ANCHORS; /* the oldest were overwritten before
                                                   the collector read them */
    for (; s->anchors_seen != head; s->anchors_seen++)
        add_anchor(s, s->h->anchors[s->anchors_seen % SPOOL_ANCHORS]);
    s->now_ns = clock_monotonic_ns();
}

/* Index of the last anchor in [first, end) not after the stamp; `first` if all are after it. */
static size_t anchor_before(const struct spool *s, size_t first, size_t end, int64_t cupti_ns)
{
    while (end - first > 1) {
        size_t middle = first + (end - first) / 2;
        if (s->anchors.at[middle].cupti_ns <= cupti_ns)
            first = middle;
        else
            end = middle;
    }
    return first;
}

/* CLOCK_MONOTONIC of a stamp, by the anchors [first, end). */
static int64_t convert(const struct spool *s, size_t first, size_t end, int64_t cupti_ns)
{
    size_t i = anchor_before(s, first, end, cupti_ns);
    const struct spool_anchor *a = &s->anchors.at[i], *b = a + 1;
    int64_t offset = offset_of(a);
    if (i + 1 < end && cupti_ns > a->cupti_ns && b->cupti_ns > a->cupti_ns) {
        double way = (double)spool_minus(cupti_ns, a->cupti_ns) /
                     (double)spool_minus(b->cupti_ns, a->cupti_ns);
        double drift = (double)spool_minus(offset_of(b), offset);
        offset = spool_plus(offset, (int64_t)(way * drift));
    }
    return spool_minus(cupti_ns, offset);
}

int64_t spool_cupti_time(const struct spool *s, int64_t cupti_ns)
{
    int64_t best =
        spool_minus(cupti_ns, spool_minus(s->fixed.start_realtime_ns, s->fixed.start_monotonic_ns));
    size_t end = s->anchors.n;
    int64_t latest = end ? spool_plus(s->anchors.at[end - 1].monotonic_ns, no_anchor_ns) : 0;
    if (latest > s->now_ns)
        latest = s->now_ns;
    double least = INFINITY;
    for (size_t k = s->segments.n; k-- > 0 && least > 0;) {
        size_t first = s->segments.at[k];
        int64_t ns = convert(s, first, end, cupti_ns);
        int64_t earliest = k ? s->anchors.at[first - 1].monotonic_ns : ns;
        double off = fmax((double)earliest - (double)ns, (double)ns - (double)latest);
        if (off < least) {
            least = off > 0 ? off : 0;
            best = ns;
        }
        latest = s->anchors.at[first].monotonic_ns;
        end = first;
    }
    return spool_time(s, best);
}

static bool in_gap(const struct spool *s, int64_t ns)
{
    for (size_t i = s->clock_gaps.n; i-- > 0;)
        if (ns >= s->clock_gaps.at[i].start_ns && ns <= s->clock_gaps.at[i].end_ns)
            return true;
    return false;
}

bool spool_cupti_span(const struct spool *s, int64_t start, int64_t end, int64_t *start_ns,
                      int64_t *end_ns)
{
    *start_ns = spool_cupti_time(s, start);
    *end_ns = spool_plus(*start_ns, spool_minus(end, start));
    if (s->clock_gaps.n == 0)
        return true;
    int64_t own_end = spool_cupti_time(s, end);
    if (in_gap(s, *start_ns) || in_gap(s, own_end))
        return false;
    return fabs((double)spool_minus(own_end, *end_ns)) <= (double)SPOOL_CLOCK_STEP_NS;
}
