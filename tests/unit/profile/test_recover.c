/* A profile whose writer was killed while it added to it. */
#include <check.h>
#include <sys/wait.h>

#include "tests/unit/store_file.h"

static char journal[160];

/* A child that dies in the middle of a change which is on the disk in part. */
static void leave_half_a_change(void)
{
    static const char change[] =
        "PRAGMA cache_size = 4; BEGIN; UPDATE string SET text = 'half' WHERE id > 0;"
        "DELETE FROM health; UPDATE meta SET process = 7";
    struct err e = ERR_INIT;
    struct store *s = create();
    struct sink out = store_sink(s);
    char name[64];
    for (int i = 0; i < 5000; i++) {
        int n = snprintf(name, sizeof name, "a name of some length %d", i);
        struct row_meta row = {i + 1, 0, out.intern(out.self, name, (size_t)n), 0};
        ck_assert_int_eq(out.put(out.self, ROW_META, &row, &e), 0);
    }
    finish(s);
    pid_t child = fork();
    if (child == 0) {
        struct sql *db = sql_open(path, SQL_CREATE, &e);
        _exit(!db || sql_exec(db, change, &e) < 0);
    }
    int status = 1;
    ck_assert(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    snprintf(journal, sizeof journal, "%s-journal", path);
    ck_assert_int_eq(access(journal, F_OK), 0);
}

START_TEST(test_reading_completes_it)
{
    struct err e = ERR_INIT;
    leave_half_a_change();
    struct store *s = store_open(path, 0, &e);
    ck_assert_msg(s != NULL, "%s", e.text);
    store_close(s);
    ck_assert_int_ne(access(journal, F_OK), 0);
    ck_assert_int_eq(ask("SELECT count(*) FROM string WHERE text LIKE 'a name of%'"), 5000);
    ck_assert_int_eq(ask("SELECT count(*) FROM meta WHERE process = 7"), 0);
}
END_TEST

/* A journal can name a file that SQLite then removes: such a one is not ours. */
START_TEST(test_foreign_journal)
{
    static const unsigned char magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    struct err e = ERR_INIT;
    leave_half_a_change();
    FILE *f = fopen(journal, "ab");
    fwrite(magic, 1, sizeof magic, f);
    fclose(f);
    ck_assert_ptr_null(store_open(path, 0, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "move that away"));
    unlink(journal);
    ck_assert_int_eq(mkdir(journal, 0700), 0);
    ck_assert_ptr_null(store_open(path, 0, &e));
    rmdir(journal);
}
END_TEST

/* What another program calls a journal does not keep a whole profile from being read. */
START_TEST(test_no_journal)
{
    struct err e = ERR_INIT;
    make_empty();
    snprintf(journal, sizeof journal, "%s-journal", path);
    FILE *f = fopen(journal, "w");
    fclose(f);
    struct store *s = store_open(path, 0, &e);
    ck_assert_msg(s != NULL, "%s", e.text);
    store_close(s);
    unlink(journal);
}
END_TEST

/* Where nobody may write, the line says what to do. */
START_TEST(test_no_permission)
{
    struct err e = ERR_INIT;
    leave_half_a_change();
    pid_t child = fork();
    if (child == 0) {
        chmod(path, 0444);
        chmod(dir, 0755);
        chmod(journal, 0444);
        if (geteuid() == 0 && seteuid(65534) < 0)
            _exit(3);
        bool refused = !store_open(path, 0, &e) && strstr(e.text, "copy both files");
        _exit(refused ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    ck_assert_int_eq(status, 0);
    unlink(journal);
}
END_TEST

Suite *test_recover_suite(void)
{
    Suite *s = suite_create("recover");
    TCase *c = tcase_create("recover");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_reading_completes_it);
    tcase_add_test(c, test_foreign_journal);
    tcase_add_test(c, test_no_journal);
    tcase_add_test(c, test_no_permission);
    suite_add_tcase(s, c);
    return s;
}
