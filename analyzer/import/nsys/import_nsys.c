/* The importer of Nsight Systems' SQLite exports: recognises them, and
 * reads their tables in turn. */
#include "analyzer/import/import.h"
#include "analyzer/import/nsys/nsys.h"
#include "analyzer/import/unpack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool sniff(const char *path, const void *head, size_t n)
{
    (void)path;
    return n >= 16 && memcmp(head, "SQLite format 3", 16) == 0;
}

/* temporary: we unpacked the file; it is unlinked as soon as it is open.
 * shown: the path in messages. */
static int read_database(const char *path, bool temporary, const char *shown, struct sink *out,
                         struct err *e)
{
    struct nsys n = {.out = out, .e = e, .path = shown};
    n.db = sql_open(path, SQL_READ, e);
    if (temporary)
        unlink(path);
    if (!n.db)
        return -1;
    int rc;
    const char *strange = nsys_non_table(n.db);
    if (strange)
        rc =
            err_set(e, "%s: %s is not a plain table: not an Nsight Systems export", shown, strange);
    else if (!sql_has_table(n.db, "StringIds"))
        rc = err_set(
            e, "%s: a SQLite database, but neither a gpuprof profile nor an Nsight Systems export",
            shown);
    else
        rc = nsys_read_tables(&n);
    sql_close(n.db);
    vec_release(&n.processes);
    vec_release(&n.threads);
    vec_release(&n.streams);
    vec_release(&n.devices);
    vec_release(&n.domains);
    keymap_release(&n.process_of);
    keymap_release(&n.thread_of);
    keymap_release(&n.stream_of);
    keymap_release(&n.device_of);
    keymap_release(&n.device_in);
    keymap_release(&n.domain_of);
    free(n.strings);
    arena_release(&n.arena);
    return rc;
}

static int read_export(const char *path, struct sink *out, struct err *e)
{
    char unpacked[4096];
    if (!unpack_is_gzip(path))
        return read_database(path, false, path, out, e);
    if (unpack(path, unpacked, sizeof unpacked, e) < 0)
        return -1;
    return read_database(unpacked, true, path, out, e);
}

const struct importer import_nsys = {
    .name = "nsys",
    .suffixes = ".sqlite, .sqlite.gz (nsys export --type sqlite)",
    .priority = 50,
    .sniff = sniff,
    .read = read_export,
};
