/* Converts the times of CUPTI records to profile time, and counts records
 * whose times are not known. */
#include "analyzer/collector/spool/spool.h"

/* If CUPTI is turned on or off while the program launches, some records have no times and belong to
 * no window. The next record with times shows when they were, in this buffer or a later one, since
 * a buffer may contain no other records. At the end the last record before them does. */
void spool_place_untimed(struct spool *s, const struct spool_out *out)
{
    bool asked = s->near_ns < 0 || spool_in_window(out, s->near_ns, true);
    *(asked ? &s->lost.untimed : &s->lost.unasked) += s->unplaced;
    s->unplaced = 0;
}

bool spool_place(struct spool *s, const struct spool_out *out, int64_t start, int64_t end,
                 int64_t *start_ns, int64_t *end_ns)
{
    bool known = spool_cupti_span(s, start, end, start_ns, end_ns);
    s->lost.off_clock += !known;
    if (!known)
        return false;
    if (*end_ns > s->newest_ns)
        s->newest_ns = *end_ns;
    s->near_ns = *start_ns;
    if (s->unplaced)
        spool_place_untimed(s, out);
    return true;
}

bool spool_place_work(struct spool *s, const struct spool_out *out, int64_t start, int64_t end,
                      int64_t *start_ns, int64_t *end_ns)
{
    if (!end && (start || s->unfinished)) {
        s->lost.in_flight++;
        return false;
    }
    if (start <= 0 || end < start) {
        if (start > 0 && s->segments.n > 1) /* the clock was set back while the work ran */
            s->lost.off_clock++;
        else
            s->unplaced++;
        return false;
    }
    return spool_place(s, out, start, end, start_ns, end_ns);
}

bool spool_place_call(struct spool *s, const struct spool_out *out, int64_t start, int64_t end,
                      int64_t *start_ns, int64_t *end_ns)
{
    if (start <= 0 || end < start) {
        if (start > 0 && s->segments.n > 1)
            s->lost.off_clock++;
        else
            s->unplaced++;
        return false;
    }
    if (!spool_place(s, out, start, end, start_ns, end_ns))
        return false;
    if (!s->cupti_told || *end_ns > s->last_record_ns)
        s->last_record_ns = *end_ns;
    s->cupti_told = true;
    return true;
}
