/* The words for what numbers refer to: a step, a batch, a window. Names from the recording beside
 * them are not changed, even where they read like such words. */
#include "tests/unit/exported.h"
#include "tests/unit/rule_case.h"

#define NAME  "score every sample in the step"
#define PLACE "/home/me/rest of the step/train per step.py:9"

/* Twelve kernels that differ; before every third one 20 ms of the host's own work, in a range. */
static struct builder own_work(void)
{
    struct builder b = build_start();
    char kernel[40];
    int64_t at = MS(1);
    for (int i = 0; i < 12; i++) {
        if (i % 3 == 0) {
            build_range(&b, NAME, at, at + MS(20));
            at += MS(20);
        }
        snprintf(kernel, sizeof kernel, "kernel_%c%d", 'a' + i, i * i);
        build_kernel(&b, kernel, at, at + US(10), US(900 + 13 * i * i));
        at += i % 3 == 2 ? MS(4) : US(200);
    }
    return b;
}

/* The same in twelve steps. */
static void fill_own_work(struct builder *b, int64_t at)
{
    build_range(b, NAME, at, at + MS(4));
    build_kernel(b, case_gemm, at + MS(4), at + MS(4) + US(10), US(5980));
}

TEST(names_are_no_words_of_ours)
{
    struct builder b = own_work();
    const struct advice *a = build_analyze(&b);
    ck_assert(analysis_of_window(a->facts));
    ck_assert_msg(strstr(a->why, "'" NAME "'"), "%s", a->why);
    const struct outcome *o = case_verdict(a, "host-work", RULE_FIRES);
    ck_assert_msg(strstr(o->summary, "in the window") && strstr(o->summary, "'" NAME "'"), "%s",
                  o->summary);
    ck_assert_str_eq(o->evidence[1].text, "of that, inside '" NAME "'");
    static const char *const formats[] = {"json", "html", "markdown", "term"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        char *out = exported(formats[i], a);
        ck_assert_msg(strstr(out, NAME) && !strstr(out, "sample in the window"), "%s: %s",
                      formats[i], out);
        free(out);
    }
}

/* Twelve copies from pageable memory, each before another kernel. */
TEST(places_are_no_words_of_ours)
{
    struct builder b = build_start();
    char kernel[40];
    build_meta(&b, "framework", "pytorch");
    build_meta(&b, "torch.loader.1", "DataLoader(pin_memory=False)");
    build_meta(&b, "torch.loader", "DataLoader(pin_memory=False)");
    build_meta(&b, "torch.loader.made", PLACE);
    for (int i = 0; i < 12; i++) {
        int64_t at = MS(5) + MS(11) * i;
        build_copy(&b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, false, 40 << 20, at,
                   MS(7) + US(20), at + US(10), MS(7));
        snprintf(kernel, sizeof kernel, "kernel_%c%d", 'a' + i, i * i);
        build_kernel(&b, kernel, at + MS(7) + US(30), at + MS(7) + US(40), MS(3));
    }
    const struct advice *a = build_analyze(&b);
    ck_assert(analysis_of_window(a->facts));
    case_verdict(a, "pin-memory", RULE_FIRES);
    const char *remedy = case_outcome(a, "pin-memory")->words[FRAMEWORK_PYTORCH];
    ck_assert_msg(strstr(remedy, PLACE), "%s", remedy);
}

/* What evidence counts is its text; per what, a value, and words in each output. */
TEST(evidence_is_per_something)
{
    for (int window = 0; window < 2; window++) {
        struct builder b = window ? own_work() : build_start();
        if (!window)
            case_loop(&b, fill_own_work);
        const struct advice *a = build_analyze(&b);
        const struct outcome *o = case_outcome(a, "host-work");
        const struct evidence *idle = &o->evidence[0], *inside = &o->evidence[1];
        ck_assert_int_eq(o->verdict, RULE_FIRES);
        ck_assert_str_eq(idle->text, "GPU idle while the host does other work");
        ck_assert_int_eq(idle->per, EVIDENCE_PER_UNIT);
        ck_assert_str_eq(evidence_scope(a->facts, idle), window ? "in the window" : "per step");
        ck_assert_int_eq(inside->per, EVIDENCE_OF_ALL);
        ck_assert_str_eq(evidence_scope(a->facts, inside), "");
        char *json = exported("json", a);
        ck_assert_ptr_nonnull(strstr(json, "\"of that, inside '" NAME "'\""));
        ck_assert_ptr_nonnull(strstr(json, window ? "other work in the window\""
                                                  : "while the host does other work per step\""));
        free(json);
    }
}

TEST(words_are_of_the_unit)
{
    struct builder b = own_work();
    struct facts f = *build_analyze(&b)->facts;
    ck_assert_str_eq(scope_words(&f)->unit, "window");
    f.steps.source = STEPS_NVTX;
    ck_assert_str_eq(scope_words(&f)->unit, "step");
    f.steps.batches = true;
    ck_assert_str_eq(scope_words(&f)->unit, "batch");
    ck_assert_str_eq(scope_words(&f)->per, "per batch");
    struct evidence share = {.per = EVIDENCE_SHARE};
    ck_assert_str_eq(evidence_scope(&f, &share), "of the batch");
}
