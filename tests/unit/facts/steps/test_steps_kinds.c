/* Steps without marks, in loops of many kinds. Each is recorded in four ways: the name of the
 * optimizer's kernel is known or not, and batches and losses are copied or not. The analysis must
 * find the loop's steps or report that it doubts them. */
#include "tests/unit/test.h"
#include "tests/unit/build_timeline.h"

#include <stdarg.h>

struct tape {
    struct builder b;
    int64_t at, gpu;
    bool known, copies; /* the optimizer's name; batches and losses */
    int steps;          /* so many were written */
};

static void work(struct tape *t, int64_t us, int grid, const char *name, ...)
{
    char text[64];
    va_list args;
    va_start(args, name);
    vsnprintf(text, sizeof text, name, args);
    va_end(args);
    if (t->gpu < t->at + US(6))
        t->gpu = t->at + US(6);
    int64_t correlation = build_api(&t->b, "cudaLaunchKernel", t->at, CALL_NS);
    build_kernel_of(&t->b, text, correlation, t->gpu, US(us), grid);
    t->gpu += US(us) + 500;
    t->at += US(5);
}

static void copy(struct tape *t, int64_t kind, int64_t src, int64_t dst, int64_t bytes)
{
    if (!t->copies)
        return;
    if (kind == 2) /* to the host: when all is done */
        t->at = t->gpu > t->at ? t->gpu : t->at;
    if (t->gpu < t->at + US(6))
        t->gpu = t->at + US(6);
    build_copy(&t->b, kind, src, dst, true, bytes, t->at, CALL_NS, t->gpu, US(3));
    t->gpu += US(4);
    t->at += US(5);
}

static void batch(struct tape *t)
{
    copy(t, 1, 2, 3, 1 << 20);
}

static void loss(struct tape *t)
{
    work(t, 4, 8, "loss_sum");
    copy(t, 2, 3, 2, 4);
}

static void forward(struct tape *t, const char *model, int layers, int grid)
{
    work(t, 9, grid, "%s_embed", model);
    for (int i = 0; i < layers; i++) {
        work(t, 5, grid, "%s_norm", model);
        work(t, 40, grid, "%s_matmul_up", model);
        work(t, 8, grid, "%s_gelu", model);
        work(t, 40, grid, "%s_matmul_down", model);
    }
    work(t, 30, grid, "%s_head", model);
}

static void backward(struct tape *t, const char *model, int layers, int grid)
{
    work(t, 50, grid, "%s_head_back", model);
    for (int i = 0; i < layers; i++) {
        work(t, 70, grid, "%s_matmul_down_back", model);
        work(t, 9, grid, "%s_gelu_back", model);
        work(t, 70, grid, "%s_matmul_up_back", model);
        work(t, 9, grid, "%s_norm_back", model);
    }
    work(t, 12, grid, "%s_embed_back", model);
}

static void update(struct tape *t, const char *model, int tensors)
{
    work(t, 6, 16, "%s_norm_of_all", model);
    for (int i = 0; i < tensors; i++)
        work(t, 10, 32, "%s_%s", model, t->known ? "adamw_kernel" : "kernel_7");
}

static void train(struct tape *t, const char *model, int layers, int grid)
{
    batch(t);
    forward(t, model, layers, grid);
    loss(t);
    backward(t, model, layers, grid);
    update(t, model, 4);
    t->at += US(60);
}

/* ---- the loops ---- */

static void plain(struct tape *t)
{
    for (int i = 0; i < 30; i++, t->steps++)
        train(t, "m", 12, 64);
}

static void accumulation(struct tape *t)
{
    for (int i = 0; i < 20; i++, t->steps++) {
        for (int k = 0; k < 4; k++) {
            batch(t);
            forward(t, "m", 8, 64);
            loss(t);
            backward(t, "m", 8, 64);
        }
        update(t, "m", 4);
    }
}

