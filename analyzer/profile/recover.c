/* Recovers a profile whose writer was killed while it added results. Until the results are
 * complete SQLite keeps the overwritten pages in PROFILE-journal; the next process that opens the
 * database for writing restores them. gpuprof does this before it reads, because a connection
 * that only reads cannot. */
#include "analyzer/profile/sql/sql.h"
#include "analyzer/profile/store_private.h"

/* Opens the database for writing and reads its first page, so that SQLite restores the
 * journal's pages. If another gpuprof is adding results at this moment, SQLite leaves the
 * journal alone. -1 with *e set. */
int store_recover(const char *path, struct err *e)
{
    struct err why = ERR_INIT;
    if (!sql_has_journal(path))
        return 0;
    struct sql *db = sql_open(path, SQL_WRITE, &why);
    int rc = db ? sql_exec(db, "SELECT count(*) FROM sqlite_master", &why) : -1;
    bool foreign = db && sql_is_refused(db);
    sql_close(db);
    if (rc == 0)
        return 0;
    if (foreign)
        return err_set(e, "%s", why.text);
    return err_set(e,
                   "%s: gpuprof was killed while it added results; reading it puts them back from "
                   "%s-journal, which needs permission to write: copy both files to a folder of "
                   "yours",
                   path, path);
}
