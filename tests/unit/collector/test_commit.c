/* Rows are committed before a spool may reuse the room, and another collector continues where one
 * was killed: wherever it is killed, no row is lost and none comes twice. */
#include "tests/unit/test.h"
#include "tests/unit/collect_spools.h"

#include "analyzer/collector/collect_state.h"

#include <sys/stat.h>

/* A keeper as the profile is one: what is put counts when it is committed. */
static struct {
    char name[64];
    void *bytes;
    size_t n;
} state[8];
static int states, commits, put_rows[ROW_KINDS];
static bool kill_inside; /* behind the commit, before anything is given back */
static void (*killed)(void);

static int put_state(void *self, const char *name, const void *bytes, size_t n, struct err *e)
{
    int i = 0;
    (void)self, (void)e;
    while (i < states && strcmp(state[i].name, name) != 0)
        i++;
    ck_assert_int_lt(i, 8);
    states += i == states;
    snprintf(state[i].name, sizeof state[i].name, "%s", name);
    free(state[i].bytes);
    state[i].n = n;
    state[i].bytes = n ? malloc(n) : NULL;
    if (n)
        memcpy(state[i].bytes, bytes, n);
    return 0;
}

static int commit(void *self, struct err *e)
{
    (void)self, (void)e;
    commits++;
    memcpy(put_rows, m->count, sizeof put_rows);
    if (kill_inside)
        killed();
    return 0;
}

static const void *get_state(void *self, const char *name, size_t *n)
{
    (void)self;
    for (int i = 0; i < states; i++)
        if (strcmp(state[i].name, name) == 0) {
            *n = state[i].n;
            return state[i].bytes;
        }
    return NULL;
}

static void begin(void)
{
    setup();
    states = commits = 0;
    kill_inside = false;
    collect_keep(c, &(struct collect_keeper){put_state, commit, NULL});
    c->kept_ns = INT64_MAX / 2; /* not by time */
}

static void end(void)
{
    teardown();
    for (int i = 0; i < states; i++) {
        free(state[i].bytes);
        state[i].bytes = NULL;
    }
}

/* A call and its kernel in buffer i. */
static void work(struct spool_writer *w, int i, uint32_t correlation)
{
    uint64_t at = 0;
    int64_t ns = 1000 * (int64_t)correlation;
    spool_api(w, i, &at, 5, 211, stamp(ns), stamp(ns + 100), 77, correlation);
    spool_kernel(w, i, &at, stamp(ns + 200), stamp(ns + 300), correlation, 0x1000);
    spool_state(w, i, SPOOL_READY, at);
}

static struct spool_writer started(void)
{
    struct spool_writer w = live("a");
    spool_ring_open(&w, 0, 77);
    spool_meta(&w, 0, "cbid.runtime.211", "cudaLaunchKernel");
    spool_meta(&w, 0, "rank", "3");
    spool_range(&w, 0, 77, spool_text(&w, "step"), START + 5, START + 50, 0);
    work(&w, 0, 1);
    return w;
}

TEST_FIXTURE(begin, end)

TEST(test_room_comes_back_with_the_commit)
{
    struct err e = ERR_INIT;
    struct spool_writer w = started();
    for (int i = 0; i < 3; i++) { /* once, however often it is looked at */
        drain();
        ck_assert(KERNELS == 1 && m->count[ROW_RANGE] == 1);
    }
    ck_assert_int_eq(commits, 0);
    ck_assert_int_eq(atomic_load(&spool_desc(&w, 0)->state), SPOOL_READY);
    ck_assert_int_eq(atomic_load(&spool_ring_at(&w, 0)->tail), 0);
    ck_assert_int_eq(collect_commit(c, &e), 0);
    ck_assert(commits == 1 && put_rows[ROW_KERNEL] == 1);
    ck_assert_int_eq(atomic_load(&spool_desc(&w, 0)->state), SPOOL_FREE);
    ck_assert_int_eq(*(uint32_t *)(void *)spool_buffer(&w, 0), 0);
    ck_assert_int_eq(atomic_load(&spool_ring_at(&w, 0)->tail),
                     atomic_load(&spool_ring_at(&w, 0)->head));
    c->kept_ns = 0; /* long ago */
    work(&w, 0, 2);
    drain();
    ck_assert(commits == 2 && KERNELS == 2);
    c->kept_ns = 0;
    drain(); /* nothing new */
    ck_assert_int_eq(commits, 2);
    atomic_store(&w.h->sealed, 1);
    spool_end(&w);
}

TEST(test_file_goes_with_the_commit)
{
    struct err e = ERR_INIT;
    size_t n;
    struct spool_writer w = started();
    atomic_store(&w.h->sealed, 1);
    drain();
    ck_assert(KERNELS == 1 && m->count[ROW_PROCESS] == 1);
    ck_assert_int_eq(access(w.path, F_OK), 0);
    drain();
    ck_assert(KERNELS == 1 && m->count[ROW_PROCESS] == 1);
    ck_assert_int_eq(collect_commit(c, &e), 0);
    ck_assert_int_ne(access(w.path, F_OK), 0);
    ck_assert(!get_state(NULL, "a.spool", &n) || n == 0);
    spool_end(&w);
}

