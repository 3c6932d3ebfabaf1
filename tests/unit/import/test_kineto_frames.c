/* Calls of Python functions in a Kineto trace: stacks, samples, and the lines of launches. */
#include "tests/unit/kineto_case.h"
#include "wire/spool_format.h"

#define EVENT(cat, name, tid, ts, dur, args)                                                       \
    "{'ph': 'X', 'cat': '" cat "', 'name': '" name "', 'pid': 1, 'tid': " tid ", 'ts': " ts        \
    ", 'dur': " dur ", 'args': {" args "}},\n"
#define CALL(name, ts, dur) EVENT("python_function", name, "1", ts, dur, "'Python id': 1")
#define FROM(name, ts, dur, line)                                                                  \
    EVENT("python_function", name, "1", ts, dur, "'CallFrom': '" line "', 'Python id': 1")
#define OP(name, tid, ts, dur, number)                                                             \
    EVENT("cpu_op", name, tid, ts, dur, "'External id': 3, 'Sequence number': " number)

static struct memory *read_events(const char *events)
{
    return kineto("{'traceEvents': [%s {'ph': 'M', 'name': 'x'}]}", events);
}

/* "file:line function" of a stack's innermost frame, its callers behind it. */
static const char *stack_text(const struct memory *m, int64_t stack)
{
    static char out[512];
    size_t n = 0;
    out[0] = 0;
    while (stack > 0) {
        const struct row_stack *s = MEMORY_ROW(m, stack, ROW_STACK, stack - 1);
        ck_assert_int_lt(s->caller, s->id);
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%s:%d %s", n ? " < " : "",
                              memory_text(m, s->file), (int)s->line, memory_text(m, s->function));
        stack = s->caller;
    }
    return out;
}

static const struct {
    const char *name, *frame;
    const char *call; /* NULL: it computes */
} names[] = {
    {"train.py(12): main", "train.py:12 main", NULL},
    {"/home/ann/a (1).py(3): <lambda>", "/home/ann/a (1).py:3 <lambda>", NULL},
    {"models/net.py(7): forward", "models/net.py:7 forward", NULL},
    {"threading.py(973): run", "/lib/python3/threading.py:973 run", NULL},
    {"multiprocessing/popen_fork.py(62): _launch",
     "/lib/python3/multiprocessing/popen_fork.py:62 _launch", NULL},
    {"torch/nn/modules/module.py(1553): _call_impl",
     "/site-packages/torch/nn/modules/module.py:1553 _call_impl", NULL},
    {"transformers/trainer.py(9): train", "/site-packages/transformers/trainer.py:9 train", NULL},
    {"<string>(1): <module>", "<string>:1 <module>", NULL},
    {"<built-in method item of Tensor object at 0x7f12>", "<built-in>:0 Tensor.item", NULL},
    {"<built-in method acquire of _thread.lock object at 0x7f12>", "<built-in>:0 lock.acquire",
     "futex"},
    {"<built-in function sleep>", "<built-in>:0 sleep", "nanosleep"},
    {"<built-in method poll of select.poll object at 0x7f12>", "<built-in>:0 poll.poll", "poll"},
    {"<built-in method read of _io.BufferedReader object at 0x7f12>",
     "<built-in>:0 BufferedReader.read", NULL},
    /* no functions */
    {"nn.Module: Linear_0", NULL, NULL},
    {"<built-in method run_backward of torch._C._EngineBase object at 0x7f12>", NULL, NULL},
    {"main", NULL, NULL},
    {"(3): main", NULL, NULL},
    {"a.py(): main", NULL, NULL},
    {"<built-in >", NULL, NULL},
    {"", NULL, NULL},
};

TEST_EACH(names_of_calls, 0, sizeof names / sizeof *names)
{
    char events[1024];
    snprintf(events, sizeof events, CALL("%s", "1000", "1000"), names[_i].name);
    struct memory *m = read_events(events);
    ck_assert_int_eq(m->count[ROW_RANGE], 1);
    ck_assert_int_eq(m->count[ROW_STACK], names[_i].frame ? 1 : 0);
    if (names[_i].frame) {
        ck_assert_str_eq(stack_text(m, 1), names[_i].frame);
        ck_assert_int_eq(m->count[ROW_STACK_SAMPLE], 1);
        const struct row_stack_sample *s = MEMORY_ROW(m, stack_sample, ROW_STACK_SAMPLE, 0);
        ck_assert_int_eq(s->state, names[_i].call ? STACK_ASLEEP : STACK_RUNNING);
        ck_assert_str_eq(memory_text(m, s->call), names[_i].call ? names[_i].call : "");
        ck_assert_int_eq(s->looks, 9); /* a look each 100 us, but at the ends */
    }
}

