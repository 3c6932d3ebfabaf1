/* Frames of real Python programs, read from another process, with each Python that the test is
 * given. */
#include "tests/unit/test.h"
#include "analyzer/pyframes/pyframes.h"

#include "tests/unit/python_child.h"

#include <limits.h>

enum { FRAMES = 64, WALKS = 3000 };

static const char waits[] = "import os, sys, threading, time\n" /* 1 */
                            "class Loop:\n"                     /* 2 */
                            "    def pause(self, seconds):\n"   /* 3 */
                            "        def inner():\n"            /* 4 */
                            "            time.sleep(\n"         /* 5 */
                            "                seconds)\n"        /* 6 */
                            "        inner()\n"                 /* 7 */
                            "def parts():\n"                    /* 8 */
                            "    yield 1\n"                     /* 9 */
                            "    Loop().pause(100)\n"           /* 10 */
                            "    yield 2\n"                     /* 11 */
                            "def gr\xc3\xb6\xc3\x9f"
                            "e_\xe6\x97\xa5():\n"            /* 12 */
                            "    threading.Event().wait()\n" /* 13 */
                            "other = threading.Thread(target=gr\xc3\xb6\xc3\x9f"
                            "e_\xe6\x97\xa5, daemon=True)\n"              /* 14 */
                            "other.start()\n"                             /* 15 */
                            "child = os.fork()\n"                         /* 16 */
                            "if child == 0:\n"                            /* 17 */
                            "    time.sleep(100)\n"                       /* 18 */
                            "time.sleep(0.2)\n"                           /* 19 */
                            "print(other.native_id, child, flush=True)\n" /* 20 */
                            "total = sum(\n"                              /* 21 */
                            "    parts())\n";                             /* 22 */

static bool ends_with(const char *text, const char *with)
{
    size_t n = strlen(text), m = strlen(with);
    return n >= m && strcmp(text + n - m, with) == 0;
}

static void check_frame(const struct pyframe *f, const char *file, const char *function, int first,
                        int last)
{
    ck_assert_msg(ends_with(f->file, file) && ends_with(f->function, function) &&
                      f->line >= first && f->line <= last,
                  "%s:%d %s is not %s:%d %s", f->file, f->line, f->function, file, first, function);
}

static struct pyframes *open_when_ready(pid_t pid)
{
    struct pyframes *p = NULL;
    ck_assert_int_eq(pyframes_open(&p, pid), PYFRAMES_OPEN);
    return p;
}

static int walk(struct pyframes *p, pid_t tid, struct pyframe *f)
{
    struct pythread t[16];
    size_t n = pyframes_threads(p, t, 16);
    for (size_t i = 0; i < n; i++)
        if (t[i].tid == tid)
            return pyframes_walk(p, &t[i], f, FRAMES);
    return -2;
}

/* A sleeping thread's stack is read as it stands; and so is that of a forked child, in which the
 * other threads are gone. */
TEST(test_waits)
{
    struct python_child c;
    struct pyframe f[FRAMES];
    char line[64];
    int other, forked;
    for (int i = 0; python_number(i); i++) {
        if (!python_start(&c, python_number(i), waits, line, sizeof line))
            continue;
        usleep(200000);
        ck_assert_int_eq(sscanf(line, "%d %d", &other, &forked), 2);
        struct pyframes *p = open_when_ready(c.pid);
        ck_assert_int_eq(walk(p, c.pid, f), 4);
        check_frame(&f[0], c.script, "inner", 5, 6);
        check_frame(&f[1], c.script, "pause", 7, 7);
        check_frame(&f[2], c.script, "parts", 10, 10);
        check_frame(&f[3], c.script, "<module>", 21, 22);
        int n = walk(p, other, f);
        ck_assert_int_ge(n, 5);
        check_frame(&f[n - 1], "threading.py", "_bootstrap", 1, INT_MAX);
        check_frame(&f[1], "threading.py", "wait", 1, INT_MAX);
        check_frame(&f[2], c.script,
                    "gr\xc3\xb6\xc3\x9f"
                    "e_\xe6\x97\xa5",
                    13, 13);
        pyframes_close(p);
        p = open_when_ready(forked);
        ck_assert_int_eq(walk(p, forked, f), 1);
        check_frame(&f[0], c.script, "<module>", 18, 18);
        ck_assert_int_eq(walk(p, other, f), -2);
        pyframes_close(p);
        python_end(&c);
    }
}

