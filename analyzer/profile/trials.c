/* Reads the trials kept in a profile; see trials.h. */
#include "analyzer/profile/trials.h"

#include "analyzer/profile/sql/sql.h"
#include "analyzer/profile/store.h"

#include <stdio.h>

static const char query[] =
    "SELECT r.text, k.text, v.text, t.predicted_low_ns, t.predicted_mid_ns, t.predicted_high_ns, "
    "t.measured_low_ns, t.measured_mid_ns, t.measured_high_ns, t.step_ns, t.runs_without, "
    "t.runs_with, t.tried_realtime_ns, t.own_low_ns, t.own_high_ns FROM trial t JOIN string "
    "r ON r.id = t.rule "
    "JOIN string k ON k.id = t.setting JOIN string v ON v.id = t.verdict ORDER BY t.id DESC LIMIT "
    "16";
_Static_assert(TRIALS_SHOWN == 16, "the query's limit");

static bool has_tables(struct sql *db)
{
    return sql_has_table(db, "trial") && sql_has_table(db, "string") &&
           sql_has_column(db, "trial", "own_high_ns");
}

static void take(struct sql_stmt *q, struct kept_trial *t)
{
    snprintf(t->rule, sizeof t->rule, "%s", sql_text(q, 0, NULL));
    snprintf(t->setting, sizeof t->setting, "%s", sql_text(q, 1, NULL));
    snprintf(t->verdict, sizeof t->verdict, "%s", sql_text(q, 2, NULL));
    int64_t *const at[] = {&t->predicted_low_ns,  &t->predicted_mid_ns, &t->predicted_high_ns,
                           &t->measured_low_ns,   &t->measured_mid_ns,  &t->measured_high_ns,
                           &t->step_ns,           &t->runs_without,     &t->runs_with,
                           &t->tried_realtime_ns, &t->own_low_ns,       &t->own_high_ns};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        *at[i] = sql_int(q, (int)i + 3);
}

size_t trials_read(const char *profile, struct kept_trial *out, size_t max)
{
    struct err e = ERR_INIT;
    size_t n = 0;
    struct sql *db = store_is_profile(profile) == 1 ? sql_open(profile, SQL_READ, &e) : NULL;
    struct sql_stmt *q = db && has_tables(db) ? sql_prepare(db, query, &e) : NULL;
    while (q && n < max && sql_step(q, &e) == 1)
        take(q, &out[n++]);
    if (q)
        sql_finalize(q);
    sql_close(db);
    return n;
}
