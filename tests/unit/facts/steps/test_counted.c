/* Ranges whose names contain an increasing number are steps if the word before the number says so
 * and they contain the GPU's work. */
#include "tests/unit/test.h"
#include "tests/unit/build_timeline.h"

enum { RANGES = 12 };

/* A range of `ns` with one kernel, at the depth that the outermost in build_range has below "all".
 */
static int64_t range(struct builder *b, const char *name, int64_t at, int64_t ns)
{
    build_kernel(b, "solve", at + US(10), at + US(20), ns - US(40));
    build_range_at(b, name, 1, at, at + ns);
    return at + ns;
}

/* Ranges with these names, `%d` from 0 on, that become shorter by `less` each. */
static const struct steps *of(struct builder *b, const char *format, int modulus, int64_t less)
{
    char name[64];
    int64_t at = MS(1);
    *b = build_start();
    for (int i = 0; i < RANGES; i++) {
        snprintf(name, sizeof name, format, i / modulus, i % modulus);
        at = range(b, name, at, MS(6) / (less ? 1 << i : 1) + US(100));
    }
    build_range_at(b, "all", 0, MS(1) - US(50), at + US(50));
    return &build_analyze(b)->facts->steps;
}

TEST(ranges_that_count_are_steps)
{
    static const struct {
        const char *format;
        int modulus;
    } marks[] = {
        {"Coarse Level %d", 1}, {"solver iteration #%d: spmv", 1}, {"epoch %d batch %d", 5}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        struct builder b;
        const struct steps *s = of(&b, marks[i].format, marks[i].modulus, 0);
        ck_assert_int_eq(s->source, STEPS_NVTX);
        ck_assert_uint_eq(s->count, RANGES);
        ck_assert_ptr_nonnull(strstr(s->source_text, "from '"));
    }
}

/* Layers, micro-batches, epochs; levels that come again and again, or halve. */
TEST(other_numbers_are_no_steps)
{
    static const struct {
        const char *format;
        int modulus;
        bool less;
    } others[] = {{"Layer %d", 1, false},
                  {"micro batch %d", 1, false},
                  {"epoch %d", 1, false},
                  {"Coarse Level %d", 3, false},
                  {"Coarse Level %d", 1, true}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct builder b;
        ck_assert_msg(of(&b, others[i].format, others[i].modulus, others[i].less)->source !=
                          STEPS_NVTX,
                      "%s", others[i].format);
    }
}

TEST(of_nested_ones_the_outermost_are_steps)
{
    struct builder b = build_start();
    char name[32];
    int64_t at = MS(1);
    for (int i = 0; i < RANGES; i++) {
        int64_t start = at;
        for (int k = 0; k < 3; k++) {
            snprintf(name, sizeof name, "Inner level %d", 3 * i + k);
            build_kernel(&b, "solve", at + US(10), at + US(20), MS(1));
            build_range_at(&b, name, 1, at, at + MS(1.1));
            at += MS(1.2);
        }
        snprintf(name, sizeof name, "Coarse level %d", i);
        build_range_at(&b, name, 0, start - US(5), at - US(50));
    }
    const struct steps *s = &build_analyze(&b)->facts->steps;
    ck_assert_int_eq(s->source, STEPS_NVTX);
    ck_assert_uint_eq(s->count, RANGES);
}

/* They are a small part of what the GPU does. */
TEST(ranges_beside_the_work_are_no_steps)
{
    struct builder b = build_start();
    char name[32];
    int64_t at = MS(1);
    for (int i = 0; i < RANGES; i++) {
        snprintf(name, sizeof name, "print iteration %d", i);
        at = range(&b, name, at, US(100));
    }
    for (int i = 0; i < 5; i++, at += MS(5))
        build_kernel(&b, "other", at, at + US(10), MS(4));
    ck_assert_int_ne(build_analyze(&b)->facts->steps.source, STEPS_NVTX);
}
