/* The rollback journal of a database: which one is ours, and SQLite's way to it. Private to this
 * folder. */
#ifndef GPUPROF_PROFILE_SQL_SQL_JOURNAL_H
#define GPUPROF_PROFILE_SQL_SQL_JOURNAL_H

#include "analyzer/profile/sql/sql_files.h"

struct sql_journal {
    sqlite3_file file;
    int fd, folder;
    bool made; /* by us: its entry in the folder is not on the disk yet */
};

/* Something by that name that may be a journal: not an empty file, nor one that begins otherwise.
 */
bool sql_journal_at(int folder, const char *name);
/* A regular file with one name, of this user or of the database's owner. */
bool sql_journal_is_ours(const struct sql_files *f, const struct stat *st);
/* SQLITE_CANTOPEN with f->foreign: something else lies there. */
int sql_journal_open(struct sql_files *f, struct sql_journal *j, int flags);

#endif