/* ---- killed ---- */

static struct memory *after;

/* Another collector reads what is left, to the end. */
static void go_on(void)
{
    struct sink out;
    struct err e = ERR_INIT;
    after = memory_new(&out);
    struct collector *next = collect_open(dir, START + 12345, out, &e);
    ck_assert_ptr_nonnull(next);
    ck_assert_msg(collect_resume(next, &(struct collect_states){get_state, NULL}, &e) == 0, "%s",
                  e.text);
    ck_assert_msg(collect_finish(next, &e) == 0, "%s", e.text);
    collect_close(next);
}

static void check_process(int64_t kernels)
{
    ck_assert_int_eq(after->count[ROW_PROCESS], 1);
    const struct row_process *p = MEMORY_ROW(after, process, ROW_PROCESS, 0);
    ck_assert(p->id == 1 && p->rank == 3);
    ck_assert_int_ge(p->end_ns, 1000 * kernels + 300);
    ck_assert_int_le(p->end_ns, 1000000); /* not when it was read */
    ck_assert_int_eq(after->count[ROW_THREAD], 1);
    ck_assert_int_eq(MEMORY_ROW(after, thread, ROW_THREAD, 0)->id, 1);
    ck_assert_int_eq(MEMORY_ROW(after, thread, ROW_THREAD, 0)->tid, 77);
    ck_assert_int_eq(after->count[ROW_STREAM], 1);
}

TEST(test_killed_behind_the_commit)
{
    struct err e = ERR_INIT;
    struct spool_writer w = started();
    drain();
    atomic_store(&w.h->sealed, 1);
    kill_inside = true;
    killed = go_on;
    ck_assert_int_eq(collect_commit(c, &e), 0);
    ck_assert(put_rows[ROW_KERNEL] == 1 && put_rows[ROW_RANGE] == 1 && put_rows[ROW_API] == 1);
    ck_assert(after->count[ROW_KERNEL] == 0 && after->count[ROW_RANGE] == 0);
    ck_assert_int_eq(after->count[ROW_API], 0);
    check_process(1);
    memory_free(after);
    kill_inside = false;
    spool_end(&w);
}

/* What comes behind the commit is read by who goes on, with the ids and names of before. */
TEST(test_killed_later)
{
    struct err e = ERR_INIT;
    struct spool_writer w = started();
    drain();
    ck_assert_int_eq(collect_commit(c, &e), 0);
    work(&w, 0, 2);
    work(&w, 1, 3);
    spool_range(&w, 0, 77, spool_text(&w, "step"), START + 60, START + 70, 0);
    drain(); /* not committed */
    ck_assert_int_eq(KERNELS, 3);
    atomic_store(&w.h->sealed, 1);
    go_on();
    ck_assert_int_eq(after->count[ROW_KERNEL], 2);
    const struct row_kernel *k = MEMORY_ROW(after, kernel, ROW_KERNEL, 0);
    ck_assert(k->id == 2 && k->process == 1 && k->stream == KERNEL(0)->stream);
    ck_assert(k->correlation == 2 && k->start_ns == 2200);
    ck_assert_str_eq(memory_text(after, k->name), "_Z4gemmv");
    ck_assert_int_eq(after->count[ROW_API], 2);
    const struct row_api *a = MEMORY_ROW(after, api, ROW_API, 0);
    ck_assert_str_eq(memory_text(after, a->name), "cudaLaunchKernel");
    ck_assert(a->thread == 1 && a->id == 2);
    ck_assert_int_eq(after->count[ROW_RANGE], 1);
    check_process(3);
    memory_free(after);
    ck_assert_int_eq(access(w.path, F_OK), 0); /* it may be done again */
    spool_end(&w);
}

/* A process that was over at the commit: its file is still there, its rows are not wanted again. */
TEST(test_killed_before_the_file_went)
{
    struct err e = ERR_INIT;
    struct spool_writer w = started();
    atomic_store(&w.h->sealed, 1);
    drain();
    kill_inside = true;
    killed = go_on;
    ck_assert_int_eq(collect_commit(c, &e), 0);
    ck_assert(put_rows[ROW_PROCESS] == 1 && put_rows[ROW_KERNEL] == 1);
    ck_assert(after->count[ROW_PROCESS] == 0 && after->count[ROW_KERNEL] == 0);
    ck_assert_ptr_nonnull(strstr(memory_meta(after, "have"), "kernels"));
    memory_free(after);
    kill_inside = false;
    spool_end(&w);
}

