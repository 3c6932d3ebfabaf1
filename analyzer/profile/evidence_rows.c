/* Reads the rows behind an evidence; see evidence_rows.h. */
#include "analyzer/profile/evidence_rows.h"

#include "analyzer/profile/sql/sql.h"
#include "base/secrets/secrets.h"

#include <stdlib.h>

extern const char store_schema_sql[];

static int hand_over(struct sql_stmt *q, const struct row_reader *to, struct err *e)
{
    const char *column;
    for (int i = 0; (column = sql_column(q, i)); i++) {
        size_t n;
        char *hidden = NULL;
        bool is_null = sql_is_null(q, i), is_number = sql_is_number(q, i); /* before it is text */
        const char *text = sql_text(q, i, &n);
        if (secrets_hide(text, n, SECRETS_COMMAND, &hidden, &n) < 0)
            return err_set(e, "out of memory");
        const char *shown = hidden ? hidden : text;
        to->value(to->self, column, is_null ? NULL : shown, is_number);
        free(hidden);
    }
    to->row_end(to->self);
    return 0;
}

int evidence_rows(const char *profile, const char *query, int most, const struct row_reader *to,
                  struct err *e)
{
    int got = 1;
    struct sql *db = sql_open(profile, SQL_READ, e);
    struct sql_stmt *q =
        db && sql_own_views(db, store_schema_sql, e) == 0 ? sql_prepare(db, query, e) : NULL;
    for (int i = 0; q && i < most && got >= 0 && (got = sql_step(q, e)) == 1; i++)
        got = hand_over(q, to, e);
    sql_finalize(q);
    sql_close(db);
    return q && got >= 0 ? 0 : -1;
}
