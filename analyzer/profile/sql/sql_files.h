/* The only files that SQLite may touch for us: one database, and the rollback journal beside it.
 * SQLite itself trusts what lies beside a database: it puts back the pages that a journal holds,
 * deletes the file that a journal names as its super-journal, and reads a write-ahead log. In a
 * folder that others can write to, others can lay such files there at any moment. So each
 * connection gets a VFS (SQLite's word for its way to files) of its own. Private to this folder.
 *
 * - The database is a regular file, and the last part of its name is no link.
 * - A journal is taken over only if the owner of the database or this user owns it, it has one
 *   name, and it names no other file: asked of the open descriptor, not of the name.
 * - Nothing but that journal is ever deleted, and nothing at all by a connection that reads.
 * - There is no write-ahead log, and no memory shared with other processes.
 * SQLite's nameless temporary files, which it makes anew (O_EXCL), stay as they are. */
#ifndef GPUPROF_PROFILE_SQL_SQL_FILES_H
#define GPUPROF_PROFILE_SQL_SQL_FILES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <sys/stat.h>

struct sql_files {
    sqlite3_vfs vfs, *base; /* ours, and SQLite's own for Unix */
    char name[32];          /* under which it is registered */
    bool writes;
    int folder;            /* descriptor (O_PATH) of the database's folder, -1 = not open */
    char *journal;         /* its name as SQLite gives it, NULL: no database is open */
    const char *file;      /* the part of it after the last slash */
    struct stat database;  /* when it was opened */
    bool still;            /* nobody can write to the database while we read: see wal */
    bool foreign;          /* a journal was refused */
    bool wal;              /* the database was refused: it has a write-ahead log */
    sqlite3_io_methods io; /* of the database: SQLite's own but for two */
    int (*characteristics)(sqlite3_file *); /* SQLite's own */
};

/* A VFS for one connection; NULL: out of memory. The struct outlives the connection. */
struct sql_files *sql_files_open(bool writes);
void sql_files_close(struct sql_files *f);

#endif