static void is_refused(void)
{
    struct err e = ERR_INIT;
    struct sink out;
    struct memory *rows = memory_new(&out);
    struct collector *next = collect_open(dir, START, out, &e);
    ck_assert_int_eq(collect_resume(next, &(struct collect_states){get_state, NULL}, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "another version"));
    collect_close(next);
    memory_free(rows);
}

/* Cut short or of another version, states are refused, not believed. */
TEST(test_damaged_states)
{
    struct err e = ERR_INIT;
    struct spool_writer w = started();
    drain();
    ck_assert_int_eq(collect_commit(c, &e), 0);
    atomic_store(&w.h->sealed, 1);
    for (size_t n = 1; n < state[1].n; n += 7) {
        size_t whole = state[1].n;
        state[1].n = n;
        go_on();
        ck_assert_int_eq(after->count[ROW_PROCESS], 0);
        ck_assert_int_eq(memory_health(after, "bad-spool"), 1);
        state[1].n = whole;
        memory_free(after);
    }
    state[0].n--;
    is_refused();
    state[0].n++;
    char *version = memmem(state[0].bytes, state[0].n, GPUPROF_VERSION, sizeof GPUPROF_VERSION);
    ck_assert_ptr_nonnull(version);
    version[0]++;
    is_refused();
    spool_end(&w);
}

/* ---- a full disk ---- */

enum { BUFFER_BYTES = 1 << 16 };

static int count_of(struct spool_writer *w, uint32_t which)
{
    int n = 0;
    for (int i = 0; i < SPOOL_TEST_BUFFERS; i++)
        n += atomic_load(&spool_desc(w, i)->state) == which;
    return n;
}

static int64_t room_of(const struct spool_writer *w)
{
    struct stat st;
    ck_assert_int_eq(stat(w->path, &st), 0);
    return st.st_blocks * INT64_C(512);
}

/* A live process with four buffers that have room, one of them to be read. */
static struct spool_writer with_buffers(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/a.spool", dir);
    struct spool_writer w = spool_begin_sized(path, getpid(), spool_ticks(getpid()), BUFFER_BYTES);
    spool_anchor(&w, START, epoch + START);
    spool_add_name(&w, 0x1000, "_Z4gemmv");
    for (int i = 0; i < SPOOL_TEST_BUFFERS; i++) {
        memset(spool_buffer(&w, i), 1, BUFFER_BYTES);
        memset(spool_buffer(&w, i), 0, BUFFER_BYTES);
    }
    atomic_store(&w.h->counter[SPOOL_BUFFERS_MADE], SPOOL_TEST_BUFFERS);
    spool_ready(&w);
    drain();
    c->next_room_ns = INT64_MAX; /* this disk has room: do not look */
    return w;
}

/* Buffers that nobody uses go, half of them at first; what is to be read stays, and the agent makes
 * no more. */
TEST(test_full_disk_takes_spare_buffers)
{
    struct spool_writer w = with_buffers();
    ck_assert_int_eq(count_of(&w, SPOOL_FREE), SPOOL_TEST_BUFFERS);
    work(&w, 1, 1);
    int64_t before = room_of(&w);
    ck_assert(collect_make_room(c)); /* 3 are free: 2 of them are set aside, of one the room goes */
    ck_assert(count_of(&w, SPOOL_GONE) == 2 && count_of(&w, SPOOL_FREE) == 1);
    ck_assert_int_eq(before - room_of(&w), BUFFER_BYTES);
    ck_assert_int_eq(atomic_load(&w.h->full), 1);
    ck_assert(collect_make_room(c) && collect_make_room(c));
    ck_assert_int_eq(before - room_of(&w), 3 * BUFFER_BYTES);
    ck_assert(!collect_make_room(c)); /* no more */
    ck_assert_int_eq(count_of(&w, SPOOL_READY), 1);
    drain();
    ck_assert_int_eq(KERNELS, 1);
    atomic_store(&w.h->sealed, 1);
    spool_end(&w);
}

/* One buffer is read and committed after the other; two that come back are the next commits'. */
TEST(test_full_disk_commits_each_buffer)
{
    struct spool_writer w = with_buffers();
    for (int i = 0; i < SPOOL_TEST_BUFFERS; i++)
        work(&w, i, (uint32_t)i + 1);
    ck_assert(!collect_make_room(c)); /* all of them are to be read */
    drain();
    ck_assert_int_eq(KERNELS, SPOOL_TEST_BUFFERS);
    ck_assert_int_eq(commits, SPOOL_TEST_BUFFERS);
    ck_assert(count_of(&w, SPOOL_GONE) == 2 && count_of(&w, SPOOL_FREE) == 2);
    ck_assert(collect_make_room(c) && collect_make_room(c));
    ck_assert_int_eq(count_of(&w, SPOOL_FREE), 2);
    atomic_store(&w.h->sealed, 1);
    spool_end(&w);
}
