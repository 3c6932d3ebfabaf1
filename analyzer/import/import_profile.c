/* Reads gpuprof's own profiles: SQLite files with its application id. Profiles of several ranks go
 * into one sink on one time axis, aligned by the Unix times at which they start. */
#include "analyzer/import/import.h"
#include "analyzer/import/moved.h"
#include "analyzer/profile/store.h"

#include <string.h>

static bool sniff(const char *path, const void *head, size_t n)
{
    (void)path;
    /* the application_id of schema.sql, at byte 68 of the file */
    static const unsigned char id[] = {0x47, 0x50, 0x52, 0x46};
    return n >= 72 && memcmp(head, "SQLite format 3", 16) == 0 &&
           memcmp((const char *)head + 68, id, sizeof id) == 0;
}

static int read_profile(const char *path, struct sink *out, struct err *e)
{
    struct store *s = store_open(path, 0, e);
    if (!s)
        return -1;
    struct moved m;
    struct sink through = moved_sink(&m, out, store_start_realtime(s));
    int rc = store_read(s, &through, e);
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
