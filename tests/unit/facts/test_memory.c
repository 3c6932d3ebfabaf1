/* The allocator's numbers: what is read of them, what fits, and the words. */
#include "analyzer/queries/gpu.h"
#include "analyzer/facts/memory.h"
#include "report/words/text.h"
#include "tests/unit/build_timeline.h"

static struct advice *with(const char *memory, const char *failed)
{
    struct builder b = build_start_on("Tesla T4", 8, 0);
    if (!failed) /* else it fails before its first kernel */
        build_kernel(&b, "ampere_sgemm_128x128_tn", US(20), US(40), MS(5));
    build_meta(&b, "torch.loader", "batch_size=16, num_workers=2");
    if (memory)
        build_meta(&b, "torch.memory", memory);
    if (failed)
        build_meta(&b, "torch.memory.failed", failed);
    build_meta(&b, "ended.status", failed ? "1" : "0");
    return build_analyze(&b);
}

/* ResNet-50 with 16 pictures of 88 MB on a card of 17 GB. */
static const char *const resnet =
    "peak=1642328064, allocated=1612636160, reserved=1866465280, held=1866465280, "
    "available=17163091968, total=17179869184, weights=102441032, gradients=102228128, "
    "optimizer=102228128, forward=1407967000";

TEST(what_fits_lies_between_two_readings)
{
    struct memory_use m = facts_memory(with(resnet, NULL)->facts);
    ck_assert(m.known);
    ck_assert_int_eq(m.peak, 1642328064);
    ck_assert_int_eq(m.weights, 102441032);
    ck_assert_int_eq(m.batch, 16);
    /* (0.97 x 17163 - 205) / (1642 - 205), and 1 + (17163 - 1642) / 1408 */
    ck_assert_double_eq_tol(m.times_likely, 11.44, 0.01);
    ck_assert_double_eq_tol(m.times_high, 12.02, 0.01);
    /* 12 % of what the allocator held lay free */
    ck_assert_double_eq_tol(m.times_low, 10.37, 0.01);
}

TEST(it_is_said_with_its_parts)
{
    struct text b;
    ck_assert_str_eq(text_memory(&b, with(resnet, NULL)),
                     "1.64 GB of 17.2 GB at the peak: weights 102 MB, their gradients 102 MB, "
                     "optimizer 102 MB, kept for backward 1.41 GB; batches up to about 183 fit "
                     "(166 to 192; now 16)");
}

/* What an allocator keeps free is not in use. */
TEST(rules_ask_the_allocator_first)
{
    ck_assert_int_eq(query_gpu(with(resnet, NULL)->facts).memory_peak,
                     1642328064 + 17179869184 - 17163091968);
    ck_assert_int_eq(query_gpu(with(NULL, NULL)->facts).memory_peak, -1);
}

static const char *const damaged[] = {
    "",
    "peak=",
    "peak=5",
    "peak=5, available=7, total=6, weights=1",
    "peak=-5, available=6, total=7",
    "xpeak=5, available=6, total=7",
    "peak=5, available=6, total=7, weights=-1",
    "peak=5, available=6, total=7, weights=9223372036854775807, optimizer=9223372036854775807",
};

TEST_EACH(damaged_numbers_say_nothing, 0, sizeof damaged / sizeof *damaged)
{
    struct text b;
    struct advice *a = with(damaged[_i], NULL);
    ck_assert(!facts_memory(a->facts).known);
    ck_assert_ptr_null(text_memory(&b, a));
}

TEST(more_than_there_is_does_not_fit)
{
    struct memory_use m =
        facts_memory(with("peak=9, available=5, total=9, weights=1, forward=3", NULL)->facts);
    ck_assert(m.known && m.times_likely == 0);
}

TEST(out_of_memory_is_how_it_ended)
{
    struct text b;
    struct advice *a =
        with(NULL, "asked=377487360, times=1, peak=17040363520, allocated=17040363520, "
                   "reserved=17171480576, held=17171480576, available=17171480576, "
                   "total=17179869184, in layers.3 (Block) at model.py:12");
    ck_assert_str_eq(text_ended(&b, a),
                     "failed; the GPU's memory had no room for 377 MB in layers.3 (Block) at "
                     "model.py:12: tensors held 17.0 GB of 17.2 GB, and 131 MB more lay free in "
                     "pieces");
    ck_assert_str_eq(facts_memory_failed(with(NULL, "asked=5")->facts).where, "");
    ck_assert_ptr_null(text_out_of_memory(&b, with(NULL, "asked=-5 at x.py:1")));
}

/* A step that never ended has little to say; why it did not end stands there. */
TEST(the_verdict_names_the_cause)
{
    struct advice *a = with(NULL, "asked=377487360, times=1, allocated=17040363520, "
                                  "held=17171480576, total=17179869184, at model.py:12");
    ck_assert_str_eq(a->why, "The program failed, and the GPU's memory had no room for 0.38 GB at "
                             "model.py:12: tensors held 17.0 of 17.2 GB.");
    ck_assert_int_eq(a->memory_remedy.action, ACTION_NEED_LESS_MEMORY);
    a = with(NULL, "asked=377487360, times=1, allocated=16040363520, held=17171480576, "
                   "total=17179869184");
    ck_assert_int_eq(a->memory_remedy.action, ACTION_JOIN_FREE_MEMORY);
    ck_assert_ptr_nonnull(strstr(a->next, a->memory_words[FRAMEWORK_CUDA]));
}

/* The program caught the error and went on. */
TEST(a_program_that_succeeds_did_not_end_so)
{
    struct text b;
    struct advice *a = with(NULL, NULL);
    ck_assert_ptr_null(text_ended(&b, a));
}
