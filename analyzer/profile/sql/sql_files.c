/* The files of one connection; see sql_files.h. The database is accessed through SQLite's
 * own functions, because it uses their locks. The journal is accessed through the
 * functions in sql_journal.c: it needs no locks, and gpuprof can check the opened file
 * before SQLite reads from it. */
#include "analyzer/profile/sql/sql_files.h"

#include "analyzer/profile/sql/sql_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct sql_files *files_of(sqlite3_vfs *vfs)
{
    return vfs->pAppData;
}

static bool is_journal(const struct sql_files *f, const char *name)
{
    return f->journal && strcmp(name, f->journal) == 0;
}

/* ---- the database ---- */

static int characteristics(sqlite3_file *file);
static int on_write(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 at);

static void forget(struct sql_files *f)
{
    if (f->folder >= 0)
        close(f->folder);
    free(f->journal);
    f->folder = -1;
    f->journal = NULL;
}

/* Opens the database's folder, and derives the journal's name. An error code of SQLite. */
static int locate(struct sql_files *f, const char *name)
{
    size_t n = strlen(name);
    const char *slash = strrchr(name, '/');
    char *folder = slash ? strndup(name, (size_t)(slash - name) + 1) : strdup(".");
    f->journal = malloc(n + sizeof "-journal");
    if (!folder || !f->journal) {
        free(folder);
        return SQLITE_NOMEM;
    }
    memcpy(f->journal, name, n);
    memcpy(f->journal + n, "-journal", sizeof "-journal");
    f->file = f->journal + (slash ? slash - name + 1 : 0);
    f->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    return f->folder < 0 ? SQLITE_CANTOPEN : SQLITE_OK;
}

static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

/* Opens the file with O_PATH, which does not read it. Closing such a descriptor
 * leaves this process' locks on the file in place, which closing an ordinary one
 * would not. -1: no such file. */
