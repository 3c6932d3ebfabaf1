/* The terminal's text: it fits the width, cuts no title, says as much as was asked for, and
 * contains no control characters from the recording. */
#include "tests/unit/test.h"
#include "report/terminal/terminal.h"
#include "report/words/text.h"
#include "tests/unit/exported.h"

static char *told(const struct advice *a, enum detail detail, int width, bool color)
{
    struct err e = ERR_INIT;
    struct export_options o = {.title = "train",
                               .source = "train.gpuprof",
                               .width = width,
                               .detail = detail,
                               .color = color};
    static char *out;
    static size_t n;
    FILE *f = open_memstream(&out, &n);
    ck_assert_int_eq(exporter_find("term")->analysis(a, &o, f, &e), 0);
    fclose(f);
    return out;
}

/* A word that is longer than the line may stand beyond it; nothing else may. */
static void check_lines(const char *text, int width)
{
    while (*text) {
        int n = (int)strcspn(text, "\n");
        const char *last = text + n;
        while (last > text && last[-1] != ' ')
            last--;
        ck_assert_msg(n <= width || text + n - last > width / 2, "%d columns: %.*s", width, n,
                      text);
        text += n + (text[n] == '\n');
    }
}

TEST(keeps_to_the_width)
{
    static const int widths[] = {51, 60, 71, 80, 120, 200};
    struct builder b;
    struct advice *a = exported_run(&b, NULL);
    ck_assert_uint_gt(a->ranked_count, 1);
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        for (int detail = DETAIL_USUAL; detail <= DETAIL_ALL; detail++) {
            char *out = told(a, (enum detail)detail, widths[i], false);
            check_lines(out, widths[i]);
            free(out);
        }
}

/* Ten calls of Python functions a step hold up no host, a thousand do. */
TEST(says_that_stacks_slow_the_host)
{
    static const int calls[] = {10, 1000};
    for (int k = 0; k < 2; k++) {
        struct builder b = build_start();
        for (int i = 0; i < 4; i++) {
            int64_t at = MS(10) * i + MS(1);
            build_range(&b, "step", at, at + MS(10) - US(5));
            for (int c = 0; c < calls[k]; c++)
                build_range_in(&b, "python", "layer.py(3): forward", 1, at + US(4 * c),
                               at + US(4 * c + 3));
            build_kernel(&b, "gemm", at + MS(5), at + MS(5) + US(10), MS(4));
        }
        char *out = told(build_analyze(&b), DETAIL_USUAL, 200, false);
        ck_assert_msg((strstr(out, "4,000 calls of Python functions") != NULL) == k, "%s", out);
        free(out);
    }
}

/* Every word of the title stands there, however narrow its column. */
TEST(cuts_no_title)
{
    struct builder b;
    struct advice *a = exported_run(&b, NULL);
    char *out = told(a, DETAIL_USUAL, 60, false);
    for (size_t i = 0; i < a->ranked_count; i++) {
        char title[128], *word, *rest = title;
        snprintf(title, sizeof title, "%s", a->ranked[i]->rule->title);
        while ((word = strtok_r(rest, " ", &rest)))
            ck_assert_msg(strstr(out, word) != NULL, "%s", word);
    }
    ck_assert_ptr_null(strstr(out, "..."));
    free(out);
}

TEST(keeps_numbers_beside_their_units)
{
    static const char *const starts[] = {"\n%", "\nms", "\nGB/s"};
    struct builder b;
    struct advice *a = exported_run(&b, NULL);
    for (int width = 60; width <= 120; width++) {
        char *out = told(a, DETAIL_ALL, width, false), *to = out;
        for (const char *p = out; *p; p++) /* no indentation */
            if (*p != ' ' || (to > out && to[-1] != '\n'))
                *to++ = *p;
        *to = 0;
        for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
            ck_assert_msg(!strstr(out, starts[i]), "%d columns: %s", width, out);
        free(out);
    }
}

TEST(tells_as_much_as_it_is_asked_for)
{
    struct builder b;
    struct advice *a = exported_run(&b, NULL);
    char *brief = told(a, DETAIL_BRIEF, 100, false);
    ck_assert_ptr_nonnull(strstr(brief, "Verdict"));
    ck_assert_ptr_nonnull(strstr(brief, "a warning to show"));
    ck_assert_ptr_nonnull(strstr(brief, "gpuprof analyze -v train.gpuprof"));
    ck_assert_ptr_null(strstr(brief, "Fine"));
    free(brief);
    char *usual = told(a, DETAIL_USUAL, 100, false);
    ck_assert_ptr_nonnull(strstr(usual, "found nothing to change (-v names them)"));
    ck_assert_ptr_null(strstr(usual, a->ranked[0]->evidence[0].text));
    free(usual);
    char *all = told(a, DETAIL_ALL, 400, false);
    for (size_t i = 0; i < a->ranked_count; i++)
        ck_assert_ptr_nonnull(strstr(all, a->ranked[i]->evidence[0].text));
    for (size_t i = 0; i < a->outcome_count; i++)
        ck_assert_ptr_nonnull(strstr(all, a->outcomes[i].rule->id));
    free(all);
}

