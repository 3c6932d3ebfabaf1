/* A finding about work that only some steps do: every output gives its saving for the whole run. */
#include "tests/unit/exported.h"
#include "tests/unit/test.h"
#include "analyzer/compare/compare.h"
#include "report/words/text.h"

#include <stdlib.h>

/* Steps of 10 ms; behind each fifth one 190 ms of copies to the host, where `saves`. */
static struct builder loop(bool saves)
{
    struct builder b = build_start();
    int64_t at = MS(100);
    for (int i = 0; i < 30; i++) {
        bool longer = saves && i % 5 == 4;
        for (int k = 0; k < 20; k++)
            build_kernel(&b, "gemm", at + US(20 * k), at + US(100 + 480 * k), US(470));
        for (int k = 0; longer && k < 40; k++)
            build_copy(&b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, false, 4000000,
                       at + MS(10 + 4.75 * k), US(300), at + MS(10 + 4.75 * k) + US(20), US(250));
        build_range(&b, "step", at, at + MS(longer ? 200 : 10));
        at += MS(longer ? 200 : 10);
    }
    build_analyze(&b);
    return b;
}

static void contains(const char *format, const struct advice *a, const char *words)
{
    char *out = exported(format, a);
    if (!strstr(out, words))
        fprintf(stderr, "%s lacks '%s':\n%s\n", format, words, out);
    ck_assert_ptr_nonnull(strstr(out, words));
    free(out);
}

TEST(all_outputs_say_of_what_it_is)
{
    struct builder b = loop(true);
    const struct advice *a = b.a;
    const struct outcome *o = a->ranked[0];
    struct text saving, run;
    ck_assert_str_eq(o->rule->id, "other-steps");
    ck_assert_int_gt(o->saves_high_ns, a->facts->step_ns);
    ck_assert_int_le(o->saves_high_ns, a->facts->run_ns);
    text_saving(&saving, a->facts, o);
    ck_assert_ptr_nonnull(strstr(saving.s, " % of the run)"));
    contains("term", a, saving.s);
    contains("markdown", a, saving.s);
    snprintf(run.s, sizeof run.s, "%.100s per step of the run</span>", saving.s);
    contains("html", a, run.s);
    contains("json", a, "\"of\": \"run\",");
    snprintf(run.s, sizeof run.s, "\"of_ms\": %.6f,", (double)a->facts->run_ns / 1e6);
    contains("json", a, run.s);
    ck_assert_int_le(stacked_saving_ns(a), a->facts->step_ns); /* it is in no sum of steps */
}

TEST(a_comparison_says_so)
{
    struct builder without = loop(false), with = loop(true);
    struct err e;
    struct diff *d = diff_find(without.a, with.a, false, &e);
    const struct change *found = NULL;
    for (size_t i = 0; i < d->change_count; i++)
        if (strcmp(d->changes[i].what, "other-steps") == 0)
            found = &d->changes[i];
    ck_assert(found && found->of_run && found->base_ns == 0);
    ck_assert_int_gt(found->new_ns, with.a->facts->step_ns);
    diff_free(d);
}
