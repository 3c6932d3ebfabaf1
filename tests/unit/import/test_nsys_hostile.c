/* Exports of Nsight Systems that cost more than their size: computed columns, texts that multiply,
 * many streams. */
#include "tests/unit/test.h"
#include "tests/unit/nsys_export.h"

static void refused(const char *reason)
{
    struct err e = ERR_INIT;
    ck_assert_int_eq(import_nsys.read(path, &out, &e), -1);
    ck_assert_msg(strstr(e.text, path) && strstr(e.text, reason) && !strchr(e.text, '\n'), "%s",
                  e.text);
}

#define STRINGS "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
#define KERNEL_COLUMNS                                                                             \
    "start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT, globalPid " \
    "INT, shortName INT"
#define KERNELS "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (" KERNEL_COLUMNS ");"

TEST_FIXTURE(setup, teardown)

TEST(test_computed_columns)
{
    build(STRINGS "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (" KERNEL_COLUMNS
                  ", demangledName AS (zeroblob(900000000)))");
    refused("CUPTI_ACTIVITY_KIND_KERNEL is not a plain table");
    unlink(path);
    build("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value AS (zeroblob(900000000)))");
    refused("StringIds is not a plain table");
}

TEST(test_view_for_a_table)
{
    build(STRINGS KERNELS "CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL "
                          "SELECT i + 1 FROM r) "
                          "SELECT i AS start, i AS end FROM r");
    refused("NVTX_EVENTS is not a plain table");
}

/* Views of other names are the user's own. */
TEST(test_views_beside_the_tables)
{
    build(STRINGS KERNELS
          "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 2000, 0, 1, 7, 1, " PID ", NULL);"
          "CREATE VIEW mine AS SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL");
    read_it();
    ck_assert_int_eq(m->count[ROW_KERNEL], 1);
}

/* A text of the schema that every short row is given anew: 10 KB become 120 MB. */
TEST(test_default_that_multiplies)
{
    enum { LONG = 60000 };
    char *text = malloc(LONG + 1000);
    int n = sprintf(
        text, "CREATE TABLE StringIds(id INTEGER PRIMARY KEY);"
              "WITH RECURSIVE r(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM r WHERE i < 2000) "
              "INSERT INTO StringIds SELECT i FROM r;"
              "ALTER TABLE StringIds ADD COLUMN value TEXT DEFAULT '");
    memset(text + n, 'x', LONG);
    strcpy(text + n + LONG, "'");
    build(text);
    free(text);
    refused("more data than a file of its size can hold");
}