static void validation(struct tape *t)
{
    for (int i = 0; i < 40; i++, t->steps++) {
        train(t, "m", 6, 64);
        for (int k = 0; i % 8 == 7 && k < 6; k++) {
            batch(t);
            forward(t, "m", 6, 64);
            loss(t);
        }
    }
}

static void validation_each(struct tape *t)
{
    for (int i = 0; i < 30; i++, t->steps++) {
        train(t, "m", 6, 64);
        for (int k = 0; i % 2 && k < 8; k++) {
            batch(t);
            forward(t, "m", 6, 96);
            loss(t);
        }
    }
}

static void sampling(struct tape *t)
{
    for (int i = 0; i < 40; i++, t->steps++) {
        train(t, "m", 12, 64);
        for (int k = 0; i % 10 == 9 && k < 48; k++) {
            forward(t, "m", 12, 4);
            copy(t, 2, 3, 2, 1024);
        }
    }
}

static void checkpoints(struct tape *t)
{
    for (int i = 0; i < 30; i++, t->steps++) {
        train(t, "m", 8, 64);
        for (int k = 0; i % 10 == 9 && k < 40; k++)
            copy(t, 2, 3, 2, 1 << 20);
        t->at += i % 10 == 9 ? MS(20) : 0;
    }
}

static void two_models(struct tape *t)
{
    for (int i = 0; i < 30; i++, t->steps++) {
        batch(t);
        forward(t, "g", 6, 64);
        forward(t, "d", 4, 64);
        backward(t, "d", 4, 64);
        update(t, "d", 3);
        forward(t, "d", 4, 64);
        loss(t);
        backward(t, "d", 4, 64);
        backward(t, "g", 6, 64);
        update(t, "g", 3);
    }
}

/* Each round plays 32 moves, then learns from them in 4 updates, which are the steps. */
static void rollout(struct tape *t)
{
    for (int i = 0; i < 12; i++) {
        for (int k = 0; k < 32; k++) {
            copy(t, 1, 2, 3, 4096);
            forward(t, "p", 3, 2);
            copy(t, 2, 3, 2, 64);
        }
        for (int k = 0; k < 4; k++, t->steps++)
            train(t, "p", 3, 64);
    }
}

static void inference_after(struct tape *t)
{
    for (int i = 0; i < 20; i++, t->steps++)
        train(t, "m", 8, 64);
    for (int k = 0; k < 60; k++) {
        copy(t, 1, 2, 3, 4096);
        forward(t, "m", 8, 16);
        copy(t, 2, 3, 2, 4096);
    }
}

static void other_shapes_first(struct tape *t)
{
    for (int i = 0; i < 5; i++, t->steps++)
        train(t, "m", 8, 16 + 8 * i);
    for (int i = 0; i < 25; i++, t->steps++)
        train(t, "m", 8, 64);
}

static void pipeline(struct tape *t)
{
    for (int i = 0; i < 20; i++, t->steps++) {
        for (int k = 0; k < 4; k++) {
            work(t, 20, 24, "ncclDevKernel_SendRecv");
            forward(t, "stage", 4, 64);
        }
        for (int k = 0; k < 4; k++) {
            backward(t, "stage", 4, 64);
            work(t, 20, 24, "ncclDevKernel_SendRecv");
        }
        loss(t);
        update(t, "stage", 2);
    }
}

static void varying_length(struct tape *t)
{
    for (int i = 0; i < 30; i++, t->steps++) {
        int length = 8 + i * 37 % 13;
        batch(t);
        for (int k = 0; k < length; k++) {
            work(t, 12, 32, "cell_matmul");
            work(t, 5, 32, "cell_gates");
        }
        work(t, 20, 64, "classify");
        loss(t);
        for (int k = 0; k < length; k++) {
            work(t, 20, 32, "cell_matmul_back");
            work(t, 8, 32, "cell_gates_back");
        }
        work(t, 20, 64, "classify_back");
        update(t, "m", 3);
    }
}

