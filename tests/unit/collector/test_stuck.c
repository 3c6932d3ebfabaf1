/* Ranks that wait for another rank in a collective. The spools are made by hand, for children of
 * this test that sleep, work or are stopped. The tests use real time and take seconds. */
#include "tests/unit/test.h"
#include "analyzer/collector/stuck.h"
#include "tests/unit/collect_spools.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { RANKS = 3, LATE = 1, COMM = 0xabc };
static pid_t child[RANKS];
static struct spool_writer w[RANKS];
static char line[1024];

static int64_t monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static pid_t start(bool works)
{
    pid_t pid = fork();
    for (volatile unsigned n = 0; pid == 0;)
        if (works)
            n++;
        else
            pause();
    return pid;
}

/* Rank i has begun so many collectives, the newest `ago_s` ago. */
static void place(int i, uint64_t begun, int ago_s)
{
    struct spool_comm *e = &w[i].h->comms[5];
    atomic_store(&e->key, COMM);
    atomic_store(&e->comm, COMM);
    atomic_store(&e->rank, i);
    atomic_store(&e->begun_ns, monotonic() - ago_s * INT64_C(1000000000));
    atomic_store(&e->begun, begun);
    atomic_store(&e->ended, begun);
}

/* Ranks 0 and 2 wait, for 40 s; the late one works or does nothing. */
static void begin_job(bool works)
{
    for (int i = 0; i < RANKS; i++) {
        char name[32];
        child[i] = start(works && i == LATE);
        snprintf(name, sizeof name, "%d-1", i);
        w[i] = writer(name, child[i], spool_ticks(child[i]));
        place(i, i == LATE ? 311 : 312, 40);
        atomic_store(&w[i].h->comms[5].function, spool_text(&w[i], "ncclAllReduce"));
        spool_ready(&w[i]);
    }
    drain();
}

static void end_job(void)
{
    for (int i = 0; i < RANKS; i++) {
        kill(child[i], SIGKILL);
        waitpid(child[i], NULL, 0);
        spool_end(&w[i]);
    }
    drain();
    teardown();
}

/* Looks for so long, as the recorder does. */
static bool told(int seconds)
{
    bool any = false;
    for (int i = 0; i < seconds * 20 && !any; i++) {
        drain();
        collect_sample(c);
        any = collect_stuck(c, line, sizeof line);
        usleep(50000);
    }
    return any;
}

TEST_FIXTURE(setup, NULL)

TEST(test_stopped)
{
    begin_job(false);
    kill(child[LATE], SIGSTOP);
    usleep(100000);
    ck_assert(told(2));
    ck_assert_ptr_nonnull(strstr(line, "rank 1 (process "));
    ck_assert_ptr_nonnull(strstr(line, "has not joined collective 312 of"));
    ck_assert_ptr_nonnull(strstr(line, "2 other ranks have waited for 4"));
    ck_assert_ptr_nonnull(strstr(line, "ncclAllReduce, number 312"));
    ck_assert_ptr_nonnull(strstr(line, "a signal has stopped it"));
    ck_assert_int_ge(memory_health(m, "stuck"), 40);
    ck_assert(!told(2)); /* once */
    end_job();
}

TEST(test_idle)
{
    begin_job(false);
    ck_assert(!told(3)); /* it may be about to go on */
    ck_assert(told(5));
    ck_assert_ptr_nonnull(strstr(line, "its main thread waits"));
    end_job();
}

/* It validates, or writes a checkpoint. */
TEST(test_works)
{
    begin_job(true);
    ck_assert(!told(8));
    end_job();
}

/* Nobody has looked for a while: the machine was suspended. */
TEST(test_suspended)
{
    begin_job(false);
    ck_assert(!told(3));
    usleep(5500000);
    ck_assert(!told(3));
    end_job();
}

/* All have begun it, but the part of one of them does not end. */
TEST(test_level)
{
    begin_job(false);
    kill(child[LATE], SIGSTOP);
    usleep(100000);
    for (int i = 0; i < RANKS; i++) {
        place(i, 312, 33);
        atomic_store(&w[i].h->steps, 8);
    }
    for (uint64_t step = 8; step < 14; step++) { /* half a second each: five without one are odd */
        for (int i = 0; i < RANKS; i++)
            atomic_store(&w[i].h->steps, step * 2);
        ck_assert(!told(1));
    }
    ck_assert(told(10));
    ck_assert_ptr_nonnull(strstr(line, "rank 1 (process "));
    ck_assert_ptr_nonnull(strstr(line, "has begun ncclAllReduce, collective 312 of"));
    ck_assert_ptr_nonnull(strstr(line, "no rank has begun another for 4"));
    end_job();
}

enum no_case { ALL_STOPPED, FIRST_STEPS, SHORT_WAIT, PAIRS, LEVEL, NO_CASES };

/* The late rank is stopped in each of these. */
TEST_EACH(test_no_case, 0, NO_CASES)
{
    begin_job(false);
    for (int i = 0; i < RANKS; i++) {
        if (_i == ALL_STOPPED || i == LATE)
            kill(child[i], SIGSTOP);
        atomic_store(&w[i].h->steps, _i == FIRST_STEPS ? 3 : 0);
        if (_i == SHORT_WAIT)
            place(i, i == LATE ? 311 : 312, 8);
        if (_i == PAIRS)
            atomic_store(&w[i].h->comms[5].in_pairs, 1);
        if (_i == LEVEL)
            place(i, 312, 40);
    }
    usleep(100000);
    ck_assert_msg(!told(3), "case %d: %s", _i, line);
    end_job();
}

/* A busy machine leaves a gpuprof few looks. */
TEST(two_looks_tell_the_usual_step)
{
    struct spool_pace p = {.steps = 40, .lengths = 1, .length_ns = {3000000, 2000000}};
    ck_assert_int_eq(stuck_usual_ns(&p), 0);
    p.lengths = 2;
    ck_assert_int_eq(stuck_usual_ns(&p), 3000000);
    p.steps = 7;
    ck_assert_int_eq(stuck_usual_ns(&p), 0);
    teardown();
}
