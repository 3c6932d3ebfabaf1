/* The rollback journal of a database: checks it, and gives SQLite access to
 * it. See sql_journal.h. */
#include "analyzer/profile/sql/sql_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* From SQLite's file format, section "The Rollback Journal": a journal begins with these bytes. It
 * also ends with them if it names a super-journal. */
static const unsigned char magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};

static bool has_magic(int fd, off_t at)
{
    unsigned char bytes[sizeof magic];
    return at >= 0 && pread(fd, bytes, sizeof bytes, at) == (ssize_t)sizeof bytes &&
           memcmp(bytes, magic, sizeof magic) == 0;
}

static int open_at(int folder, const char *name, int how)
{
    return openat(folder, name, how | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

bool sql_journal_at(int folder, const char *name)
{
    struct stat st;
    int fd = open_at(folder, name, O_RDONLY);
    if (fd < 0)
        return errno != ENOENT;
    bool may = fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || has_magic(fd, 0);
    close(fd);
    return may;
}

/* Accepts the owner of the database as well as this user: root reads profiles of others, and on
 * some file systems files do not belong to the user who created them. No third user can create a
 * file owned by either. A file with a second name (hard link) could be any file of theirs. */
bool sql_journal_is_ours(const struct sql_files *f, const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_nlink <= 1 &&
           (st->st_uid == f->database.st_uid || st->st_uid == geteuid());
}

/* True if the open journal is acceptable. gpuprof never has two databases in one transaction, so
 * its journals name no super-journal. */
static bool may_take(const struct sql_files *f, int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && sql_journal_is_ours(f, &st) &&
           !(has_magic(fd, 0) && has_magic(fd, st.st_size - (off_t)sizeof magic));
}

/* ---- SQLite's methods of a file ---- */

static struct sql_journal *journal_of(sqlite3_file *file)
{
    return (struct sql_journal *)file;
}

static int on_close(sqlite3_file *file)
{
    close(journal_of(file)->fd);
    return SQLITE_OK;
}

static int on_read(sqlite3_file *file, void *out, int n, sqlite3_int64 at)
{
    ssize_t got = pread(journal_of(file)->fd, out, (size_t)n, at);
    if (got < 0)
        return SQLITE_IOERR_READ;
    memset((char *)out + got, 0, (size_t)(n - got));
    return got < n ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int on_write(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 at)
{
    const struct sql_journal *j = journal_of(file);
    for (const char *p = bytes; n > 0;) {
        ssize_t put = pwrite(j->fd, p, (size_t)n, at);
        bool full = put == 0 || (put < 0 && (errno == ENOSPC || errno == EDQUOT));
        if ((put < 0 && errno == EINTR) || (full && sql_files_make_room(j->files)))
            continue;
        if (put <= 0)
            return full ? SQLITE_FULL : SQLITE_IOERR_WRITE;
        p += put;
        at += put;
        n -= (int)put;
    }
    return SQLITE_OK;
}

static int on_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return ftruncate(journal_of(file)->fd, size) == 0 ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

static int on_sync(sqlite3_file *file, int how)
{
    struct sql_journal *j = journal_of(file);
    (void)how;
    if (fdatasync(j->fd) != 0)
        return SQLITE_IOERR_FSYNC;
    int folder = j->made ? openat(j->files->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (folder >= 0) {
        fsync(folder); /* some file systems cannot sync a folder; the error is ignored */
        close(folder);
    }
    j->made = false;
    return SQLITE_OK;
}

static int on_size(sqlite3_file *file, sqlite3_int64 *size)
{
    struct stat st;
    if (fstat(journal_of(file)->fd, &st) != 0)
        return SQLITE_IOERR_FSTAT;
    *size = st.st_size;
    return SQLITE_OK;
}

static int on_lock(sqlite3_file *file, int level)
{
    (void)file, (void)level;
    return SQLITE_OK;
}

static int on_check_lock(sqlite3_file *file, int *taken)
{
    (void)file;
    *taken = 0;
    return SQLITE_OK;
}

static int on_control(sqlite3_file *file, int what, void *value)
{
    (void)file, (void)what, (void)value;
    return SQLITE_NOTFOUND;
}

static int on_sector(sqlite3_file *file)
{
    (void)file;
    return 0; /* SQLite's default */
}

static int on_characteristics(sqlite3_file *file)
{
    (void)file;
    return 0;
}

static const sqlite3_io_methods methods = {.iVersion = 1,
                                           .xClose = on_close,
                                           .xRead = on_read,
                                           .xWrite = on_write,
                                           .xTruncate = on_truncate,
                                           .xSync = on_sync,
                                           .xFileSize = on_size,
                                           .xLock = on_lock,
                                           .xUnlock = on_lock,
                                           .xCheckReservedLock = on_check_lock,
                                           .xFileControl = on_control,
                                           .xSectorSize = on_sector,
                                           .xDeviceCharacteristics = on_characteristics};

/* Creates the journal with the database's mode and owner, as SQLite does: whoever may write to the
 * database can then restore it. */
static int make(const struct sql_files *f)
{
    int fd = openat(f->folder, f->file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    f->database.st_mode & 0666);
    if (fd >= 0 && geteuid() == 0 && fchown(fd, f->database.st_uid, f->database.st_gid) != 0)
        errno = 0; /* it then keeps the present owner */
    return fd;
}

int sql_journal_open(struct sql_files *f, struct sql_journal *j, int flags)
{
    bool writes = f->writes && flags & SQLITE_OPEN_READWRITE, made = false;
    int fd = open_at(f->folder, f->file, writes ? O_RDWR : O_RDONLY);
    if (fd < 0 && errno == ENOENT && writes && flags & SQLITE_OPEN_CREATE)
        made = (fd = make(f)) >= 0;
    if (fd >= 0 && !made && !may_take(f, fd)) {
        close(fd);
        fd = -1;
        errno = ELOOP;
    }
    if (fd < 0) {
        f->foreign |= errno == ELOOP || errno == EISDIR || errno == ENXIO;
        return SQLITE_CANTOPEN;
    }
    *j = (struct sql_journal){.file = {.pMethods = &methods}, .fd = fd, .files = f, .made = made};
    return SQLITE_OK;
}