/* Looks are charged to the innermost call, and the profiler's own to none. What is older than the
 * trace has the line of the profiler's call, which is none. */
TEST(calls_become_stacks)
{
    struct memory *m = read_events(
        CALL("train.py(30): <module>", "1000", "9000") CALL("train.py(20): loop", "1001", "8990")
            CALL("torch/profiler/profiler.py(99): step", "1002", "1000")
                CALL("train.py(5): load", "3000", "2000")
                    CALL("<built-in function sleep>", "3010", "1980")
                        CALL("late.py(1): f", "2500", "100"));
    int64_t loop = 0, load = 0, slept = 0;
    for (int i = 0; i < m->count[ROW_STACK_SAMPLE]; i++) {
        const struct row_stack_sample *s = MEMORY_ROW(m, stack_sample, ROW_STACK_SAMPLE, i);
        const char *text = stack_text(m, s->stack);
        if (strcmp(text, "train.py:0 loop < train.py:0 <module>") == 0)
            loop += s->looks;
        else if (strcmp(text, "<built-in>:0 sleep < train.py:5 load < train.py:0 loop < "
                              "train.py:0 <module>") == 0)
            slept += s->looks;
        else
            load += s->looks;
    }
    ck_assert_int_eq(slept, 19);
    ck_assert_int_le(load, 2);
    ck_assert_int_ge(loop, 58);
    ck_assert_int_le(loop, 61);
    ck_assert_int_eq(m->count[ROW_HEALTH], 1);
    ck_assert_str_eq(memory_text(m, MEMORY_ROW(m, health, ROW_HEALTH, 0)->code),
                     "frames-out-of-order");
}

/* The line of each row of what a thread launches from, in the order of time, behind it its module. */
static const char *launches_from(const struct memory *m)
{
    static char out[1024];
    size_t n = 0;
    for (int i = 0; i < m->count[ROW_LAUNCH_LINE]; i++) {
        const struct row_launch_line *l = MEMORY_ROW(m, launch_line, ROW_LAUNCH_LINE, i);
        n += l->what == SPOOL_LINE_STRETCH
                 ? 0
                 : (size_t)snprintf(out + n, sizeof out - n, "%s%s", n ? "; " : "",
                                    l->stack ? stack_text(m, l->stack) : "none");
    }
    return out;
}

/* Where calls say the line that they come from, the caller is in it until its next call. */
TEST(calls_say_their_line)
{
    struct memory *m =
        read_events(FROM("train.py(3): main", "1000", "900", "boot.c:1")
                        FROM("<built-in function len>", "1100", "5", "train.py:7")
                            FROM("load.py(1): load", "1200", "100", "train.py:9")
                                FROM("<built-in function len>", "1250", "5", "x.py:5"));
    ck_assert_str_eq(launches_from(m), "train.py:3 main; train.py:7 main; "
                                       "load.py:1 load < train.py:9 main; train.py:9 main; none");
}

/* A line stands once for each module that it runs in; a module of PyTorch makes no frame. */
TEST(lines_run_in_modules)
{
    char events[4096];
    snprintf(events, sizeof events, "%s%s%s%s%s",
             FROM("train.py(3): main", "1000", "900", "boot.c:1")
                 FROM("nn.Module: Net_0", "1100", "500", "train.py:7"),
             FROM("torch/nn/modules/module.py(9): _call_impl", "1110", "480",
                  "torch/nn/modules/module.py:5"),
             FROM("net.py(2): forward", "1120", "460", "torch/nn/modules/module.py:12"),
             FROM("nn.Module: Linear_4", "1200", "100", "net.py:3")
                 FROM("nn.Module: Linear_4", "1400", "100", "net.py:3"),
             FROM("torch/optim/sgd.py(80): step", "1700", "100", "train.py:8"));
    struct memory *m = read_events(events);
    ck_assert_str_eq(launches_from(m),
                     "train.py:3 main; train.py:7 main < :0 Net_0; net.py:2 forward < :0 Net_0; "
                     "net.py:3 forward < :0 Linear_4; net.py:3 forward < :0 Net_0; "
                     "net.py:3 forward < :0 Linear_4; net.py:3 forward < :0 Net_0; "
                     "train.py:7 main < :0 Net_0; train.py:7 main < :0 outside a module; "
                     "train.py:8 main < :0 optimizer; "
                     "train.py:8 main < :0 outside a module; none");
}

#define PASSED(ts, number)                                                                         \
    OP("autograd::engine::evaluate_function: MulBackward0", "2", ts, "90", number)

