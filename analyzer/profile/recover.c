/* A profile whose writer was killed while it added results. SQLite keeps what it overwrites in
 * PROFILE-journal until the results are whole; the first that opens both for writing puts it back.
 * We do that before we read, because a reader alone cannot. */
#include "analyzer/profile/sql/sql.h"
#include "analyzer/profile/store_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* SQLite's file format, section "The Rollback Journal". */
static const unsigned char magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};

enum journal { JOURNAL_NONE, JOURNAL_OWN, JOURNAL_FOREIGN };

/* A journal that ends with the magic names another file, which SQLite would remove: ours never
 * do. */
static enum journal look_at(const char *journal)
{
    unsigned char first[sizeof magic], last[sizeof magic];
    struct stat st;
    if (lstat(journal, &st) < 0 || st.st_size == 0)
        return JOURNAL_NONE;
    FILE *f = S_ISREG(st.st_mode) ? fopen(journal, "rbe") : NULL;
    if (!f)
        return JOURNAL_FOREIGN;
    bool begins =
        fread(first, 1, sizeof first, f) == sizeof first && memcmp(first, magic, sizeof magic) == 0;
    bool names = fseek(f, -(long)sizeof last, SEEK_END) == 0 && ftell(f) > 0 &&
                 fread(last, 1, sizeof last, f) == sizeof last &&
                 memcmp(last, magic, sizeof magic) == 0;
    fclose(f);
    return !begins ? JOURNAL_NONE : names ? JOURNAL_FOREIGN : JOURNAL_OWN;
}

/* SQLite puts back what the journal holds when the first page is read for writing. Where another
 * gpuprof is adding results at this moment it leaves the journal alone. */
static int roll_back(const char *path, struct err *e)
{
    struct err ignored = ERR_INIT;
    struct sql *db = sql_open(path, SQL_WRITE, &ignored);
    int rc = db && sql_exec(db, "SELECT count(*) FROM sqlite_master", &ignored) == 0 ? 0 : -1;
    sql_close(db);
    return rc == 0 ? 0
                   : err_set(e,
                             "%s: gpuprof was killed while it added results; reading it puts them "
                             "back from %s-journal, which needs permission to write: copy both "
                             "files to a folder of yours",
                             path, path);
}

int store_recover(const char *path, struct err *e)
{
    char *journal = NULL;
    if (asprintf(&journal, "%s-journal", path) < 0)
        return err_set(e, "out of memory");
    enum journal found = look_at(journal);
    int rc = found == JOURNAL_OWN ? roll_back(path, e) : 0;
    if (found == JOURNAL_FOREIGN)
        rc = err_set(e, "%s: gpuprof did not write the file %s beside it; move that away", path,
                     journal);
    free(journal);
    return rc;
}
