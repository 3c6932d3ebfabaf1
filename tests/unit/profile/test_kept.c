/* A profile whose writer was killed while it recorded: what was committed can be read. */
#include "tests/unit/test.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "analyzer/profile/place.h"
#include "tests/unit/memory_sink.h"
#include "tests/unit/store_file.h"

enum { COMMITTED = 3000, ALL = 500000 }; /* more than SQLite holds in memory */

static char spools[128], partial[160];

static void put_rows(struct store *s, int from, int to)
{
    struct err e = ERR_INIT;
    struct sink out = store_sink(s);
    char name[64];
    for (int i = from; i < to; i++) {
        int n = snprintf(name, sizeof name, "kernel %d", i % 1000 + i / COMMITTED);
        struct row_kernel k = {.id = i + 1, .process = 1, .correlation = i, .start_ns = i};
        k.name = out.intern(out.self, name, (size_t)n);
        ck_assert_int_eq(out.put(out.self, ROW_KERNEL, &k, &e), 0);
    }
}

static struct store *record(void)
{
    struct err e = ERR_INIT;
    struct store *s = store_create_kept(path, 0, "aB3dE5", &e);
    ck_assert_msg(s != NULL, "%s", e.text);
    return s;
}

/* A child that dies while it records, with so many rows that are committed. */
static void leave(int committed)
{
    struct err e = ERR_INIT;
    snprintf(spools, sizeof spools, "%s/.gpuprof-aB3dE5", dir);
    snprintf(partial, sizeof partial, "%s.aB3dE5.partial", path);
    ck_assert_int_eq(mkdir(spools, 0700), 0);
    pid_t child = fork();
    if (child == 0) {
        struct store *s = record();
        if (committed) {
            put_rows(s, 0, committed);
            ck_assert_int_eq(store_put_state(s, "a.spool", "a\0b", 3, &e), 0);
            ck_assert_int_eq(store_put_state(s, "b.spool", "over", 4, &e), 0);
            ck_assert_int_eq(store_put_state(s, "b.spool", NULL, 0, &e), 0);
            ck_assert_int_eq(store_commit_rows(s, &e), 0);
        }
        put_rows(s, committed, ALL);
        store_put_state(s, "a.spool", "later", 5, &e);
        _exit(0);
    }
    int status = 1;
    ck_assert(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    struct stat st;
    ck_assert(stat(partial, &st) == 0 && st.st_size > 8 << 20); /* more than was committed */
}

static void remove_all(void)
{
    char *left = place_left(spools);
    if (left)
        place_remove_left(left);
    free(left);
    rmdir(spools);
}

TEST_FIXTURE(setup, teardown)

TEST(test_committed_is_whole)
{
    struct err e = ERR_INIT;
    struct store *s = NULL;
    struct sink out;
    size_t n = 0;
    leave(COMMITTED);
    char *left = place_left(spools);
    ck_assert_ptr_nonnull(left);
    ck_assert_ptr_null(store_open(left, 0, &e)); /* not as a profile */
    check_line(&e);
    ck_assert_msg(store_open_left(&s, left, &e) == 0 && s, "%s", e.text);
    ck_assert(!store_is_whole(s));
    char *state = store_state(s, "a.spool", &n);
    ck_assert(state && n == 3 && memcmp(state, "a\0b", 3) == 0);
    ck_assert_ptr_null(store_state(s, "b.spool", &n));
    struct memory *m = memory_new(&out);
    ck_assert_int_eq(store_read(s, &out, &e), 0);
    ck_assert_int_eq(m->count[ROW_KERNEL], COMMITTED);
    for (int i = 0; i < COMMITTED; i++) {
        char name[64];
        snprintf(name, sizeof name, "kernel %d", i % 1000);
        const struct row_kernel *k = MEMORY_ROW(m, kernel, ROW_KERNEL, i);
        ck_assert(k->id == i + 1 && strcmp(memory_text(m, k->name), name) == 0);
    }
    memory_free(m);
    store_close(s);
    free(state);
    free(left);
    remove_all();
}

TEST(test_nothing_was_committed)
{
    struct err e = ERR_INIT;
    struct store *s = NULL;
    leave(0);
    char *left = place_left(spools);
    ck_assert_ptr_nonnull(left);
    ck_assert_msg(store_open_left(&s, left, &e) == 0, "%s", e.text);
    ck_assert_ptr_null(s);
    free(left);
    remove_all();
}

/* The first transaction was taken back: an empty file is left, which goes with its spools. */
TEST(test_an_empty_file_goes_too)
{
    leave(0);
    ck_assert_int_eq(truncate(partial, 0), 0);
    remove_all();
    ck_assert_int_eq(access(partial, F_OK), -1);
}

/* Another recording of that name leaves it alone, as long as its spools are there. */
TEST(test_stays_with_its_spools)
{
    leave(COMMITTED);
    let_pass(partial);
    make_empty();
    ck_assert_int_eq(access(partial, F_OK), 0);
    ck_assert_int_eq(rmdir(spools), 0);
    unlink(path);
    make_empty();
    ck_assert_int_ne(access(partial, F_OK), 0);
}

TEST(test_finished)
{
    struct err e = ERR_INIT;
    struct store *s = record();
    put_rows(s, 0, 10);
    ck_assert_int_eq(store_put_state(s, "a.spool", "secret state", 12, &e), 0);
    ck_assert_int_eq(store_commit_rows(s, &e), 0);
    put_rows(s, 10, 20);
    finish(s);
    s = store_open(path, 0, &e);
    ck_assert_msg(s != NULL, "%s", e.text);
    ck_assert(store_is_whole(s));
    store_close(s);
    ck_assert_int_eq(ask("SELECT count(*) FROM kernel"), 20);
    FILE *f = fopen(path, "rb");
    static char all[1 << 21];
    size_t n = fread(all, 1, sizeof all, f);
    fclose(f);
    ck_assert(n > 8192 && n < sizeof all);
    ck_assert_ptr_null(memmem(all, n, "secret state", 12));
}

/* The largest size of a file takes the place of a full disk: what was committed stays, and so do
 * rows without a time. */
TEST(test_full_disk)
{
    struct err e = ERR_INIT;
    struct store *s = record();
    struct sink out = store_sink(s);
    struct rlimit all, little;
    struct stat st;
    put_rows(s, 0, COMMITTED);
    ck_assert_int_eq(store_commit_rows(s, &e), 0);
    snprintf(partial, sizeof partial, "%s.aB3dE5.partial", path);
    ck_assert(stat(partial, &st) == 0 && getrlimit(RLIMIT_FSIZE, &all) == 0);
    struct row_meta meta = {1, 0, out.intern(out.self, "key", 3), out.intern(out.self, "late", 4)};
    ck_assert_int_eq(out.put(out.self, ROW_META, &meta, &e), 0);
    little = (struct rlimit){(rlim_t)st.st_size + (256 << 10), all.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
    int rc = 0;
    for (int i = COMMITTED; i < ALL && rc == 0; i++) {
        struct row_kernel k = {.id = i + 1, .process = 1, .correlation = i, .start_ns = i};
        rc = out.put(out.self, ROW_KERNEL, &k, &e);
    }
    ck_assert_int_eq(rc, -1);
    ck_assert_msg(store_roll_back(s, &e) == 0, "%s", e.text);
    finish(s);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &all), 0);
    ck_assert_int_eq(ask("SELECT count(*) FROM kernel"), COMMITTED);
    ck_assert_int_eq(
        ask("SELECT count(*) FROM meta m JOIN string v ON v.id = m.value WHERE v.text = "
            "'late'"),
        1);
    s = store_open(path, 0, &e);
    ck_assert_msg(s != NULL, "%s", e.text);
    store_close(s);
}

/* The journal's name can be known beforehand: a link there is not followed. */
TEST(test_link_in_the_way)
{
    struct err e = ERR_INIT;
    char victim[160], journal[200];
    snprintf(victim, sizeof victim, "%s/victim", dir);
    snprintf(journal, sizeof journal, "%s.aB3dE5.partial-journal", path);
    FILE *f = fopen(victim, "w");
    fputs("mine", f);
    fclose(f);
    ck_assert_int_eq(symlink(victim, journal), 0);
    struct store *s = store_create_kept(path, 0, "aB3dE5", &e);
    if (s) {
        put_rows(s, 0, 10);
        store_commit_rows(s, &e);
        store_close(s);
    }
    struct stat st;
    ck_assert(stat(victim, &st) == 0 && st.st_size == 4);
    unlink(journal);
    unlink(victim);
}
