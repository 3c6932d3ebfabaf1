/* Our own profiles: a SQLite file with our application id. Several of them in one sink (ranks that
 * were recorded each for itself) are put on one time axis by the Unix time of their starts. */
#include "analyzer/import/import.h"
#include "analyzer/profile/store.h"
#include "analyzer/profile/tables.h"

#include <string.h>

static bool sniff(const char *path, const void *head, size_t n)
{
    (void)path;
    static const unsigned char id[] = {0x47, 0x50, 0x52, 0x46}; /* schema.sql */
    return n >= 72 && memcmp(head, "SQLite format 3", 16) == 0 &&
           memcmp((const char *)head + 68, id, sizeof id) == 0;
}

/* A sink before another that moves points in time. */
struct moved {
    struct sink *out;
    int64_t by_ns;
};

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
            continue; /* not known */
        v = (int64_t)((uint64_t)v + (uint64_t)m->by_ns);
        memcpy(member, &v, sizeof v);
    }
    return m->out->put(m->out->self, kind, copy, e);
}

static int read_profile(const char *path, struct sink *out, struct err *e)
{
    struct store *s = store_open(path, 0, e);
    if (!s)
        return -1;
    int64_t start = store_start_realtime(s);
    if (!out->epoch_ns && start > 0)
        out->epoch_ns = start;
    struct moved m = {out, 0};
    if (start > 0)
        m.by_ns = (int64_t)((uint64_t)start - (uint64_t)out->epoch_ns);
    struct sink through = {.self = &m, .intern = moved_intern, .put = moved_put};
    int rc = store_read(s, m.by_ns ? &through : out, e);
    store_close(s);
    return rc;
}

const struct importer import_profile = {
    .name = "profile",
    .suffixes = ".gpuprof",
    .priority = 10,
    .sniff = sniff,
    .read = read_profile,
};
