/* Limits SQLite to two files: one database, and the rollback journal beside it. SQLite itself
 * trusts files beside a database: it restores pages from a journal, deletes the file that a journal
 * names as its super-journal, and reads a write-ahead log. In a folder that others can write to,
 * they can put such files there at any moment. So each connection gets its own VFS (SQLite's term
 * for its access to files). Private to this folder.
 *
 * - The database is a regular file, and the last part of its name is no link.
 * - A journal is used only if it belongs to the database's owner or this user, has a single name,
 *   and names no other file. These checks use the open descriptor, not the name.
 * - Only that journal is ever deleted, and never by a connection that reads.
 * - There is no write-ahead log, and no memory shared with other processes.
 * SQLite's nameless temporary files, which it creates with O_EXCL, are allowed. */
#ifndef GPUPROF_PROFILE_SQL_SQL_FILES_H
#define GPUPROF_PROFILE_SQL_SQL_FILES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <sys/stat.h>

struct sql_files {
    sqlite3_vfs vfs, *base; /* this VFS, and SQLite's own for Unix */
    char name[32];          /* the name under which this VFS is registered */
    bool writes;
    int folder;           /* descriptor (O_PATH) of the database's folder, -1 = not open */
    char *journal;        /* its path as SQLite gives it; NULL: no database is open */
    const char *file;     /* the last part of `journal` */
    struct stat database; /* its stat when it was opened */
    bool still;   /* no process can write to the database while it is read, see look_at_wal */
    bool foreign; /* a journal was refused */
    bool wal;     /* the database was refused, because it has a write-ahead log */
    sqlite3_io_methods io; /* methods of the database file: SQLite's own, except for three */
    int (*characteristics)(sqlite3_file *); /* SQLite's own method */
    int (*write)(sqlite3_file *, const void *bytes, int n, sqlite3_int64 at); /* SQLite's own */
    bool (*make_room)(void *self); /* called when the disk is full, see sql_on_full; may be NULL */
    void *self;
};

/* Call it after a write that found no space. True: try again. */
static inline bool sql_files_make_room(const struct sql_files *f)
{
    return f->make_room && f->make_room(f->self);
}

/* A VFS for one connection; NULL: out of memory. The struct must outlive the connection. */
struct sql_files *sql_files_open(bool writes);
void sql_files_close(struct sql_files *f);

#endif