/* 24 lines, less the name of the profile above it and a prompt below. */
TEST(answers_on_one_screen)
{
    struct builder b;
    struct advice *a = exported_run(&b, "Virtual NVIDIA A100-SXM4-80GB (gpuprof)");
    ck_assert_uint_gt(a->ranked_count, 3);
    for (int width = 71; width <= 120; width++) {
        char *out = told(a, DETAIL_BRIEF, width, false);
        ck_assert_int_le(occurrences(out, "\n"), 22);
        for (size_t i = 0; i < 3; i++) { /* each with what it saves, and a line to change */
            struct text saving;
            text_saving(&saving, a->facts, a->ranked[i]);
            ck_assert_ptr_nonnull(strstr(out, saving.s));
        }
        ck_assert_int_eq(occurrences(out, "gpuprof explain"), 0);
        free(out);
    }
}

/* Both groups of findings, with what each can give. */
TEST(tells_of_both_groups)
{
    struct builder b;
    struct advice *a = exported_run(&b, NULL);
    struct group_total lost = advice_group(a, false), cheaper = advice_group(a, true);
    struct text line;
    ck_assert(lost.findings + cheaper.findings <= a->ranked_count && lost.findings > 0);
    ck_assert(lost.most_ns > 0 && lost.most_ns <= a->facts->step_ns);
    bool both = lost.findings && cheaper.findings;
    ck_assert_int_eq(text_groups(&line, a) != NULL, both);
    char *out = told(a, DETAIL_BRIEF, 200, false);
    ck_assert_int_eq(strstr(out, "lost time at most") != NULL, both);
    free(out);
}

/* "1.0 times as fast" would say that nothing changes. */
TEST(tells_where_the_changes_lead)
{
    struct builder b;
    struct advice *a = exported_run(&b, NULL);
    a->stack[0] = (struct stacked){.outcome = a->ranked[0]};
    a->stack_count = 1;
    for (int percent = 50; percent <= 100; percent += 45) {
        a->stack[0].step_ns = a->facts->step_ns * percent / 100;
        char *out = told(a, DETAIL_BRIEF, 100, false);
        ck_assert_ptr_nonnull(
            strstr(out, percent == 50 ? ", 2.0 times as fast," : ", 5 % shorter,"));
        free(out);
    }
    a->stack[0].step_ns = a->facts->step_ns;
    char *out = told(a, DETAIL_BRIEF, 100, false);
    ck_assert_ptr_null(strstr(out, "Possible"));
    free(out);
}

/* Only where a larger number stands below a smaller one. */
TEST(explains_an_order_that_surprises)
{
    struct builder b;
    struct advice *a = exported_run(&b, NULL);
    struct export_options o = {.width = 100};
    struct text text;
    ck_assert_ptr_null(text_order(&text, a, &o));
    const struct outcome *first = a->ranked[0], *second = a->ranked[1];
    ck_assert_int_eq(first->rule->changes_training, second->rule->changes_training);
    a->ranked[0] = second, a->ranked[1] = first;
    ck_assert_ptr_nonnull(text_order(&text, a, &o));
    ck_assert_ptr_nonnull(strstr(
        text.s, "The change with the surest saving comes first, not the one with the largest."));
    struct outcome other = *first;
    struct rule learns = *first->rule;
    learns.changes_training = true;
    other.rule = &learns;
    a->ranked[1] = &other;
    ck_assert_str_eq(text_order(&text, a, &o), "Changes to the training itself come last.");
    a->ranked[1] = first;
    char *brief = told(a, DETAIL_BRIEF, 100, false);
    ck_assert_ptr_nonnull(strstr(brief, "surest saving comes first"));
    free(brief);
}

/* A bound is in no sum, and the line says so. */
TEST(says_what_possible_leaves_out)
{
    struct builder b;
    struct advice *a = exported_run(&b, NULL);
    struct outcome known = *a->ranked[0], bound = *a->ranked[1];
    known.upper_bound = false;
    bound.upper_bound = true;
    a->ranked[0] = &known, a->ranked[1] = &bound, a->ranked_count = 2;
    a->stack[0] = (struct stacked){.outcome = &known, .step_ns = a->facts->step_ns / 2};
    a->stack_count = 1;
    char *brief = told(a, DETAIL_BRIEF, 100, false);
    ck_assert_msg(strstr(brief, "2.0 times as fast, with 1 change; 1 \"up to\" left out") != NULL,
                  "%s", brief);
    free(brief);
    bound.upper_bound = false;
    brief = told(a, DETAIL_BRIEF, 100, false);
    ck_assert_ptr_null(strstr(brief, "left out"));
    free(brief);
}