static const char computes[] = "def one(x):\n"
                               "    return x + 1\n"
                               "def two(x):\n"
                               "    return one(x) + one(\n"
                               "        x)\n"
                               "print(1, flush=True)\n"
                               "x = 0\n"
                               "while True:\n"
                               "    x = two(x) % 7\n";

/* One that calls functions without end is never still: what is read is one of its stacks, or is
 * given up. */
TEST(test_computes)
{
    struct python_child c;
    struct pyframe f[FRAMES];
    struct pythread t;
    char line[64];
    for (int i = 0; python_number(i); i++) {
        if (!python_start(&c, python_number(i), computes, line, sizeof line))
            continue;
        struct pyframes *p = open_when_ready(c.pid);
        int good = 0, deepest = 0, walks = 0;
        ck_assert_uint_eq(pyframes_threads(p, &t, 1), 1);
        for (; walks < WALKS || (deepest < 3 && walks < 20 * WALKS); walks++) {
            int n = pyframes_walk(p, &t, f, FRAMES);
            bool known = n > 0 && n <= 3 && strcmp(f[n - 1].function, "<module>") == 0;
            for (int j = 0; known && j < n; j++)
                known = ends_with(f[j].file, c.script) && f[j].line >= 1 && f[j].line <= 9;
            good += known;
            deepest = known && n > deepest ? n : deepest;
            if (walks % 16 == 0)
                usleep(200); /* it may have no core now */
        }
        ck_assert_msg(good > walks * 8 / 10, "%s: %d of %d", python_number(i), good, walks);
        ck_assert_int_eq(deepest, 3);
        pyframes_close(p);
        python_end(&c);
    }
}

static const char deep[] = "import sys, time\n"
                           "sys.setrecursionlimit(3000)\n"
                           "def down(n):\n"
                           "    down(n - 1) if n else time.sleep(100)\n"
                           "print(1, flush=True)\n"
                           "down(500)\n";

TEST(test_deep)
{
    struct python_child c;
    struct pyframe f[FRAMES];
    char line[64];
    for (int i = 0; python_number(i); i++) {
        if (!python_start(&c, python_number(i), deep, line, sizeof line))
            continue;
        usleep(200000);
        struct pyframes *p = open_when_ready(c.pid);
        ck_assert_int_eq(walk(p, c.pid, f), FRAMES);
        check_frame(&f[0], c.script, "down", 4, 4);
        check_frame(&f[FRAMES - 1], c.script, "<module>", 6, 6);
        pyframes_close(p);
        python_end(&c);
    }
}

/* Programs that are none of Python's, and processes that are gone. */
TEST(test_others)
{
    struct pyframes *p;
    pid_t child = fork();
    if (child == 0) {
        execlp("sleep", "sleep", "100", (char *)NULL);
        _exit(127);
    }
    usleep(100000);
    ck_assert_int_eq(pyframes_open(&p, child), PYFRAMES_NOT_PYTHON);
    ck_assert_ptr_null(p);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ck_assert_int_eq(pyframes_open(&p, child), PYFRAMES_NOT_PYTHON);
}

/* A process that ends while it is looked at leaves nothing to read. */
TEST(test_ends)
{
    struct python_child c;
    struct pyframe f[FRAMES];
    char line[64];
    if (!python_start(&c, python_number(0), computes, line, sizeof line))
        return;
    struct pyframes *p = open_when_ready(c.pid);
    ck_assert_int_gt(walk(p, c.pid, f), 0);
    python_end(&c);
    ck_assert_int_eq(walk(p, c.pid, f), -2);
    pyframes_close(p);
}