/* Four different kernels in all. */
static void few_kernels(struct tape *t)
{
    for (int i = 0; i < 40; i++, t->steps++) {
        batch(t);
        for (int k = 0; k < 10; k++)
            work(t, 30, 64, "matmul");
        work(t, 6, 64, "softmax");
        for (int k = 0; k < 10; k++)
            work(t, 60, 64, "matmul_back");
        work(t, 9, 16, t->known ? "sgd_update" : "axpy");
        copy(t, 2, 3, 2, 4);
    }
}

/* A step of a few operations, and after many a pass over all batches, forward alone, that takes
 * longer than the steps. */
static void small_with_epochs(struct tape *t)
{
    for (int epoch = 0; epoch < 6; epoch++) {
        for (int i = 0; i < 60; i++, t->steps++) {
            work(t, 20, 8, "hidden");
            work(t, 5, 4, "output");
            work(t, 4, 1, "loss_and_gradient");
            work(t, 10, 2, "output_back");
            work(t, 30, 16, "hidden_back");
            for (int k = 0; k < 4; k++)
                work(t, 4, 2 + k, t->known ? "sgd_kernel" : "kernel_7");
            copy(t, 2, 3, 2, 4);
        }
        for (int i = 0; i < 160; i++) {
            work(t, 20, 8, "hidden");
            work(t, 5, 4, "output");
            work(t, 4, 1, "count_correct");
            copy(t, 2, 3, 2, 4);
        }
    }
}

/* ---- what is found ---- */

struct kind {
    const char *name;
    void (*loop)(struct tape *t);
};

static const struct kind kinds[] = {
    {"plain", plain},
    {"accumulation", accumulation},
    {"validation", validation},
    {"validation of each second step", validation_each},
    {"sampling", sampling},
    {"checkpoints", checkpoints},
    {"two models", two_models},
    {"rollout", rollout},
    {"inference after", inference_after},
    {"other shapes first", other_shapes_first},
    {"pipeline", pipeline},
    {"varying length", varying_length},
    {"few kernels", few_kernels},
    {"small with epochs", small_with_epochs},
};
enum { KINDS = sizeof kinds / sizeof *kinds, DOUBT_PCT = 70 };

/* Returns whether the steps were found; ends the test where wrong ones are not doubted. */
static bool found(const struct kind *kind, bool known, bool copies)
{
    struct tape t = {.b = build_start(), .at = MS(1), .known = known, .copies = copies};
    kind->loop(&t);
    const struct steps *s = &build_analyze(&t.b)->facts->steps;
    bool right = s->source == STEPS_DETECTED && abs((int)s->count - t.steps) <= 2;
    bool doubted = s->source != STEPS_DETECTED || (s->confidence * 100 < DOUBT_PCT && s->doubt);
    ck_assert_msg(right || doubted, "%s: %zu steps, not %d, and confidence %.2f", kind->name,
                  s->count, t.steps, s->confidence);
    return right;
}

TEST_EACH(loops_with_a_known_optimizer, 0, KINDS)
{
    ck_assert(found(&kinds[_i], true, true));
    ck_assert(found(&kinds[_i], true, false));
}

TEST_EACH(without_a_known_optimizer_wrong_steps_are_doubted, 0, KINDS)
{
    found(&kinds[_i], false, true);
    found(&kinds[_i], false, false);
}

TEST(steps_are_those_that_the_user_gives)
{
    static const struct {
        const char *key, *value;
        size_t steps;
    } given[] = {{"steps.kernel", "head_back", 79}, {"steps.count", "20", 20}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        struct tape t = {.b = build_start(), .at = MS(1)};
        build_meta(&t.b, given[i].key, given[i].value);
        accumulation(&t);
        const struct steps *s = &build_analyze(&t.b)->facts->steps;
        ck_assert_uint_ge(s->count + 1, given[i].steps);
        ck_assert_uint_le(s->count, given[i].steps);
        ck_assert_ptr_null(s->doubt);
    }
}
