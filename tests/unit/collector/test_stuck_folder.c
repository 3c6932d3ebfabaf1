/* Ranks that each run under a gpuprof of their own, in one folder: the gpuprof that records the
 * late rank names it. The spools are made by hand, for children of this test that sleep or are
 * stopped. */
#include "tests/unit/test.h"
#include "analyzer/collector/collect.h"
#include "tests/unit/memory_sink.h"
#include "tests/unit/write_spool.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

enum { RANKS = 3, LATE = 1, COMM = 0xabc };
static struct {
    pid_t child;
    char dir[96], shown[128];
    struct memory *m;
    struct collector *c;
    struct spool_writer w;
} of[RANKS];
static char folder[64], line[1024];

static int64_t monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void begin_rank(int i)
{
    struct sink out;
    struct err e = ERR_INIT;
    char path[160];
    of[i].child = fork();
    while (of[i].child == 0)
        pause();
    snprintf(of[i].dir, sizeof of[i].dir, "%s/.gpuprof-00000%d", folder, i);
    snprintf(of[i].shown, sizeof of[i].shown, "%s/.gpuprof-00000%d/where", folder, i);
    ck_assert_int_eq(mkdir(of[i].dir, 0700), 0);
    of[i].m = memory_new(&out);
    ck_assert_ptr_nonnull(of[i].c = collect_open(of[i].dir, 1, out, &e));
    snprintf(path, sizeof path, "%s/0-1.spool", of[i].dir);
    of[i].w = spool_begin(path, of[i].child, spool_ticks(of[i].child));
    spool_anchor(&of[i].w, 1, 1);
    struct spool_comm *at = &of[i].w.h->comms[5];
    atomic_store(&at->key, COMM);
    atomic_store(&at->comm, COMM);
    atomic_store(&at->rank, i);
    atomic_store(&at->ranks, RANKS);
    atomic_store(&at->begun_ns, monotonic() - INT64_C(40000000000));
    atomic_store(&at->begun, i == LATE ? 311 : 312);
    atomic_store(&at->ended, i == LATE ? 311 : 312);
    atomic_store(&at->function, spool_text(&of[i].w, "ncclAllReduce"));
    spool_ready(&of[i].w);
}

static void begin_job(void)
{
    strcpy(folder, "/tmp/gpuprof-stuck-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    for (int i = 0; i < RANKS; i++)
        begin_rank(i);
    kill(of[LATE].child, SIGSTOP);
    usleep(100000);
}

/* Looks as the recorders do, those of the ranks in `who`. Who told, -1: nobody. */
static int told(int seconds, unsigned who)
{
    for (int n = 0; n < seconds * 20; n++) {
        for (int i = 0; i < RANKS; i++) {
            struct err e = ERR_INIT;
            if (!(who & 1U << i))
                continue;
            ck_assert(collect_drain(of[i].c, &e) >= 0);
            collect_sample(of[i].c);
            if (collect_stuck(of[i].c, line, sizeof line))
                return i;
        }
        usleep(50000);
    }
    return -1;
}

static void end_job(void)
{
    for (int i = 0; i < RANKS; i++) {
        kill(of[i].child, SIGKILL);
        waitpid(of[i].child, NULL, 0);
        spool_end(&of[i].w);
        collect_close(of[i].c);
        memory_free(of[i].m);
        ck_assert_int_eq(rmdir(of[i].dir), 0); /* nothing is left in it */
    }
    ck_assert_int_eq(rmdir(folder), 0);
}

TEST(test_named)
{
    char host[64] = "", on[80];
    begin_job();
    ck_assert_int_eq(told(4, 7), LATE);
    gethostname(host, sizeof host - 1);
    snprintf(on, sizeof on, " on %s)", host);
    ck_assert_ptr_nonnull(strstr(line, "rank 1 (process "));
    ck_assert_ptr_nonnull(strstr(line, on));
    ck_assert_ptr_nonnull(strstr(line, "has not joined collective 312 of"));
    ck_assert_ptr_nonnull(strstr(line, "2 other ranks have waited for 4"));
    ck_assert_ptr_nonnull(strstr(line, "ncclAllReduce, number 312"));
    ck_assert_ptr_nonnull(strstr(line, "a signal has stopped it"));
    ck_assert_int_ge(memory_health(of[LATE].m, "stuck"), 40);
    ck_assert_int_eq(told(3, 7), -1); /* once */
    end_job();
}

static void count_line(void *self, const char *text)
{
    *(int *)self += strstr(text, "rank 1 ") && strstr(text, "a signal has stopped it") ? 1 : 0;
}

/* Who asks a gpuprof gets all that the job shows, also where it does not tell by itself. */
TEST(test_asked)
{
    int lines = 0;
    begin_job();
    ck_assert_int_eq(told(4, 7), LATE);
    collect_status(of[0].c, count_line, &lines);
    ck_assert_int_eq(lines, 1);
    end_job();
}

/* Nothing is shown while the job goes on, and no more when it goes on again. */
TEST(test_shown)
{
    begin_job();
    ck_assert_int_eq(told(4, 7), LATE);
    for (int i = 0; i < RANKS; i++)
        ck_assert_int_eq(access(of[i].shown, F_OK), 0);
    for (int i = 0; i < RANKS; i++)
        atomic_store(&of[i].w.h->comms[5].begun_ns, monotonic());
    ck_assert_int_eq(told(3, 7), -1);
    for (int i = 0; i < RANKS; i++)
        ck_assert_int_ne(access(of[i].shown, F_OK), 0);
    end_job();
}

static void overwrite(const char *path, const char *text, size_t n)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(text, 1, n, f), n);
    fclose(f);
}

enum no_case { NOT_SHOWN, OLD, CUT, BINARY, FORMAT, NO_CASES };

/* Of rank 2 nothing is known, so rank 1 need not be the one. */
TEST_EACH(test_no_case, 0, NO_CASES)
{
    static const char
        cut[] = "gpuprof ranks 1\nabc\t312\t40",
        binary[] = "gpuprof ranks 1\n\0\1\n\t\t\nend\n",
        other[] = "gpuprof ranks 9\nabc\t312\t40\t2\t3\t7\t0\t0\t0\t0\t0\t1\th\tf\tw\nend\n";
    struct utimbuf before = {time(NULL) - 60, time(NULL) - 60};
    unsigned looking = _i == NOT_SHOWN ? 3 : 7;
    begin_job();
    if (_i != NOT_SHOWN) {
        ck_assert_int_eq(told(2, 4), -1); /* rank 2 alone shows where it is */
        looking = 3;
    }
    if (_i == OLD)
        ck_assert_int_eq(utime(of[2].shown, &before), 0);
    if (_i == CUT)
        overwrite(of[2].shown, cut, sizeof cut - 1);
    if (_i == BINARY)
        overwrite(of[2].shown, binary, sizeof binary - 1);
    if (_i == FORMAT)
        overwrite(of[2].shown, other, sizeof other - 1);
    ck_assert_msg(told(2, looking) == -1, "case %d: %s", _i, line);
    ck_assert_int_eq(told(4, 7), LATE); /* when rank 2 shows it again */
    end_job();
}
