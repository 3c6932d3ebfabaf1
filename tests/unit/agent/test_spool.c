/* The spool: records, strings, processes that die or fork. */
#include "tests/unit/test.h"
#include "tests/unit/agent/spool_agent.h"

#include <errno.h>
#include <sys/resource.h>

TEST_FIXTURE(load, done)

TEST(nothing_before_the_first_event)
{
    ck_assert_int_eq(view_files(dir, SPOOL_SUFFIX, path, sizeof path), 0);
    ranges("a", 1);
    ck_assert_int_eq(view_files(dir, SPOOL_SUFFIX, path, sizeof path), 1);
}

TEST(nested_ranges_are_recorded_as_they_end)
{
    struct nest x = {0};
    range_begin("outer");
    range_begin("inner");
    range_end();
    range_end();
    range_end(); /* one too many is ignored */
    view_files(dir, SPOOL_SUFFIX, path, sizeof path);
    struct spool_view v = view_open(path);
    ck_assert_uint_eq(view_each(&v, SPOOL_REC_RANGE, see_nest, &x), 2);
    ck_assert_str_eq(x.name[0], "inner");
    ck_assert_str_eq(x.name[1], "outer");
    ck_assert_uint_eq(x.depth[0], 1);
    ck_assert_uint_eq(x.depth[1], 0);
    ck_assert_int_le(x.start[1], x.start[0]);
    ck_assert_int_le(x.end[0], x.end[1]);
    view_close(&v);
}

static void see_meta(const struct spool_view *v, const struct spool_rec *rec, void *arg)
{
    const struct spool_rec_meta *m = (const void *)rec;
    const char *key = view_string(v, m->key), *value = view_string(v, m->value);
    int *found = arg;
    if (strcmp(key, "env.OMP_NUM_THREADS") == 0 && strcmp(value, "3") == 0)
        *found |= 1;
    if (strcmp(key, "rank") == 0 && strcmp(value, "5") == 0)
        *found |= 2;
    if (strcmp(key, "command") == 0 && strstr(value, program_invocation_short_name))
        *found |= 4;
    if (strstr(key, "SECRET") || strstr(value, "hunter2"))
        *found |= 8;
}

TEST(facts_are_a_short_list)
{
    int found = 0;
    setenv("OMP_NUM_THREADS", "3", 1);
    setenv("RANK", "5", 1);
    setenv("SECRET_TOKEN", "hunter2", 1);
    ranges("a", 1);
    view_files(dir, SPOOL_SUFFIX, path, sizeof path);
    struct spool_view v = view_open(path);
    view_each(&v, SPOOL_REC_META, see_meta, &found);
    ck_assert_int_eq(found, 7);
    view_close(&v);
}

enum { THREADS = 64, EACH = 500 };

static void *worker(void *arg)
{
    char name[32];
    for (int i = 0; i < EACH; i++) {
        snprintf(name, sizeof name, "w%d", (int)((intptr_t)arg + i) % 40);
        ranges(name, 1);
    }
    return NULL;
}

static void see_name(const struct spool_view *v, const struct spool_rec *rec, void *arg)
{
    const struct spool_rec_range *r = (const void *)rec;
    int n = -1;
    ck_assert_int_eq(sscanf(view_string(v, r->name), "w%d", &n), 1);
    ck_assert_int_ge(n, 0);
    ck_assert_int_lt(n, 40);
    /* one text, one id, whichever thread was first */
    uint32_t *ids = arg;
    if (ids[n] == 0)
        ids[n] = r->name;
    ck_assert_uint_eq(ids[n], r->name);
}

