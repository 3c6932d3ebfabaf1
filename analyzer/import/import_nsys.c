#include "analyzer/import/import.h"
#include "analyzer/import/nsys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static const int64_t largest = (int64_t)64 << 30; /* unpacked bytes: more is no report but a bomb */

static bool sniff(const char *path, const void *head, size_t n)
{
    (void)path;
    return n >= 16 && memcmp(head, "SQLite format 3", 16) == 0;
}

/* SQLite wants a real file: a .gz is unpacked beside the other temporary ones. 0, or -1 with *e
 * set. */
static int unpack(const char *path, char *out, size_t size, struct err *e)
{
    const char *dir = getenv("TMPDIR");
    snprintf(out, size, "%s/gpuprof-nsys-XXXXXX", dir && *dir ? dir : "/tmp");
    int fd = mkstemp(out);
    gzFile in = gzopen(path, "rb");
    static char buf[1 << 16];
    int64_t total = 0;
    int rc = fd >= 0 && in ? 0 : -1, got = 0;
    while (rc == 0 && (got = gzread(in, buf, sizeof buf)) > 0) {
        total += got;
        if (total > largest || write(fd, buf, (size_t)got) != got)
            rc = -1;
    }
    int code = Z_OK;
    if (in)
        gzerror(in, &code);
    if (rc < 0)
        err_set(e, "%s: cannot be unpacked into %s (no room?)", path, dir && *dir ? dir : "/tmp");
    else if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
        rc = err_set(e, "%s: damaged or cut off", path);
    if (in)
        gzclose(in);
    if (fd >= 0)
        close(fd);
    if (rc < 0 && fd >= 0)
        unlink(out);
    return rc;
}

static bool is_gzip(const char *path)
{
    unsigned char head[2] = {0};
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(head, 1, 2, f) : 0;
    if (f)
        fclose(f);
    return n == 2 && head[0] == 0x1f && head[1] == 0x8b;
}

static int read_database(const char *path, const char *shown, struct sink *out, struct err *e)
{
    struct nsys n = {.out = out, .e = e, .path = shown};
    n.db = sql_open(path, SQL_READ, e);
    if (!n.db)
        return -1;
    int rc;
    const char *strange = nsys_strange_table(n.db);
    if (strange)
        rc = err_set(e, "%s: %s is no plain table: not an Nsight Systems export", shown, strange);
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
    free(n.strings);
    arena_release(&n.arena);
    return rc;
}

static int read_export(const char *path, struct sink *out, struct err *e)
{
    char unpacked[4096];
    if (!is_gzip(path))
        return read_database(path, path, out, e);
    if (unpack(path, unpacked, sizeof unpacked, e) < 0)
        return -1;
    int rc = read_database(unpacked, path, out, e);
    unlink(unpacked);
    return rc;
}

const struct importer import_nsys = {
    .name = "nsys",
    .suffixes = ".sqlite, .sqlite.gz (nsys export --type sqlite)",
    .priority = 50,
    .sniff = sniff,
    .read = read_export,
};
