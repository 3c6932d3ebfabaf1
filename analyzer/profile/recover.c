/* A profile whose writer was killed while it added results. SQLite keeps what it overwrites in
 * PROFILE-journal until the results are whole; the first that opens both for writing puts it back.
 * We do that before we read, because a reader alone cannot. */
#include "analyzer/profile/sql/sql.h"
#include "analyzer/profile/store_private.h"

/* SQLite puts back what the journal holds when the first page is read for writing. Where another
 * gpuprof is adding results at this moment it leaves the journal alone. */
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
