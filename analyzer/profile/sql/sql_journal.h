/* The rollback journal of a database: which files are accepted as one, and SQLite's access to it.
 * Private to this folder. */
#ifndef GPUPROF_PROFILE_SQL_SQL_JOURNAL_H
#define GPUPROF_PROFILE_SQL_SQL_JOURNAL_H

#include "analyzer/profile/sql/sql_files.h"

struct sql_journal {
    sqlite3_file file;
    const struct sql_files *files;
    int fd;
    bool made; /* created by this process: its entry in the folder may not be on disk yet */
};

/* True if a file of that name may be a journal: it is not empty, and begins like one. */
bool sql_journal_at(int folder, const char *name);
/* True for a regular file with a single name that belongs to this user or the database's owner. */
bool sql_journal_is_ours(const struct sql_files *f, const struct stat *st);
/* Opens the journal, or creates it if `flags` say so. Returns an SQLite error code; SQLITE_CANTOPEN
 * with f->foreign: an unacceptable file has its name. */
int sql_journal_open(struct sql_files *f, struct sql_journal *j, int flags);

#endif
