/* Every common tip is seen by rules that exist, or it is said why none can see it; and every rule
 * answers a tip. The list of topics stands here a second time: a tip that is dropped is missed. */
#include "analyzer/advice/advice.h"
#include "analyzer/advice/tips.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const char *const topics[] = {
    /* that a profile shows */
    "loader-workers", "pinned-memory", "overlap-copies", "no-sync-reads", "mixed-precision", "tf32",
    "channels-last", "cudnn-benchmark", "larger-batch", "fused-optimizer", "set-to-none",
    "bias-before-norm", "fuse-pointwise", "cuda-graphs", "ddp-not-dp", "buckets", "accumulation",
    "checkpointing", "no-grad-eval", "debug-off", "device-tensors", "no-host-copies",
    "clip-cheaply", "allocator", "aligned-sizes", "fast-storage", "enough-cores", "affinity",
    "compiled-steps",
    /* that none shows */
    "shuffle-order", "rate-schedule", "optimizer-choice", "normalise-input", "quantise",
    "inference-engine", "memory-limits", "count-parameters", "sampler", "model-parallel",
    "versions", "system-services"};

static const struct tip *tip_of(const char *id)
{
    for (size_t i = 0; i < tip_count; i++)
        if (strcmp(tips[i].id, id) == 0)
            return &tips[i];
    return NULL;
}

START_TEST(test_every_topic_is_there)
{
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
        ck_assert_msg(tip_of(topics[i]) != NULL, "no tip '%s'", topics[i]);
}
END_TEST

static void each_exists(const struct tip *t)
{
    char *list = strdup(t->rules), *rest = list;
    for (char *id; (id = strsep(&rest, " ")) != NULL;)
        ck_assert_msg(rule_find(id) != NULL, "tip '%s' names no rule: '%s'", t->id, id);
    free(list);
}

START_TEST(test_tips_are_seen_or_say_why)
{
    for (size_t i = 0; i < tip_count; i++) {
        const struct tip *t = &tips[i];
        ck_assert_ptr_eq(tip_of(t->id), t); /* once */
        ck_assert_msg(t->text[0] != '\0', "tip '%s' says nothing", t->id);
        ck_assert_msg(t->rules || (t->note && strlen(t->note) > 20), "tip '%s': why not?", t->id);
        if (t->rules)
            each_exists(t);
    }
}
END_TEST

static bool names(const char *list, const char *id)
{
    size_t n = strlen(id);
    for (const char *p = list; p && (p = strstr(p, id)) != NULL; p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
            return true;
    return false;
}

START_TEST(test_every_rule_answers_a_tip)
{
    for (size_t i = 0; i < rule_count; i++) {
        bool found = false;
        for (size_t k = 0; k < tip_count; k++)
            found |= names(tips[k].rules, rules[i]->id);
        ck_assert_msg(found, "no tip for rule '%s': add it to analyzer/advice/tips.c",
                      rules[i]->id);
    }
}
END_TEST

Suite *test_tips_suite(void);
Suite *test_tips_suite(void)
{
    Suite *s = suite_create("tips");
    TCase *c = tcase_create("tips");
    tcase_add_test(c, test_every_topic_is_there);
    tcase_add_test(c, test_tips_are_seen_or_say_why);
    tcase_add_test(c, test_every_rule_answers_a_tip);
    suite_add_tcase(s, c);
    return s;
}
