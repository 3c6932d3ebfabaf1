/* Every rule answers a tuning tip that is commonly given; rules that answer the same tip word it
 * the same way. The list of topics is repeated here, so that a dropped tip is noticed. */
#include "tests/unit/test.h"
#include "analyzer/advice/advice.h"

#include <string.h>

static const char *const topics[] = {
    "loader-workers", "pinned-memory",    "overlap-copies",  "no-sync-reads",  "mixed-precision",
    "tf32",           "channels-last",    "cudnn-benchmark", "larger-batch",   "fused-optimizer",
    "set-to-none",    "bias-before-norm", "fuse-pointwise",  "cuda-graphs",    "ddp-not-dp",
    "buckets",        "accumulation",     "checkpointing",   "no-grad-eval",   "debug-off",
    "device-tensors", "no-host-copies",   "clip-cheaply",    "allocator",      "aligned-sizes",
    "fast-storage",   "enough-cores",     "affinity",        "compiled-steps", "pipeline"};

static const struct tip *tip_of(const char *id)
{
    for (size_t i = 0; i < rule_count; i++)
        for (size_t k = 0; k < TIPS && rules[i]->tips[k].id; k++)
            if (strcmp(rules[i]->tips[k].id, id) == 0)
                return &rules[i]->tips[k];
    return NULL;
}

TEST(test_every_topic_is_there)
{
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
        ck_assert_msg(tip_of(topics[i]) != NULL, "no rule answers the tip '%s'", topics[i]);
}

TEST(test_every_rule_answers_a_tip)
{
    for (size_t i = 0; i < rule_count; i++) {
        ck_assert_msg(rules[i]->tips[0].id, "rule '%s' answers no tip", rules[i]->id);
        for (size_t k = 0; k < TIPS && rules[i]->tips[k].id; k++) {
            const struct tip *t = &rules[i]->tips[k], *first = tip_of(t->id);
            ck_assert_msg(strcmp(t->text, first->text) == 0, "tip '%s' says two things", t->id);
            ck_assert_msg((!t->note && !first->note) ||
                              (t->note && first->note && strcmp(t->note, first->note) == 0),
                          "tip '%s' is noted in two ways", t->id);
        }
    }
}