/* Nodes that a second pass goes through again: the graph was kept. */
TEST(passes_through_one_graph)
{
    static const char forward[] = FROM("train.py(3): main", "1000", "9000", "boot.c:1")
        FROM("<built-in function mul>", "1100", "90", "train.py:8")
            OP("aten::mul", "1", "1110", "5", "7") OP("aten::mul", "1", "1120", "5", "8")
                FROM("torch/_tensor.py(5): backward", "2000", "5000", "train.py:9");
    for (int again = 0; again < 2; again++) {
        struct memory *m = kineto("{'traceEvents': [%s %s %s {'ph': 'M', 'name': 'x'}]}", forward,
                                  PASSED("2100", "8") PASSED("2200", "7"),
                                  again ? PASSED("3100", "8") PASSED("3200", "7") : "");
        const char *told = memory_meta(m, "torch.backward.again");
        ck_assert_int_eq(told != NULL, again);
        if (again)
            ck_assert_str_eq(told, "2 passes, 100 % at train.py:9");
    }
}

/* As the hook names them. */
TEST(backward_passes_are_ranges)
{
    struct memory *m =
        read_events(CALL("<built-in method run_backward of torch._C._EngineBase object "
                         "at 0x7f12>",
                         "1000", "500"));
    ck_assert_str_eq(memory_text(m, MEMORY_ROW(m, range, ROW_RANGE, 0)->name), "backward");
    ck_assert_int_eq(m->count[ROW_STACK], 0);
}

/* Calls by the thousand in objects of different addresses have one name. */
TEST(addresses_make_no_names)
{
    struct memory *m =
        read_events(CALL("<built-in method item of Tensor object at 0x7f12>", "1", "1")
                        CALL("<built-in method item of Tensor object at 0x7f34>", "3", "1"));
    ck_assert_int_eq(m->count[ROW_STACK], 1);
    ck_assert_uint_eq(MEMORY_ROW(m, range, ROW_RANGE, 0)->name,
                      MEMORY_ROW(m, range, ROW_RANGE, 1)->name);
}

/* The line that a thread launches from at a time, as "way file:line". */
static const char *line_at(const struct memory *m, int64_t thread, int64_t ns)
{
    static const char *const ways[] = {"stretch", "own", "forward", "backward()", "none"};
    static char out[256];
    const struct row_launch_line *best = NULL;
    for (int i = 0; i < m->count[ROW_LAUNCH_LINE]; i++) {
        const struct row_launch_line *l = MEMORY_ROW(m, launch_line, ROW_LAUNCH_LINE, i);
        if (l->thread == thread && l->start_ns <= ns && (!best || l->start_ns >= best->start_ns))
            best = l;
    }
    const struct row_stack *s =
        best && best->stack ? MEMORY_ROW(m, stack, ROW_STACK, best->stack - 1) : NULL;
    snprintf(out, sizeof out, "%s %s:%d", best ? ways[best->what] : "-",
             s ? memory_text(m, s->file) : "", s ? (int)s->line : 0);
    return out;
}

