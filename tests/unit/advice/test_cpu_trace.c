/* Traces of PyTorch's profiler from machines without a GPU: whether the program trained there, the
 * parts of its steps, and the verdict. */
#include "tests/unit/rule_case.h"

#define BACKWARD "autograd::engine::evaluate_function: AddmmBackward0"

/* What is other than in the plain case. */
static struct varied {
    int64_t backward_thread; /* 0: the one that marks the steps */
    const char *devices;     /* of the trace's header; NULL: it has none */
    bool exchange;           /* gloo's collectives on a thread of their own */
    const char *loader;
    bool exported; /* by gpuprof */
    bool calls;    /* of CUDA */
} varied;

/* A step of 10 ms: data 5, forward 1, backward 2 in two nodes, 1 of nothing, optimizer 1. */
static void step_at(struct builder *b, int i)
{
    int64_t at = MS(100) + MS(10) * i;
    char name[32];
    snprintf(name, sizeof name, "ProfilerStep#%d", i);
    build_range_at(b, name, 0, at, at + MS(10));
    build_range_at(b, varied.loader, 1, at, at + MS(5));
    build_range_at(b, "aten::linear", 1, at + MS(5.2), at + MS(5.8));
    b->thread = varied.backward_thread ? varied.backward_thread : 1;
    build_range_at(b, BACKWARD, 1, at + MS(6), at + MS(7));
    build_range_at(b, BACKWARD, 1, at + MS(7.1), at + MS(8));
    b->thread = 1;
    if (varied.calls)
        build_api(b, "cudaLaunchKernel", at + MS(5.3), MS(0.1));
    build_range_at(b, "Optimizer.step#Adam.step", 1, at + MS(9), at + MS(10));
    if (!varied.exchange)
        return;
    b->thread = 3;
    build_range_at(b, "gloo:all_reduce", 1, at + MS(7), at + MS(9.5));
    b->thread = 1;
}

static const struct advice *answer(struct builder *b, struct varied v)
{
    varied = v;
    *b = build_start();
    build_thread(b, 2, "pt_autograd_0");
    build_thread(b, 3, "gloo");
    build_meta(b, "source", "kineto");
    if (v.devices)
        build_meta(b, "trace.devices", v.devices);
    if (v.exported)
        build_meta(b, "trace.exported", "1");
    for (int i = 0; i < CASE_STEPS; i++)
        step_at(b, i);
    return build_analyze(b);
}

static void part(const struct advice *a, enum part p, int64_t ns)
{
    ck_assert_msg(llabs(a->facts->breakdown_ns[p] - ns) <= 5, "%s is %lld, not %lld", part_key[p],
                  (long long)a->facts->breakdown_ns[p], (long long)ns);
}

#define ITSELF "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
#define OTHERS "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"

TEST(parts_of_its_steps)
{
    struct builder b;
    const struct advice *a = answer(&b, (struct varied){.devices = "0", .loader = ITSELF});
    ck_assert(a->facts->on_cpu);
    ck_assert_int_eq(a->facts->step_ns, MS(10));
    part(a, PART_DATA, MS(5));
    part(a, PART_FORWARD, MS(1));
    part(a, PART_BACKWARD, MS(2)); /* the 0.1 ms between its nodes are its own */
    part(a, PART_OPTIMIZER, MS(1));
    part(a, PART_OTHER, MS(1));
    ck_assert_str_eq(a->verdict_class, "input");
}

TEST(loading_is_a_bound)
{
    struct builder b;
    const struct outcome *o =
        case_outcome(answer(&b, (struct varied){.devices = "0", .loader = ITSELF}), "data-loading");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert(o->upper_bound);
    ck_assert_int_eq(o->saves_high_ns, MS(5));
    ck_assert_ptr_nonnull(strstr(o->summary, "which the training thread makes"));
    o = case_outcome(answer(&b, (struct varied){.devices = "0", .loader = OTHERS}), "data-loading");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert_ptr_null(strstr(o->summary, "which the training thread makes"));
    case_does(o, ACTION_ADD_WORKERS);
}

TEST(waits_for_other_ranks)
{
    struct builder b;
    const struct advice *a =
        answer(&b, (struct varied){.devices = "0", .loader = ITSELF, .exchange = true});
    part(a, PART_BACKWARD, MS(2));
    part(a, PART_EXCHANGE, MS(1)); /* from the backward pass to the optimizer */
    part(a, PART_OTHER, 0);
}

/* A program may leave the machine's GPUs alone. */
TEST(beside_a_gpu)
{
    struct builder b;
    const struct advice *a = answer(&b, (struct varied){.devices = "1", .loader = ITSELF});
    ck_assert(a->facts->on_cpu);
    part(a, PART_BACKWARD, MS(2));
    ck_assert_ptr_null(strstr(a->why, "saw no GPU"));
}

/* A device's backward pass has a thread of its own; a header without the list says nothing; and a
 * program that launches work uses a GPU. */
TEST(others_have_no_answer)
{
    static const struct varied cases[] = {
        {.devices = "0", .loader = ITSELF, .backward_thread = 2},
        {.devices = NULL, .loader = ITSELF},
        {.devices = "1", .loader = ITSELF, .backward_thread = 2},
        {.devices = "1", .loader = ITSELF, .calls = true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct builder b;
        const struct advice *a = answer(&b, cases[i]);
        ck_assert(!a->facts->on_cpu);
        ck_assert(advice_blind(a));
        ck_assert(a->facts->on_device == (cases[i].backward_thread == 2));
        ck_assert(!strstr(a->why, "a thread of its own") == !a->facts->on_device);
    }
}

/* Of a profile without GPU work: the profile itself has the answer. */
TEST(an_export_names_its_profile)
{
    struct builder b;
    const struct advice *a = answer(
        &b,
        (struct varied){.devices = "0", .loader = ITSELF, .backward_thread = 2, .exported = true});
    ck_assert_ptr_nonnull(strstr(a->next, "exported from"));
    a = answer(&b, (struct varied){.devices = "0", .loader = ITSELF, .backward_thread = 2});
    ck_assert_ptr_null(strstr(a->next, "exported from"));
}