/* Nothing to change in the program, but something to do: the short answer says it, too. */
TEST(says_what_to_do_without_a_finding)
{
    struct builder b;
    struct advice *a = exported_run(&b, NULL);
    a->ranked_count = 0;
    a->next = "Record on an idle machine.";
    char *out = told(a, DETAIL_BRIEF, 100, false);
    ck_assert_ptr_nonnull(strstr(out, "Next     Record on an idle machine.\n"));
    free(out);
}

/* A remedy of one line of its own is whole; what is cut says so. */
/* Ten steps of 2 ms, then one kernel more, `later_ms` behind them. */
static struct advice *steps_and_more(struct builder *b, int later_ms)
{
    *b = build_start();
    for (int i = 0; i < 10; i++) {
        build_kernel(b, "gemm", MS(1 + 2 * i), MS(1 + 2 * i) + US(10), MS(1.5));
        build_range(b, "step", MS(1 + 2 * i), MS(3 + 2 * i));
    }
    build_kernel(b, "other", MS(21 + later_ms), MS(21 + later_ms) + US(10), MS(1));
    return build_analyze(b);
}

TEST(says_that_steps_are_a_small_part)
{
    static const char part[] = "the steps cover 10 % of the recording's 201 ms";
    struct builder b;
    struct advice *a = steps_and_more(&b, 180);
    for (int detail = DETAIL_USUAL; detail <= DETAIL_ALL; detail++) {
        char *out = told(a, (enum detail)detail, 200, false);
        ck_assert_msg(strstr(out, part), "%s", out);
        free(out);
    }
    ck_assert_double_eq_tol(text_covered_pct(a), 10, 0.2);
    a = steps_and_more(&b, 8);
    char *out = told(a, DETAIL_USUAL, 200, false);
    ck_assert_ptr_null(strstr(out, "steps cover"));
    free(out);
}

TEST(cuts_with_dots)
{
    static const char text[] = "one two three four five six seven";
    for (int width = 12; width < 40; width++)
        for (int lines = 1; lines < 4; lines++) {
            static char *out;
            static size_t n;
            FILE *f = open_memstream(&out, &n);
            struct terminal t = {.f = f, .width = width};
            term_wrap_most(&t, 0, 0, text, lines);
            fclose(f);
            ck_assert_int_le(occurrences(out, "\n"), lines);
            ck_assert((strstr(out, "seven") != NULL) != (strstr(out, " ...") != NULL));
            check_lines(out, width);
            free(out);
        }
}

TEST(tells_how_the_program_ended)
{
    static const struct {
        const char *key, *value, *told;
    } ends[] = {{"ended.status", "0", NULL},
                {"ended.status", "3", "exit status 3"},
                {"ended.signal", "11", "signal 11 (Segmentation fault) killed"}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        for (int detail = DETAIL_USUAL; detail <= DETAIL_ALL; detail++) {
            struct builder b = build_start();
            build_meta(&b, ends[i].key, ends[i].value);
            char *out = told(build_analyze(&b), (enum detail)detail, 100, false);
            ck_assert_int_eq(strstr(out, "Ended") != NULL, ends[i].told != NULL);
            if (ends[i].told)
                ck_assert_ptr_nonnull(strstr(out, ends[i].told));
            free(out);
        }
}

TEST(colours_only_where_asked)
{
    struct builder b;
    struct advice *a = exported_run(&b, NULL);
    char *plain = told(a, DETAIL_ALL, 80, false);
    ck_assert_ptr_null(strchr(plain, '\033'));
    free(plain);
    char *coloured = told(a, DETAIL_ALL, 80, true);
    ck_assert_int_eq(occurrences(coloured, "\033[") % 2, 0); /* each ink is put away again */
    ck_assert_int_gt(occurrences(coloured, "\033[1m"), 0);
    free(coloured);
}

/* A pull request shows what to change; what is fine unfolds. */
TEST(markdown_folds_the_rest)
{
    struct builder b;
    struct advice *a = exported_run(&b, NULL);
    char *out = exported("markdown", a);
    const char *folded = strstr(out, "<details><summary>Checked and fine</summary>\n\n- `");
    ck_assert_ptr_nonnull(folded);
    ck_assert_ptr_nonnull(strstr(out, a->ranked[0]->rule->title));
    ck_assert(folded > strstr(out, a->ranked[0]->rule->title));
    ck_assert_int_eq(occurrences(out, "<details>"), occurrences(out, "\n</details>\n\n"));
    free(out);
}

TEST(cleans_what_others_print)
{
    static const char *const cases[][2] = {
        {"plain \xc3\xa9", "plain \xc3\xa9"},
        {"\033[31m\n\t\x7f", "?[31m???"},
        {"\xc2\x9b\xe2\x80\xae\xff", "???"},
        {"::error::a b::c ::d", "?:error::a b::c ?:d"},
        {"##[error] a##vso[b # ##", "?#[error] a?#vso[b # ##"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        strcpy(text, cases[i][0]);
        terminal_clean(text);
        ck_assert_str_eq(text, cases[i][1]);
    }
}
