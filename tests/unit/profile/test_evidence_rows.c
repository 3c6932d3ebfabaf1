/* The rows behind an evidence, of a profile that somebody else may have made. */
#include "tests/unit/test.h"

#include "analyzer/profile/evidence_rows.h"
#include "tests/unit/store_file.h"

TEST_FIXTURE(setup, teardown)

static char said[1024];

static void value(void *self, const char *column, const char *text, bool is_number)
{
    (void)self;
    size_t n = strlen(said);
    const char *quote = is_number || !text ? "" : "'";
    snprintf(said + n, sizeof said - n, "%s=%s%s%s ", column, quote, text ? text : "null", quote);
}

static void row_end(void *self)
{
    (void)self;
    strcat(said, "| ");
}

/* What the first two rows are, or why they cannot be read. */
static const char *rows(const char *query)
{
    struct err e = ERR_INIT;
    *said = 0;
    int rc = evidence_rows(path, query, 2, &(struct row_reader){value, row_end, NULL}, &e);
    if (rc < 0)
        check_line(&e);
    return rc < 0 ? strcat(said, e.text) : said;
}

TEST(test_rows)
{
    make_empty();
    edit("INSERT INTO string VALUES (71, 'gemm'), (72, '--token hunter2')");
    edit("INSERT INTO meta(key, value) VALUES (71, 72), (72, 71), (71, 71)");
    ck_assert_str_eq(rows("SELECT id, text FROM string WHERE id > 70 ORDER BY id"),
                     "id=71 text='gemm' | id=72 text='--token ***' | ");
    ck_assert_str_eq(rows("SELECT NULL AS t, 1.5 AS x, x'00' AS b"), "t=null x=1.5 b='' | ");
    ck_assert_str_eq(rows("SELECT count(*) AS n FROM fact WHERE key = 'gemm'"), "n=2 | ");
    ck_assert_str_eq(rows("SELECT id FROM string WHERE id > 99"), "");
}

/* The file's own views are never asked, and nothing but reading is done. */
TEST(test_hostile)
{
    make_empty();
    edit("INSERT INTO string VALUES (71, 'gemm'); INSERT INTO meta(key, value) VALUES (71, 71);"
         "DROP VIEW fact; CREATE VIEW fact AS SELECT 'planted' AS key, 'planted' AS value;"
         "CREATE VIEW other AS SELECT 'planted'");
    ck_assert_str_eq(rows("SELECT key FROM fact"), "key='gemm' | ");
    static const char *const refused_here[] = {
        "SELECT * FROM other",       "DELETE FROM string",
        "PRAGMA journal_mode = WAL", "nonsense",
        "ATTACH '/tmp/x' AS x",      "SELECT load_extension('x')"};
    for (size_t i = 0; i < sizeof refused_here / sizeof *refused_here; i++)
        ck_assert_ptr_nonnull(strstr(rows(refused_here[i]), path));
    ck_assert_int_eq((int)ask("SELECT count(*) FROM string WHERE id = 71"), 1);
}
