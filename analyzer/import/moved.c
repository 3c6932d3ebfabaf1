/* A sink that adds an offset to every time in a row before it passes the row on. */
#include "analyzer/import/moved.h"

#include "analyzer/profile/tables.h"

#include <stdbool.h>
#include <string.h>

static uint32_t moved_intern(void *self, const char *text, size_t n)
{
    struct moved *m = self;
    return m->out->intern(m->out->self, text, n);
}

static bool is_time(const char *column)
{
    static const char *const times[] = {"start_ns", "end_ns", "time_ns", "device_ns"};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (strcmp(column, times[i]) == 0)
            return true;
    return false;
}

static int moved_put(void *self, enum row_kind kind, const void *row, struct err *e)
{
    struct moved *m = self;
    const struct table *t = &tables[kind];
    int64_t copy[TABLE_MAX_ROW / sizeof(int64_t) + 1];
    memcpy(copy, row, t->row_size);
    for (size_t i = 0; i < t->count; i++) {
        if (!is_time(t->columns[i].name))
            continue;
        char *member = (char *)copy + t->columns[i].offset;
        int64_t v;
        memcpy(&v, member, sizeof v);
        if (v == -1)
            continue; /* -1: not known, stays so */
        v = (int64_t)((uint64_t)v + (uint64_t)m->by_ns);
        memcpy(member, &v, sizeof v);
    }
    return m->out->put(m->out->self, kind, copy, e);
}

struct sink moved_sink(struct moved *m, struct sink *out, int64_t epoch_ns)
{
    if (!out->epoch_ns && epoch_ns > 0)
        out->epoch_ns = epoch_ns;
    *m = (struct moved){out, 0};
    if (epoch_ns > 0)
        m->by_ns = (int64_t)((uint64_t)epoch_ns - (uint64_t)out->epoch_ns);
    if (!m->by_ns)
        return *out;
    return (struct sink){
        .self = m, .intern = moved_intern, .put = moved_put, .epoch_ns = out->epoch_ns};
}
