/* A sink that passes on only the rows within a window of time. */
#include "analyzer/profile/keep_window.h"

#include "analyzer/profile/store.h"
#include "analyzer/profile/tables.h"
#include "wire/spool_format.h"

#include <stdlib.h>
#include <string.h>

static uint32_t intern(void *self, const char *text, size_t n)
{
    struct window *w = self;
    return w->inner.intern(w->inner.self, text, n);
}

bool window_time_of(enum row_kind kind, const void *row, int64_t *ns)
{
    static int offsets[ROW_KINDS]; /* offset + 1; -1 = no time; 0 = not looked up yet */
    if (!offsets[kind])
        offsets[kind] = table_time_offset(kind) + 1 ? table_time_offset(kind) + 1 : -1;
    if (offsets[kind] < 0 ||
        (kind == ROW_CALL && ((const struct row_call *)row)->family == SPOOL_CALL_FIND))
        return false;
    memcpy(ns, (const char *)row + offsets[kind] - 1, sizeof *ns);
    return true;
}

bool window_of_gpu(enum row_kind kind)
{
    return kind == ROW_KERNEL || kind == ROW_COPY || kind == ROW_MEMSET || kind == ROW_EVENT;
}

static bool in_window(const struct window *w, enum row_kind kind, const void *row)
{
    int64_t ns;
    if (!window_time_of(kind, row, &ns))
        return true;
    return ns >= w->from_ns && ns < (window_of_gpu(kind) ? w->gpu_to_ns : w->to_ns);
}

/* Cuts a recorded window to the kept part. False: nothing is left. */
static bool clip(const struct window *w, struct row_recorded *r)
{
    if (r->start_ns < w->from_ns) {
        r->start_ns = r->gpu_start_ns = w->from_ns;
        r->first_step = w->first_step;
    }
    if (r->end_ns > w->to_ns)
        r->end_ns = w->to_ns;
    if (r->gpu_end_ns > w->gpu_to_ns)
        r->gpu_end_ns = w->gpu_to_ns;
    return r->end_ns > r->start_ns;
}

static int put(void *self, enum row_kind kind, const void *row, struct err *e)
{
    struct window *w = self;
    struct row_recorded r;
    if (kind == ROW_RECORDED) {
        r = *(const struct row_recorded *)row;
        if (!clip(w, &r))
            return 0;
        row = &r;
    }
    return in_window(w, kind, row) ? w->inner.put(w->inner.self, kind, row, e) : 0;
}

int window_keep(const char *profile, const struct window *window, struct err *e)
{
    struct window w = *window;
    struct store *from = store_open(profile, 0, e);
    struct store *to = from ? store_create(profile, 1, e) : NULL;
    int rc = -1;
    if (to) {
        struct sink sink = {.self = &w, .intern = intern, .put = put};
        w.inner = store_sink(to);
        rc = store_read(from, &sink, e) < 0 || store_finish(to, e) < 0 ? -1 : 0;
    }
    store_close(to);
    store_close(from);
    return rc;
}