static int open_without_reading(const struct sql_files *f, const char *name, struct stat *st)
{
    int fd = openat(f->folder, last_part(name), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, st) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Handles a database in WAL mode (SQLite's file format, bytes 18 and 19). If its log does not exist
 * or is empty, the database is complete and no process writes to it: it can be read as it is.
 * Otherwise it is refused. */
static int look_at_wal(struct sql_files *f, const char *name, sqlite3_file *file)
{
    enum { FORMAT_WRITE = 18, WAL_FORMAT = 2, HEAD = 20 };
    unsigned char head[HEAD] = {0};
    char *log = NULL;
    struct stat st;
    if (file->pMethods->xRead(file, head, HEAD, 0) != SQLITE_OK ||
        (head[FORMAT_WRITE] != WAL_FORMAT && head[FORMAT_WRITE + 1] != WAL_FORMAT))
        return SQLITE_OK;
    if (asprintf(&log, "%s-wal", last_part(name)) < 0)
        return SQLITE_NOMEM;
    f->wal =
        f->writes || (fstatat(f->folder, log, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0);
    free(log);
    f->still = !f->wal;
    return f->wal ? SQLITE_CANTOPEN : SQLITE_OK;
}

static int open_database(struct sql_files *f, const char *name, sqlite3_file *file, int flags,
                         int *got)
{
    struct stat before, after;
    int rc = f->journal ? SQLITE_CANTOPEN : locate(f, name);
    int fd = rc == SQLITE_OK ? open_without_reading(f, name, &before) : -1;
    if (fd >= 0 && !S_ISREG(before.st_mode))
        rc = SQLITE_CANTOPEN;
    if (rc == SQLITE_OK)
        rc = f->base->xOpen(f->base, name, file, flags, got);
    if (rc == SQLITE_OK) {
        int again = open_without_reading(f, name, &after);
        if (again < 0 || !S_ISREG(after.st_mode) ||
            (fd >= 0 && (after.st_dev != before.st_dev || after.st_ino != before.st_ino)))
            rc = SQLITE_CANTOPEN;
        f->database = after;
        if (again >= 0)
            close(again);
        if (rc == SQLITE_OK)
            rc = look_at_wal(f, name, file);
        if (rc != SQLITE_OK)
            file->pMethods->xClose(file);
    }
    if (fd >= 0)
        close(fd);
    if (rc != SQLITE_OK) {
        file->pMethods = NULL;
        return rc;
    }
    f->characteristics = file->pMethods->xDeviceCharacteristics;
    f->write = file->pMethods->xWrite;
    f->io = *file->pMethods;
    f->io.xWrite = on_write;
    f->io.xShmMap = NULL; /* no shared memory, which also disables write-ahead logs */
    f->io.xDeviceCharacteristics = characteristics;
    file->pMethods = &f->io;
    return SQLITE_OK;
}

static const struct sql_files *owner_of(const sqlite3_file *file)
{
    return (const void *)((const char *)file->pMethods - offsetof(struct sql_files, io));
}

static int characteristics(sqlite3_file *file)
{
    const struct sql_files *f = owner_of(file);
    return f->characteristics(file) | (f->still ? SQLITE_IOCAP_IMMUTABLE : 0);
}

static int on_write(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 at)
{
    const struct sql_files *f = owner_of(file);
    int rc;
    do
        rc = f->write(file, bytes, n, at);
    while (rc == SQLITE_FULL && sql_files_make_room(f));
    return rc;
}

/* ---- SQLite's requests by name ---- */

static int on_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *got)
{
    struct sql_files *f = files_of(vfs);
    file->pMethods = NULL;
    if (!name) /* a temporary file, which is deleted as soon as it is created */
        return f->base->xOpen(f->base, name, file, flags, got);
    if (flags & SQLITE_OPEN_MAIN_DB)
        return open_database(f, name, file, flags, got);
    if (!is_journal(f, name))
        return SQLITE_CANTOPEN;
    if (got)
        *got = flags;
    return sql_journal_open(f, (struct sql_journal *)file, flags);
}

static int on_delete(sqlite3_vfs *vfs, const char *name, int durable)
{
    const struct sql_files *f = files_of(vfs);
    struct stat st;
    (void)durable;
    if (!f->writes || !is_journal(f, name))
        return SQLITE_IOERR_DELETE;
    if (fstatat(f->folder, f->file, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? SQLITE_IOERR_DELETE_NOENT : SQLITE_IOERR_DELETE;
    if (!sql_journal_is_ours(f, &st) || unlinkat(f->folder, f->file, 0) != 0)
        return SQLITE_IOERR_DELETE;
    return SQLITE_OK;
}

/* SQLite asks whether a journal exists. A file that does not begin like a
 * journal does not count. */
static int on_access(sqlite3_vfs *vfs, const char *name, int how, int *there)
{
    const struct sql_files *f = files_of(vfs);
    (void)how;
    *there = is_journal(f, name) && sql_journal_at(f->folder, f->file);
    return SQLITE_OK;
}

static int on_full_name(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
    struct sql_files *f = files_of(vfs);
    return f->base->xFullPathname(f->base, name, size, out);
}

struct sql_files *sql_files_open(bool writes)
{
    sqlite3_vfs *base = sqlite3_vfs_find("unix");
    struct sql_files *f = base ? calloc(1, sizeof *f) : NULL;
    if (!f)
        return NULL;
    f->base = base;
    f->writes = writes;
    f->folder = -1;
    snprintf(f->name, sizeof f->name, "gpuprof-%p", (void *)f);
    f->vfs = *base;
    f->vfs.pNext = NULL;
    f->vfs.zName = f->name;
    f->vfs.pAppData = f;
    f->vfs.xOpen = on_open;
    f->vfs.xDelete = on_delete;
    f->vfs.xAccess = on_access;
    f->vfs.xFullPathname = on_full_name;
    if (f->vfs.szOsFile < (int)sizeof(struct sql_journal))
        f->vfs.szOsFile = sizeof(struct sql_journal);
    if (sqlite3_vfs_register(&f->vfs, 0) == SQLITE_OK)
        return f;
    free(f);
    return NULL;
}

void sql_files_close(struct sql_files *f)
{
    if (!f)
        return;
    sqlite3_vfs_unregister(&f->vfs);
    forget(f);
    free(f);
}
