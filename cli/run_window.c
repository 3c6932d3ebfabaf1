#include "cli/run_window.h"

#include "agent/spool_format.h"
#include "analyzer/store/store.h"
#include "analyzer/store/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t intern(void *self, const char *text, size_t n)
{
    struct window *w = self;
    return w->inner.intern(w->inner.self, text, n);
}

static bool kept(const struct window *w, enum row_kind kind, const void *row)
{
    if (w->offset[kind] < 0)
        return true;
    if (kind == ROW_CALL && ((const struct row_call *)row)->family == SPOOL_CALL_FIND)
        return true;
    int64_t ns;
    memcpy(&ns, (const char *)row + w->offset[kind], sizeof ns);
    return ns >= w->from_ns && ns < w->to_ns;
}

static int put(void *self, enum row_kind kind, const void *row, struct err *e)
{
    struct window *w = self;
    return kept(w, kind, row) ? w->inner.put(w->inner.self, kind, row, e) : 0;
}

struct sink window_sink(struct window *w, struct sink inner, int64_t from_ns, int64_t to_ns)
{
    w->inner = inner;
    w->from_ns = from_ns;
    w->to_ns = to_ns;
    for (int k = 0; k < ROW_KINDS; k++)
        w->offset[k] = table_time_offset((enum row_kind)k);
    return (struct sink){.self = w, .intern = intern, .put = put};
}

int window_keep(const char *profile, int64_t from_ns, int64_t to_ns, struct err *e)
{
    struct window w;
    struct store *from = store_open(profile, 0, e);
    struct store *to = from ? store_create(profile, 1, e) : NULL;
    int rc = -1;
    if (to) {
        struct sink sink = window_sink(&w, store_sink(to), from_ns, to_ns);
        rc = store_read(from, &sink, e) < 0 || store_finish(to, e) < 0 ? -1 : 0;
    }
    store_close(to);
    store_close(from);
    return rc;
}

/* A number from 1 up to `end`; nothing at all is `none`. */
static int parse_number(const char *text, const char *end, int64_t none, int64_t *value)
{
    char *stop;
    *value = none;
    if (text == end)
        return 0;
    errno = 0;
    *value = strtoll(text, &stop, 10);
    return *text >= '0' && *text <= '9' && stop == end && !errno && *value >= 1 ? 0 : -1;
}

int window_parse_steps(const char *text, int64_t *first, int64_t *last, struct err *e)
{
    const char *colon = strchr(text, ':'), *end = text + strlen(text);
    if (!colon || end - text == 1 || parse_number(text, colon, 1, first) < 0 ||
        parse_number(colon + 1, end, INT64_MAX, last) < 0 || *last < *first)
        return err_set(e, "--steps wants A:B, A: or :B, counted from 1, not '%s'", text);
    return 0;
}
