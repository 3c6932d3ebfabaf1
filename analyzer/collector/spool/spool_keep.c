/* Decides which rows go into the profile: those in windows that are recorded in full, up to the
 * size limit. Rows without a time are always kept; so are searches for an algorithm, because their
 * result is used from then on. */
#include "analyzer/collector/spool/spool.h"

#include "analyzer/profile/keep_window.h"
#include "base/str.h"

#include <string.h>

enum { ROWS_BETWEEN_LOOKS = 1024 }; /* rows between two checks of the profile's size */

/* True for kinds whose missing rows make the profile incomplete from then on. Long ranges begin
 * early and come late, so their time does not show since when something is missing. */
static bool tells_missing(enum row_kind kind)
{
    return kind == ROW_KERNEL || kind == ROW_COPY || kind == ROW_MEMSET || kind == ROW_API;
}

static int64_t correlation_of(enum row_kind kind, const void *row)
{
    switch (kind) {
    case ROW_KERNEL:
        return ((const struct row_kernel *)row)->correlation;
    case ROW_COPY:
        return ((const struct row_copy *)row)->correlation;
    case ROW_MEMSET:
        return ((const struct row_memset *)row)->correlation;
    case ROW_API:
        return ((const struct row_api *)row)->correlation;
    default:
        return 0;
    }
}

/* True for GPU work that was launched after the window. After a window's end its queued work still
 * runs, and records of work from later calls arrive as well. Correlation ids rise, so the id of the
 * first call that was left out divides the two. */
static bool of_later_call(struct spool *s, enum row_kind kind, const void *row, bool in_window)
{
    int64_t c = s ? correlation_of(kind, row) : 0;
    if (c <= 0)
        return false;
    if (kind == ROW_API && in_window && c > s->cut_correlation)
        s->cut_correlation = 0; /* the next window has begun */
    if (kind == ROW_API && !in_window && (!s->cut_correlation || c < s->cut_correlation))
        s->cut_correlation = c;
    return kind != ROW_API && s->cut_correlation && c >= s->cut_correlation;
}

static bool kept(struct spool_out *out, enum row_kind kind, const void *row)
{
    int64_t ns = out->newest_ns; /* events have no time, but come together with rows that have */
    if (!window_time_of(kind, row, &ns) && kind != ROW_EVENT)
        return true;
    if (out->limit.reached) {
        out->limit.left_out++;
        if (tells_missing(kind) && ns < out->limit.from_ns)
            out->limit.from_ns = ns;
        return false;
    }
    if (tells_missing(kind))
        out->newest_ns = ns;
    if (tells_missing(kind) && ns < out->unsafe_ns)
        out->unsafe_ns = ns;
    bool in_window = spool_in_window(out, ns, window_of_gpu(kind));
    bool later = of_later_call(out->from, kind, row, in_window);
    return in_window && (!later || spool_in_window(out, ns, false));
}

static void look_at_size(struct spool_out *out)
{
    struct spool_limit *l = &out->limit;
    if (!l->bytes || l->reached || l->bytes(l->self) + l->spool_bytes <= l->max_bytes)
        return;
    l->reached = true;
    l->from_ns = INT64_MAX;
}

void spool_put(struct spool_out *out, enum row_kind kind, const void *row)
{
    struct err e = ERR_INIT;
    if (!kept(out, kind, row))
        return;
    if (!out->failed && out->sink->put(out->sink->self, kind, row, &e) < 0) {
        out->failed = true;
        if (out->e && !out->e->text[0])
            *out->e = e;
    }
    out->lost += out->failed;
    if (out->from)
        out->from->changed = true;
    if (++out->rows % ROWS_BETWEEN_LOOKS == 0)
        look_at_size(out);
}