#define NODE "autograd::engine::evaluate_function: "
TEST(launches_have_lines)
{
    struct memory *m = read_events(
        OP("aten::addmm", "1", "1200", "50", "4") OP("aten::mul", "1", "1600", "50", "5") OP(
            NODE "MulBackward0", "2", "3000", "100", "5") OP("MulBackward0", "2", "3010", "80", "5")
            OP(NODE "AddmmBackward0", "2", "3200", "100",
               "4") EVENT("cpu_op", NODE "AccumulateGrad", "2", "3400", "50", "'External id': 9")
                OP(NODE "CheckpointBackward", "2", "3500", "400", "77") CALL(
                    "train.py(1): step", "1000", "4000") CALL("net.py(5): forward", "1100", "400")
                    CALL("torch/nn/functional.py(3): linear", "1150",
                         "200") CALL("net.py(9): scale", "1550", "200")
                        CALL("torch/_tensor.py(7): backward", "2900", "1500")
                            EVENT("python_function", "net.py(5): forward", "2", "3600", "100", ""));
    const struct row_launch_line *whole = MEMORY_ROW(m, launch_line, ROW_LAUNCH_LINE, 0);
    ck_assert_int_eq(whole->what, SPOOL_LINE_STRETCH);
    ck_assert_int_eq(whole->end_ns - whole->start_ns, 4000000);
    const int64_t zero = 1200000; /* the first event's time */
    static const struct {
        int64_t thread, us;
        const char *line;
    } expected[] = {
        {1, 1050, "own train.py:1"},        {1, 1200, "own net.py:5"},
        {1, 1610, "own net.py:9"},          {1, 2950, "own train.py:1"},
        {2, 3050, "forward net.py:9"},      {2, 3250, "forward net.py:5"},
        {2, 3420, "backward() train.py:1"}, {2, 3550, "backward() train.py:1"},
        {2, 3650, "own net.py:5"},          {2, 3750, "backward() train.py:1"},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        ck_assert_str_eq(line_at(m, expected[i].thread, expected[i].us * 1000 - zero),
                         expected[i].line);
}

/* However long: the looks stay few, because their period doubles. */
TEST(long_traces_have_fewer_looks)
{
    struct memory *m = read_events(CALL("a.py(1): f", "0", "100000000")
                                       CALL("b.py(1): g", "10000000", "60000000"));
    int64_t looks = 0;
    for (int i = 0; i < m->count[ROW_STACK_SAMPLE]; i++)
        looks += MEMORY_ROW(m, stack_sample, ROW_STACK_SAMPLE, i)->looks;
    ck_assert_int_gt(looks, 100000);
    ck_assert_int_lt(looks, 1000000);
}

/* What calls say of the program becomes the facts that the hook would have told. */
static const struct {
    const char *events, *key, *value;
} signs[] = {
    {CALL("train.py(3): step", "1", "50") CALL("<built-in function collect>", "9", "5"),
     "torch.gc.asked", "train.py:3"},
    {CALL("torch/utils/checkpoint.py(9): checkpoint", "9", "5"), "torch.checkpoint", "used"},
    {CALL("torch/nn/functional.py(3): linear", "1", "50")
         CALL("torch/fx/traceback.py(4): format_stack", "9", "5"),
     "torch.anomaly_mode", "True"},
    /* a compiler keeps stacks, too */
    {CALL("torch/_dynamo/output_graph.py(3): create", "1", "50")
         CALL("torch/fx/traceback.py(4): format_stack", "9", "5"),
     "torch.anomaly_mode", NULL},
    {CALL("mine/checkpoint.py(9): checkpoint", "9", "5"), "torch.checkpoint", NULL},
    {CALL("torch/_inductor/cudagraph_trees.py(2408): _run", "9", "5"), "torch.compile",
     "torch.compile(mode='reduce-overhead' or 'max-autotune')"},
};

TEST_EACH(calls_say_facts, 0, sizeof signs / sizeof *signs)
{
    struct memory *m = read_events(signs[_i].events);
    const char *value = memory_meta(m, signs[_i].key);
    ck_assert_int_eq(value != NULL, signs[_i].value != NULL);
    if (value)
        ck_assert_str_eq(value, signs[_i].value);
}

/* A loop that starts workers, one that starts none, and the end of the first. */
TEST(loops_start_workers)
{
    static const char fork[] = CALL("multiprocessing/popen_fork.py(62): _launch", "1200", "90")
        CALL("multiprocessing/popen_fork.py(62): _launch", "1400", "90");
    char events[4096];
    snprintf(events, sizeof events, "%s%s%s%s",
             CALL("train.py(3): epoch", "1000", "9000")
                 CALL("torch/utils/data/dataloader.py(433): _get_iterator", "1100", "500"),
             fork,
             CALL("torch/utils/data/dataloader.py(1608): _shutdown_workers", "3000", "200")
                 CALL("torch/utils/data/dataloader.py(433): _get_iterator", "4000", "500"),
             CALL("multiprocessing/popen_fork.py(62): _launch", "6000", "90"));
    struct memory *m = read_events(events);
    ck_assert_int_eq(m->count[ROW_LOADER], 2);
    const struct row_loader *begin = MEMORY_ROW(m, loader, ROW_LOADER, 0),
                            *end = MEMORY_ROW(m, loader, ROW_LOADER, 1);
    ck_assert_int_eq(begin->what, SPOOL_LOADER_BEGIN);
    ck_assert_int_eq(begin->end_ns - begin->start_ns, 500000);
    ck_assert_int_eq(end->what, SPOOL_LOADER_END);
    ck_assert_str_eq(memory_meta(m, "torch.loader"), "DataLoader(num_workers=2)");
    ck_assert_str_eq(memory_meta(m, "torch.loader.where"), "train.py:3");
}

TEST(facts_have_the_line_of_the_call)
{
    struct memory *m = read_events(FROM("train.py(3): epoch", "1000", "9000", "train.py:40") FROM(
        "<built-in function collect>", "2000", "9", "train.py:8"));
    ck_assert_str_eq(memory_meta(m, "torch.gc.asked"), "train.py:8");
}
