/* Runs the tests of the files named on the command line ("test_x" for test_x.c), or all of them:
 * one Check suite for each file. A case that hangs is stopped after two minutes; the limit is that
 * high because on a busy machine a test may take much longer than usual. */
#include "tests/unit/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct unit_test *tests;
static size_t count;

void unit_test_add(struct unit_test *t)
{
    t->next = tests;
    tests = t;
    count++;
}

static struct later {
    void (*end)(void *);
    void *what;
    struct later *next;
} * at_end;

static void end_all(void)
{
    while (at_end) {
        struct later *l = at_end;
        at_end = l->next;
        l->end(l->what);
        free(l);
    }
}

void test_later(void (*end)(void *), void *what)
{
    if (!at_end)
        atexit(end_all);
    struct later *l = malloc(sizeof *l);
    if (!l)
        abort();
    *l = (struct later){end, what, at_end};
    at_end = l;
}

static int by_place(const void *a, const void *b)
{
    const struct unit_test *x = *(struct unit_test *const *)a, *y = *(struct unit_test *const *)b;
    int files = strcmp(x->file, y->file);
    return files ? files : x->line - y->line;
}

static bool is_of(const struct unit_test *t, const char *suite)
{
    const char *base = strrchr(t->file, '/') ? strrchr(t->file, '/') + 1 : t->file;
    size_t n = strlen(suite);
    return strncmp(base, suite, n) == 0 && strcmp(base + n, ".c") == 0;
}

/* The rows of the suite, ordered by place. */
static SRunner *runner(struct unit_test **rows, size_t n, const char *suite)
{
    SRunner *r = srunner_create(NULL);
    Suite *s = NULL;
    TCase *c = NULL;
    const char *file = "";
    for (size_t i = 0; i < n; i++) {
        const struct unit_test *t = rows[i];
        if (suite && !is_of(t, suite))
            continue;
        if (strcmp(file, t->file) != 0) {
            file = t->file;
            srunner_add_suite(r, s = suite_create(file));
            c = NULL;
        }
        if (!c || !t->test)
            suite_add_tcase(s, c = tcase_create("tests"));
        if (t->test)
            tcase_add_loop_exit_test(c, t->test, t->status, t->from, t->to);
        else
            tcase_add_checked_fixture(c, t->begin, t->end);
    }
    return r;
}

int main(int argc, char **argv)
{
    setenv("CK_DEFAULT_TIMEOUT", "120", 0);
    struct unit_test **rows = calloc(count + 1, sizeof(*rows));
    if (!rows)
        return EXIT_FAILURE;
    size_t n = 0;
    for (struct unit_test *t = tests; t; t = t->next)
        rows[n++] = t;
    qsort(rows, n, sizeof(*rows), by_place);
    SRunner *r = runner(rows, n, argc > 1 ? argv[1] : NULL);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r), ran = srunner_ntests_run(r);
    srunner_free(r);
    free(rows);
    return failed || !ran ? EXIT_FAILURE : EXIT_SUCCESS;
}
