/* Where a new profile is written while it grows: links in its way, other processes that take its
 * name. */
#include "tests/unit/test.h"
#include "analyzer/profile/place.h"
#include "base/mode.h"
#include "tests/unit/store_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

TEST_FIXTURE(setup, teardown)

/* Links lie where a careless program would write. */
TEST(test_links_are_not_followed)
{
    char victim[160], name[160];
    snprintf(victim, sizeof victim, "%s/victim", dir);
    FILE *f = fopen(victim, "w");
    fputs("mine", f);
    fclose(f);
    static const char *const links[] = {".partial", ".aB3dE5.partial", "-journal"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", path, links[i]);
        ck_assert_int_eq(symlink(victim, name), 0);
    }
    make_empty();
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", path, links[i]);
        struct stat st;
        ck_assert(lstat(name, &st) == 0 && S_ISLNK(st.st_mode)); /* not ours */
        unlink(name);
    }
    struct stat st;
    ck_assert(stat(victim, &st) == 0 && st.st_size == 4);
    ck_assert(stat(path, &st) == 0);
    unlink(victim);
}

/* As the umask says, and for nobody else where the user asked for that. */
TEST(test_mode)
{
    struct stat st;
    mode_t old = umask(027);
    make_empty();
    ck_assert(stat(path, &st) == 0 && (st.st_mode & 0777) == 0640);
    unlink(path);
    mode_set_private(true);
    make_empty();
    ck_assert(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    mode_set_private(false);
    umask(old);
}

/* What another process takes away or puts there is not ours to remove or to replace. */
TEST(test_file_is_taken_away)
{
    struct err e = ERR_INIT;
    char pattern[160];
    glob_t g;
    struct store *s = create();
    snprintf(pattern, sizeof pattern, "%s.*.partial", path);
    ck_assert(glob(pattern, 0, NULL, &g) == 0 && g.gl_pathc == 1);
    unlink(g.gl_pathv[0]);
    FILE *f = fopen(g.gl_pathv[0], "w");
    fputs("another's", f);
    fclose(f);
    ck_assert_int_eq(store_finish(s, &e), -1);
    check_line(&e);
    store_close(s);
    ck_assert(exists(g.gl_pathv[0]) && !exists(path));
    unlink(g.gl_pathv[0]);
    globfree(&g);

    s = create();
    f = fopen(path, "w");
    fputs("came meanwhile", f);
    fclose(f);
    ck_assert_int_eq(store_finish(s, &e), -1);
    check_line(&e);
    store_close(s);
    struct stat st;
    ck_assert(stat(path, &st) == 0 && st.st_size == 14);
    ck_assert(partials() == 1); /* whole, and kept */
    ck_assert(glob(pattern, 0, NULL, &g) == 0 && store_is_profile(g.gl_pathv[0]) == 1);
    unlink(g.gl_pathv[0]);
    globfree(&g);
}

/* One after the other, `times` profiles of this name, or of the next free one. */
static void write_profiles(int times)
{
    for (int i = 0; i < times; i++) {
        struct err e = ERR_INIT;
        struct store *s = store_create(path, PLACE_SPARE, &e);
        if (!s || store_finish(s, &e) < 0) {
            fprintf(stderr, "%s\n", e.text);
            _exit(1);
        }
        if (unlink(store_place(s)) < 0)
            _exit(2);
        store_close(s);
    }
    _exit(0);
}

/* Those who begin remove what the dead left: never what another is about to finish. */
TEST(test_many_begin_and_end_at_once)
{
    enum { WRITERS = 8, TIMES = 60 };
    pid_t child[WRITERS];
    for (int i = 0; i < WRITERS; i++)
        if ((child[i] = fork()) == 0)
            write_profiles(TIMES);
    for (int i = 0; i < WRITERS; i++) {
        int status;
        ck_assert_int_eq(waitpid(child[i], &status, 0), child[i]);
        ck_assert_int_eq(status, 0);
    }
}

/* Who gets no turn goes on without; until its file is locked another takes it for what the dead
 * left. */
TEST(test_begins_without_a_turn)
{
    struct err e = ERR_INIT;
    struct place a, b;
    int folder = open(dir, O_RDONLY | O_DIRECTORY);
    ck_assert(folder >= 0 && flock(folder, LOCK_EX) == 0);
    ck_assert_msg(place_make(&a, path, PLACE_SPARE, NULL, &e) == 0, "%s", e.text);
    close(folder);
    place_taken(&a);
    ck_assert_msg(place_make(&b, path, PLACE_SPARE, NULL, &e) == 0, "%s", e.text);
    place_release(&b);
    ck_assert_msg(place_put(&a, &e) == 0, "%s", e.text);
    place_release(&a);
    ck_assert(exists(path) && partials() == 0);
}

/* Another process writes this name: the next one, and no file of that name is replaced. */
TEST(test_yields_to_a_writer)
{
    struct err e = ERR_INIT;
    struct place p;
    char second[160], third[160];
    int ready[2], go[2];
    char byte = 0;
    snprintf(second, sizeof second, "%s/x.2.gpuprof", dir);
    snprintf(third, sizeof third, "%s/x.3.gpuprof", dir);
    ck_assert(pipe(ready) == 0 && pipe(go) == 0);
    pid_t other = fork();
    if (other == 0) {
        struct store *s = store_create(path, PLACE_REPLACE, &e);
        _exit(s && write(ready[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 1 ? 0 : 1);
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    FILE *f = fopen(second, "w"); /* somebody's */
    ck_assert_ptr_nonnull(f);
    fclose(f);
    ck_assert_int_eq(place_make(&p, path, PLACE_REPLACE, NULL, &e), -1);
    ck_assert_msg(place_make(&p, path, PLACE_REPLACE | PLACE_YIELD, NULL, &e) == 0, "%s", e.text);
    ck_assert_str_eq(p.path, third);
    place_release(&p);
    ck_assert_int_eq(write(go[1], &byte, 1), 1);
    int status;
    ck_assert(waitpid(other, &status, 0) == other && status == 0);
    ck_assert_int_eq(place_make(&p, path, PLACE_YIELD, NULL, &e), 0);
    ck_assert_str_eq(p.path, path);
    place_release(&p);
    unlink(second);
    glob_t g;
    char pattern[160];
    snprintf(pattern, sizeof pattern, "%s*.partial*", path);
    if (glob(pattern, 0, NULL, &g) != 0)
        return;
    for (size_t i = 0; i < g.gl_pathc; i++)
        unlink(g.gl_pathv[i]); /* of the child, which just ended */
    globfree(&g);
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert(fputs(text, f) >= 0 && fclose(f) == 0);
}

/* While it grows elsewhere nobody else gets its name, whether he waits for it or not. */
TEST(test_grows_on_another_disk)
{
    struct err e = ERR_INIT;
    struct moved m, other;
    char from[160];
    snprintf(from, sizeof from, "%s/grown", dir);
    ck_assert_msg(moved_reserve(&m, path, PLACE_NEW, &e) == 0, "%s", e.text);
    ck_assert_int_eq(partials(), 1);
    pid_t child = fork();
    if (child == 0) {
        bool refused = moved_reserve(&other, path, PLACE_NEW, &e) < 0 &&
                       strstr(e.text, "is being written by another gpuprof");
        bool spare = moved_reserve(&other, path, PLACE_SPARE, &e) == 0 &&
                     strstr(other.place.path, "x.2.gpuprof");
        moved_release(&other);
        _exit(refused && spare ? 0 : 1);
    }
    int status;
    ck_assert(waitpid(child, &status, 0) == child && status == 0);
    ck_assert_int_eq(partials(), 1);
    ck_assert(moved_put(&m, from, &e) < 0 && strstr(e.text, from)); /* there is nothing yet */
    write_file(from, "whole");
    ck_assert_msg(moved_put(&m, from, &e) == 0, "%s", e.text);
    moved_release(&m);
    struct stat st;
    ck_assert(stat(path, &st) == 0 && st.st_size == 5);
    ck_assert(access(from, F_OK) != 0 && partials() == 0);
}

/* The name is taken meanwhile, by a program that does not ask: both are kept. */
TEST(test_name_is_taken_meanwhile)
{
    struct err e = ERR_INIT;
    struct moved m;
    char from[160], name[160];
    snprintf(from, sizeof from, "%s/grown", dir);
    ck_assert_int_eq(moved_reserve(&m, path, PLACE_SPARE, &e), 0);
    write_file(from, "ours");
    write_file(path, "another's");
    ck_assert_msg(moved_put(&m, from, &e) == 0, "%s", e.text);
    snprintf(name, sizeof name, "%s/x.2.gpuprof", dir);
    ck_assert_str_eq(m.place.path, name);
    moved_release(&m);
    struct stat st;
    ck_assert(stat(path, &st) == 0 && st.st_size == 9);
    ck_assert(stat(name, &st) == 0 && st.st_size == 4);
    unlink(name);
}
