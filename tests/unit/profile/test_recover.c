/* A profile whose writer was killed while it added to it. */
#include "tests/unit/test.h"
#include <endian.h>
#include <sqlite3.h>
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

TEST_FIXTURE(setup, teardown)

TEST(test_reading_completes_it)
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

/* A journal can name a file that SQLite then removes: such a one is not ours. */
TEST(test_foreign_journal)
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

/* A journal of one page that changes nothing, and names a file as its super-journal. */
static void lay_journal_naming(const char *victim)
{
    static const unsigned char magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    uint32_t n = (uint32_t)strlen(victim), sum = 0, words[3];
    for (uint32_t i = 0; i < n; i++)
        sum += (uint32_t)victim[i];
    words[0] = htobe32(UINT32_MAX); /* the page number that no page has */
    words[1] = htobe32(n);
    words[2] = htobe32(sum);
    FILE *f = fopen(journal, "wb");
    ck_assert_ptr_nonnull(f);
    fputc('x', f);
    for (int i = 1; i < 512; i++)
        fputc(0, f);
    fwrite(&words[0], 4, 1, f);
    fwrite(victim, 1, n, f);
    fwrite(&words[1], 4, 2, f);
    fwrite(magic, 1, sizeof magic, f);
    fclose(f);
}

static void make_victim(char *name, size_t size)
{
    snprintf(name, size, "%s/victim", dir);
    FILE *f = fopen(name, "w");
    ck_assert_ptr_nonnull(f);
    fputs("precious", f);
    fclose(f);
}

/* Others can lay a journal at any moment: after we looked, before the first change. */
TEST(test_no_other_file_is_deleted)
{
    char victim[160];
    struct err e = ERR_INIT;
    make_empty();
    make_victim(victim, sizeof victim);
    snprintf(journal, sizeof journal, "%s-journal", path);
    struct store *s = store_open(path, 1, &e);
    ck_assert_msg(s != NULL, "%s", e.text);
    lay_journal_naming(victim);
    if (store_begin(s, &e) == 0 && store_clear_derived(s, &e) == 0)
        store_commit(s, &e);
    store_close(s);
    ck_assert_int_eq(access(victim, F_OK), 0);
    lay_journal_naming(victim);
    s = store_open(path, 0, &e); /* a reader completes what was cut off */
    store_close(s);
    ck_assert_int_eq(access(victim, F_OK), 0);
    unlink(journal);
    unlink(victim);
}

/* A whole journal that was laid there, of another user or under a second name, is not put back: it
 * would replace the pages of the profile. */
TEST_EACH(test_journal_of_others, 0, 2)
{
    char second[200];
    struct err e = ERR_INIT;
    if (_i == 1 && geteuid() != 0)
        return; /* only root can give a file away */
    leave_half_a_change();
    snprintf(second, sizeof second, "%s/second", dir);
    ck_assert_int_eq(_i == 0 ? link(journal, second) : chown(journal, 65534, 65534), 0);
    struct store *s = store_open(path, 0, &e);
    ck_assert_ptr_null(s);
    ck_assert_msg(strstr(e.text, "did not write the file") != NULL, "%s", e.text);
    ck_assert_int_eq(access(journal, F_OK), 0);
    unlink(second);
    ck_assert_int_eq(chown(journal, geteuid(), getegid()), 0);
    s = store_open(path, 0, &e);
    ck_assert_msg(s != NULL, "%s", e.text); /* nothing was lost meanwhile */
    store_close(s);
    ck_assert_int_eq(ask("SELECT count(*) FROM string WHERE text LIKE 'a name of%'"), 5000);
}

static void copy_file(const char *from, const char *to)
{
    static char all[1 << 20];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    ck_assert(in && out);
    size_t n = fread(all, 1, sizeof all, in);
    ck_assert(n > 0 && n < sizeof all && fwrite(all, 1, n, out) == n);
    fclose(in);
    fclose(out);
}

/* A write-ahead log that others lay there is not read into the profile. */
TEST(test_log_of_others)
{
    static const char change[] =
        "PRAGMA wal_autocheckpoint = 0; PRAGMA journal_mode = WAL; INSERT INTO string "
        "SELECT max(id) + 1, 'forged' FROM string";
    char other[200], log[220], laid[200];
    struct err e = ERR_INIT;
    struct store *s = NULL;
    sqlite3 *db = NULL;
    make_empty();
    snprintf(other, sizeof other, "%s/other", dir);
    snprintf(log, sizeof log, "%s-wal", other);
    snprintf(laid, sizeof laid, "%s-wal", path);
    copy_file(path, other);
    ck_assert_int_eq(sqlite3_open(other, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, change, NULL, NULL, NULL), SQLITE_OK);
    copy_file(log, laid);
    for (int writes = 0; writes < 2; writes++) {
        s = store_open(path, writes, &e);
        ck_assert_msg(s != NULL, "%s", e.text);
        if (writes)
            ck_assert(store_begin(s, &e) == 0 && store_clear_derived(s, &e) == 0 &&
                      store_commit(s, &e) == 0);
        store_close(s);
        ck_assert_int_eq(access(laid, F_OK), 0);
    }
    unlink(laid);
    ck_assert_int_eq(ask("SELECT count(*) FROM string WHERE text = 'forged'"), 0);
    ck_assert_ptr_null(store_open(other, 0, &e)); /* its log holds a part of it */
    ck_assert_msg(strstr(e.text, "journal_mode") != NULL, "%s", e.text);
    sqlite3_close(db);
    s = store_open(other, 0, &e); /* now it is one file */
    ck_assert_msg(s != NULL, "%s", e.text);
    store_close(s);
    unlink(log);
    snprintf(log, sizeof log, "%s-shm", other);
    ck_assert_int_ne(access(log, F_OK), 0); /* readers make nothing */
    unlink(other);
}

/* A file whose name SQLite would take for an address. */
TEST(test_name_like_an_address)
{
    struct err e = ERR_INIT;
    make_empty();
    ck_assert_int_eq(chdir(dir), 0);
    copy_file(path, "file:x?vfs=unix-none");
    struct store *s = store_open("file:x?vfs=unix-none", 0, &e);
    ck_assert_msg(s != NULL, "%s", e.text);
    store_close(s);
    unlink("file:x?vfs=unix-none");
    ck_assert_int_eq(chdir("/"), 0);
}

/* What another program calls a journal does not keep a whole profile from being read. */
TEST(test_no_journal)
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

/* Where nobody may write, the line says what to do. */
TEST(test_no_permission)
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
