/* Samples of real Python programs, and the tree of stacks made from them. */
#include "tests/unit/test.h"
#include "analyzer/sampler/followed.h"
#include "analyzer/sampler/sampler.h"

#include "analyzer/sampler/stacks.h"
#include "base/clock.h"
#include "tests/unit/python_child.h"

#define ITS_NUMBER 7

static const char turns[] = "import time\n"                         /* 1 */
                            "def sleeps():\n"                       /* 2 */
                            "    time.sleep(0.1)\n"                 /* 3 */
                            "def computes():\n"                     /* 4 */
                            "    end = time.thread_time() + 0.05\n" /* 5 */
                            "    while time.thread_time() < end:\n" /* 6 */
                            "        pass\n"                        /* 7 */
                            "print(1, flush=True)\n"                /* 8 */
                            "while True:\n"                         /* 9 */
                            "    sleeps()\n"                        /* 10 */
                            "    computes()\n";                     /* 11 */

struct found {
    int64_t asleep, awake, looks, others;
    int samples;
};

static void count(struct sampler *s, const struct samples *all, const char *script,
                  struct found *found)
{
    *found = (struct found){0};
    for (size_t i = 0; i < all->n; i++) {
        const struct sample *a = &all->at[i];
        struct stack_frame f = sampler_frame(s, a->stack), caller = sampler_frame(s, f.caller);
        ck_assert_int_eq(a->process, ITS_NUMBER);
        ck_assert(a->start_ns > 0 && a->end_ns >= a->start_ns && a->looks >= 1);
        bool inside = strcmp(f.function, "sleeps") == 0 || strcmp(f.function, "computes") == 0;
        if (inside) {
            ck_assert_str_eq(f.file, script);
            ck_assert_str_eq(caller.function, "<module>");
            ck_assert_uint_eq(caller.caller, 0);
        }
        if (strcmp(f.function, "sleeps") == 0 && a->state == SAMPLE_ASLEEP) {
            ck_assert_int_eq(f.line, 3);
            found->asleep += a->looks;
            ck_assert_str_eq(a->call, "nanosleep");
        } else if (strcmp(f.function, "computes") == 0 && a->state != SAMPLE_ASLEEP) {
            found->awake += a->looks;
        } else {
            found->others += a->looks;
        }
        found->samples++;
        found->looks += a->looks;
    }
}

/* A function that sleeps and one that computes are told apart; a sleep of 100 ms is one sample that
 * is prolonged. */
TEST(test_turns)
{
    struct python_child c;
    struct samples all = {0};
    struct found found = {0};
    char line[64];
    for (int i = 0; python_number(i); i++) {
        if (!python_start(&c, python_number(i), turns, line, sizeof line))
            continue;
        struct sampler *s = sampler_start(NULL);
        ck_assert_ptr_nonnull(s);
        sampler_follow(s, c.pid, ITS_NUMBER, false);
        sampler_works(s, ITS_NUMBER);
        all.n = 0;
        for (int k = 0; k < 300 && found.looks < 60; k++) {
            usleep(100000);
            sampler_take(s, &all, k == 299);
            count(s, &all, c.script, &found);
        }
        ck_assert_msg(found.looks >= 60, "%s: %d looks", python_number(i), (int)found.looks);
        ck_assert_int_gt(found.asleep, 3); /* where cores are rare, most of it waits for one */
        ck_assert_int_gt(found.awake, 3);
        ck_assert_int_lt(found.others, found.looks / 4);
        ck_assert_int_lt(found.samples, found.looks); /* sleeps were prolonged */
        ck_assert_int_eq(sampler_trouble(s, ITS_NUMBER), SAMPLER_FINE);
        ck_assert_int_gt(sampler_cpu_ns(s), 0);
        sampler_forget(s, ITS_NUMBER);
        sampler_stop(s);
        python_end(&c);
        found.looks = 0;
    }
    vec_release(&all);
}

/* A process that ends, or never was Python, gives nothing, and nothing waits for it. */
/* 0.2 ms a look, one part in 125: 25 ms apart, but as usual while two seconds of import left 16 ms over. */
TEST(test_import_is_saved_for_the_loop)
{
    struct followed f = {.since_ns = 1000000000, .cost_ns = 200000, .spent_ns = 1000000};
    ck_assert_int_eq(followed_pause(&f, 3000000000, 5000000, 125), 5000000);
    f.spent_ns = 15900000;
    ck_assert_int_eq(followed_pause(&f, 3000000000, 5000000, 125), 25000000);
    f.cost_ns = 20000;
    ck_assert_int_eq(followed_pause(&f, 1000000000, 5000000, 125), 5000000);
}

TEST(test_gone)
{
    struct samples all = {0};
    struct sampler *s = sampler_start(NULL);
    sampler_follow(s, getpid(), 1, false);
    sampler_follow(s, 0x3ffffff, 2, true);
    usleep(300000);
    sampler_take(s, &all, true);
    ck_assert_uint_eq(all.n, 0);
    sampler_forget(s, 2);
    sampler_forget(s, 3);
    sampler_stop(s);
    sampler_stop(NULL);
}

static struct pyframe frame(const char *file, const char *function, int line)
{
    return (struct pyframe){.file = file, .function = function, .line = line};
}

/* Innermost first. Equal callers are shared; the hook's own frames, and what a forked worker has of
 * its parent, are left out. */
TEST(test_tree)
{
    static const char worker[] = "/x/site-packages/torch/utils/data/_utils/worker.py";
    struct stacks s;
    ck_assert_int_eq(stacks_init(&s, "/opt/hook"), 0);
    struct pyframe a[] = {frame("/opt/hook/gpuprof_torch.py", "note", 3), frame("a.py", "f", 2),
                          frame("a.py", "<module>", 9)};
    struct pyframe b[] = {frame("a.py", "f", 3), frame("a.py", "<module>", 9)};
    struct pyframe w[] = {
        frame("a.py", "__getitem__", 5), frame(worker, "_worker_loop", 300),
        frame("/usr/lib/python3.11/multiprocessing/process.py", "BaseProcess._bootstrap", 314),
        frame("a.py", "<module>", 9)};
    uint32_t one = stacks_add(&s, a, 3), two = stacks_add(&s, b, 2), three = stacks_add(&s, w, 4);
    ck_assert_str_eq(s.at.at[one].function, "f");
    ck_assert_int_eq(s.at.at[one].line, 2);
    ck_assert_uint_eq(s.at.at[one].caller, s.at.at[two].caller);
    ck_assert_uint_eq(stacks_add(&s, &a[1], 2), one);
    ck_assert_str_eq(s.at.at[s.at.at[three].caller].function, "_worker_loop");
    ck_assert_uint_eq(s.at.at[s.at.at[three].caller].caller, 0);
    ck_assert_uint_eq(stacks_add(&s, a, 0), 0);
    for (int line = 1; line <= 5000; line++) { /* it grows */
        struct pyframe f[] = {frame("b.py", "g", line), frame("a.py", "<module>", 9)};
        uint32_t first = stacks_add(&s, f, 2);
        ck_assert_uint_eq(stacks_add(&s, f, 2), first);
        ck_assert_int_eq(s.at.at[first].line, line);
    }
    stacks_release(&s);
}
