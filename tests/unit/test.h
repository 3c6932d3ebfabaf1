/* Tests that register themselves with main.c. TEST(name) { ... } runs with the other tests of its
 * file, in their order, each in a process of its own. TEST_EACH(name, from, to) runs once for each
 * `_i` from `from` up to, not including, `to`. TEST_EXIT is a test that must end its process with
 * the given status. TEST_FIXTURE(begin, end) sets what runs around each test below it in the file;
 * a second one replaces the first, and NULL means nothing. */
#ifndef GPUPROF_TESTS_UNIT_TEST_H
#define GPUPROF_TESTS_UNIT_TEST_H

#include <check.h>

struct unit_test {
    const char *file;
    int line, from, to, status;
    const TTest *test; /* NULL: a fixture */
    SFun begin, end;
    struct unit_test *next;
};

void unit_test_add(struct unit_test *t); /* keeps the pointer */

/* Calls end(what) when the test's process ends, even if the test fails. The call registered last is
 * made first. */
void test_later(void (*end)(void *), void *what);

#define TEST_ROW(name, ...)                                                                        \
    __attribute__((constructor)) static void name##_row(void)                                      \
    {                                                                                              \
        static struct unit_test row;                                                               \
        row = (struct unit_test){.file = __FILE__, .line = __LINE__, __VA_ARGS__};                 \
        unit_test_add(&row);                                                                       \
    }

#define TEST_EXIT(name, exit_status, first, past)                                                  \
    static void name##_fn(int _i);                                                                 \
    static const TTest name##_test = {#name, name##_fn, __FILE__, __LINE__};                       \
    TEST_ROW(name, .test = &name##_test, .from = (first), .to = (past), .status = (exit_status))   \
    static void name##_fn(int _i CK_ATTRIBUTE_UNUSED)

#define TEST_EACH(name, first, past) TEST_EXIT(name, 0, first, past)
#define TEST(name)                   TEST_EACH(name, 0, 1)

#define TEST_FIXTURE(setup, teardown) TEST_ROW(setup##_fixture, .begin = (setup), .end = (teardown))

#endif