TEST(many_threads_lose_nothing)
{
    pthread_t t[THREADS];
    uint32_t ids[40] = {0};
    for (intptr_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&t[i], NULL, worker, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    view_files(dir, SPOOL_SUFFIX, path, sizeof path);
    struct spool_view v = view_open(path);
    ck_assert_uint_eq(view_each(&v, SPOOL_REC_RANGE, see_name, ids), THREADS * EACH);
    for (int c = 0; c < SPOOL_COUNTERS; c++)
        ck_assert_uint_eq(atomic_load(&v.h->counter[c]), 0);
    view_close(&v);
}

TEST(rings_of_ended_threads_are_closed_and_reused)
{
    pthread_t t;
    ranges("main", 1);
    view_files(dir, SPOOL_SUFFIX, path, sizeof path);
    struct spool_view v = view_open(path);
    for (uint32_t i = 0; i < 3 * v.h->ring_count; i++) {
        ck_assert_int_eq(pthread_create(&t, NULL, worker, (void *)0), 0);
        pthread_join(t, NULL);
        ck_assert_uint_eq(atomic_load(&view_ring(&v, 1)->state), SPOOL_RING_CLOSED);
        view_drain(&v);
        atomic_store(&view_ring(&v, 1)->state, SPOOL_RING_FREE);
    }
    ck_assert_uint_eq(atomic_load(&v.h->counter[SPOOL_NO_RING]), 0);
    view_close(&v);
}

/* Many threads one after the other, and nobody reads what they write: they go on behind each other.
 */
TEST(threads_that_come_and_go_take_as_much_as_one)
{
    pthread_t t;
    struct stat before, after;
    ranges("main", 1);
    view_files(dir, SPOOL_SUFFIX, path, sizeof path);
    struct spool_view v = view_open(path);
    ck_assert_int_eq(pthread_create(&t, NULL, one_range, NULL), 0);
    pthread_join(t, NULL);
    ck_assert_int_eq(stat(path, &before), 0);
    for (uint32_t i = 1; i < 3 * v.h->ring_count; i++) {
        ck_assert_int_eq(pthread_create(&t, NULL, one_range, NULL), 0);
        pthread_join(t, NULL);
    }
    ck_assert_int_eq(stat(path, &after), 0);
    ck_assert_int_eq(after.st_blocks, before.st_blocks);
    ck_assert_uint_eq(view_each(&v, SPOOL_REC_RANGE, NULL, NULL), 1 + 3 * v.h->ring_count);
    ck_assert_uint_eq(atomic_load(&v.h->counter[SPOOL_NO_RING]), 0);
    view_close(&v);
}

/* The collector grants no more of the disk: a further thread is counted, those there go on. */
TEST(a_full_spool_grows_no_further)
{
    pthread_t t;
    ranges("main", 1);
    view_files(dir, SPOOL_SUFFIX, path, sizeof path);
    struct spool_view v = view_open(path);
    atomic_store(&v.h->full, 1);
    ck_assert_int_eq(pthread_create(&t, NULL, worker, (void *)0), 0);
    pthread_join(t, NULL);
    ck_assert_uint_gt(atomic_load(&v.h->counter[SPOOL_NO_RING]), 0);
    uint64_t lost = atomic_load(&v.h->counter[SPOOL_NO_RING]);
    ranges("main", 1);
    ck_assert_uint_eq(atomic_load(&v.h->counter[SPOOL_NO_RING]), lost);
    atomic_store(&v.h->full, 0);
    ck_assert_int_eq(pthread_create(&t, NULL, worker, (void *)0), 0);
    pthread_join(t, NULL);
    ck_assert_uint_eq(atomic_load(&v.h->counter[SPOOL_NO_RING]), lost);
    view_close(&v);
}

TEST(stop_makes_it_passive)
{
    ranges("a", 10);
    view_files(dir, SPOOL_SUFFIX, path, sizeof path);
    struct spool_view v = view_open(path);
    atomic_store(&v.h->control, SPOOL_STOP);
    ranges("b", 10);
    ck_assert_uint_eq(view_each(&v, SPOOL_REC_RANGE, NULL, NULL), 10);
    ck_assert_uint_eq(atomic_load(&v.h->passive), 1);
    view_close(&v);
}

TEST(a_forked_child_has_its_own_spool)
{
    char other[4096];
    ranges("parent", 3);
    view_files(dir, SPOOL_SUFFIX, path, sizeof path);
    pid_t pid = fork();
    if (pid == 0) {
        ranges("child", 2);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    ck_assert_int_eq(status, 0);
    ranges("parent", 1);
    ck_assert_int_eq(view_files(dir, SPOOL_SUFFIX, other, sizeof other), 2);
    struct spool_view v = view_open(path);
    ck_assert_int_eq(v.h->pid, getpid());
    ck_assert_uint_eq(view_each(&v, SPOOL_REC_RANGE, NULL, NULL), 4);
    view_close(&v);
}

TEST(killed_in_the_middle_keeps_what_was_complete)
{
    pid_t pid = fork();
    if (pid == 0) {
        ranges("before", 100);
        range_begin("open");
        kill(getpid(), SIGKILL);
    }
    int status;
    waitpid(pid, &status, 0);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    ck_assert_int_eq(view_files(dir, SPOOL_SUFFIX, path, sizeof path), 1);
    struct spool_view v = view_open(path);
    ck_assert_uint_eq(view_each(&v, SPOOL_REC_RANGE, NULL, NULL), 100);
    ck_assert_uint_eq(atomic_load(&v.h->sealed), 0);
    view_close(&v);
}

TEST(without_room_it_is_passive_and_says_so)
{
    struct rlimit small = {1 << 20, 1 << 20};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0); /* a larger file would be SIGXFSZ */
    ranges("a", 10);
    ck_assert_int_eq(view_files(dir, SPOOL_SUFFIX, path, sizeof path), 0);
    ck_assert_int_eq(view_files(dir, SPOOL_FAILED_SUFFIX, path, sizeof path), 1);
}

TEST(a_vanished_directory_does_no_harm)
{
    view_remove(dir);
    ranges("a", 10);
    ck_assert_int_ne(access(dir, F_OK), 0);
}
