/* Time by line of the program: to which line a sample of a stack is charged, and whose line that
 * is. */
#include "analyzer/facts/lines.h"
#include "tests/unit/rule_case.h"

enum { STEPS = 24, USED = STEPS - 1 };

#define PACKAGES "/x/lib/python3.11/site-packages/"

static int64_t stacks, samples;

static int64_t frame(struct builder *b, int64_t caller, const char *file, const char *function,
                     int64_t line)
{
    struct row_stack r = {++stacks, caller, build_text(b, file), build_text(b, function), line, 0};
    build_put(b, ROW_STACK, &r);
    return r.id;
}

static void looks_of(struct builder *b, int64_t stack, int64_t state, const char *call,
                     int64_t from, int64_t to, int64_t looks)
{
    struct row_stack_sample r = {
        ++samples, 1, b->thread, from, to, looks, state, *call ? build_text(b, call) : 0, stack};
    build_put(b, ROW_STACK_SAMPLE, &r);
}

static void look(struct builder *b, int64_t stack, int64_t state, const char *call, int64_t at)
{
    looks_of(b, stack, state, call, at, at, 1);
}

static struct builder start(void)
{
    stacks = samples = 0;
    return build_start();
}

/* 4 ms of work, then 6 ms in which the GPU idles and the host does other work. */
static int64_t step(struct builder *b, int i)
{
    int64_t at = MS(10 * i);
    build_range(b, "step", at, at + MS(10));
    build_kernel(b, "k", at + US(10), at + US(20), MS(4));
    return at;
}

static int64_t in_subprocess(struct builder *b)
{
    int64_t top = frame(b, 0, "/home/me/train.py", "<module>", 30);
    int64_t own = frame(b, top, "/home/me/train.py", "memory_map", 9);
    int64_t run = frame(b, own, "/x/lib/python3.11/subprocess.py", "run", 548);
    return frame(b, run, "/x/lib/python3.11/selectors.py", "_PollLikeSelector.select", 415);
}

/* A trace tells in which function, and what that calls stands for the line. */
TEST(calls_stand_for_lines)
{
    for (int trace = 0; trace < 2; trace++) {
        struct builder b = start();
        int64_t own = frame(&b, 0, "/home/me/train.py", "train", 30);
        int64_t save = frame(&b, own, PACKAGES "torch/serialization.py", "save", 9);
        int64_t forward = frame(&b, own, PACKAGES "torch/nn/linear.py", "forward", 9);
        for (int i = 0; i < STEPS; i++) {
            int64_t at = step(&b, i);
            look(&b, save, STACK_RUNNING, "", at + MS(5));
            look(&b, forward, STACK_RUNNING, "", at + MS(9));
            if (trace)
                build_range_in(&b, "python", "train.py(30): train", 1, at, at + 1);
        }
        const struct lines *l = facts_lines(build_analyze(&b)->facts, LINES_STEP);
        ck_assert_uint_eq(l->count, trace ? 2 : 1);
    }
}

/* Looks while the GPU idles count, and share its idle time; looks while it works do not. */
TEST(gaps_are_charged)
{
    struct builder b = start();
    char text[256];
    int64_t sleeps = in_subprocess(&b);
    int64_t computes = frame(&b, 0, "/home/me/train.py", "Net.<locals>.more", 20);
    int64_t launches = frame(&b, 0, "/home/me/train.py", "<module>", 5);
    for (int i = 0; i < STEPS; i++) {
        int64_t at = step(&b, i);
        look(&b, launches, STACK_RUNNING, "", at + MS(2));
        look(&b, sleeps, STACK_ASLEEP, "wait4", at + MS(5));
        looks_of(&b, sleeps, STACK_ASLEEP, "wait4", at + MS(6), at + MS(7), 2);
        look(&b, computes, i % 4 ? STACK_RUNNING : STACK_READY, "", at + MS(9));
    }
    const struct facts *f = build_analyze(&b)->facts;
    const struct lines *l = facts_lines(f, LINES_STEP);
    ck_assert_int_eq(facts_line_looks(f), 5 * STEPS);
    ck_assert_uint_eq(l->count, 2);
    ck_assert_int_eq(l->looks, 4 * USED);
    ck_assert_int_eq(l->ns, f->breakdown_ns[PART_IDLE_HOST] + f->breakdown_ns[PART_IDLE_LAUNCH]);
    const struct line *x = &l->at[0], *y = &l->at[1];
    ck_assert_int_eq(x->looks, 3 * USED);
    ck_assert(llabs(x->ns - f->breakdown_ns[PART_IDLE_HOST] * 3 / 4) < 10 &&
              llabs(y->ns - f->breakdown_ns[PART_IDLE_HOST] / 4) < 10);
    ck_assert_str_eq(x->place, "train.py:9");
    ck_assert_str_eq(x->called, "subprocess.run");
    ck_assert_str_eq(x->innermost, "selectors._PollLikeSelector.select");
    ck_assert_int_eq(x->does, LINE_SLEEPS);
    ck_assert_str_eq(line_text(x, text, sizeof text),
                     "memory_map() train.py:9, in subprocess.run (waits for another process)");
    ck_assert_str_eq(line_text(y, text, sizeof text), "more() train.py:20 (computes)");
    ck_assert(y->does_ns[LINE_STARVES] > 0 && y->does_ns[LINE_COMPUTES] > y->does_ns[LINE_STARVES]);
    int64_t ns;
    ck_assert_ptr_eq(facts_line_of(f, 1u << PART_IDLE_HOST, &ns), x);
    ck_assert_int_eq(ns, x->part_ns[PART_IDLE_HOST]);
    ck_assert_ptr_null(facts_line_of(f, 1u << PART_IDLE_INPUT, &ns));
}

/* A comprehension is part of the function around it: together they take what neither takes alone. */
TEST(comprehensions_belong_to_their_function)
{
    struct builder b = start();
    int64_t own = frame(&b, 0, "/home/me/train.py", "score", 20);
    int64_t sums = frame(&b, own, "/home/me/train.py", "score.<locals>.<genexpr>", 21);
    int64_t pairs = frame(&b, own, "/home/me/train.py", "score.<locals>.<listcomp>", 22);
    int64_t top = frame(&b, 0, "/home/me/train.py", "<genexpr>", 30);
    for (int i = 0; i < STEPS; i++) {
        int64_t at = step(&b, i);
        look(&b, sums, STACK_RUNNING, "", at + MS(5));
        look(&b, pairs, STACK_RUNNING, "", at + MS(6));
        look(&b, top, STACK_RUNNING, "", at + MS(7));
    }
    const struct lines *l = facts_lines(build_analyze(&b)->facts, LINES_STEP);
    ck_assert_uint_eq(l->count, 3);
    for (size_t i = 0; i < l->count; i++) {
        ck_assert_str_eq(l->at[i].function, l->at[i].number == 30 ? "" : "score");
        if (l->at[i].number != 30)
            ck_assert(l->at[i].function_from == 21 && l->at[i].function_to == 22);
    }
}

/* A look that lasted counts only with the part of it that lies in a gap. */
TEST(long_looks_are_cut)
{
    struct builder b = start();
    int64_t sleeps = in_subprocess(&b);
    for (int i = 0; i < STEPS; i++) {
        int64_t at = step(&b, i); /* looks at 3, 4, 5, 6 ms; the GPU idles from 4.02 on */
        looks_of(&b, sleeps, STACK_ASLEEP, "nanosleep", at + MS(3), at + MS(6), 4);
    }
    const struct lines *l = facts_lines(build_analyze(&b)->facts, LINES_STEP);
    ck_assert_int_eq(l->looks, 2 * USED);
}

TEST(few_looks_say_nothing)
{
    struct builder b = start();
    int64_t sleeps = in_subprocess(&b);
    for (int i = 0; i < STEPS; i++)
        if (step(&b, i) >= 0 && i > 4)
            look(&b, sleeps, STACK_ASLEEP, "wait4", MS(10 * i + 6));
    const struct facts *f = build_analyze(&b)->facts;
    ck_assert_int_eq(facts_lines(f, LINES_STEP)->looks, STEPS - 6);
    ck_assert_uint_eq(facts_lines(f, LINES_STEP)->count, 0);
}

/* What waits for the GPU in a call belongs to the waits: the GPU works meanwhile. */
TEST(waits_are_charged)
{
    struct builder b = start();
    int64_t own = frame(&b, 0, "/home/me/train.py", "<module>", 7);
    int64_t waits = frame(&b, own, PACKAGES "torch/_tensor.py", "Tensor.item", 100);
    for (int i = 0; i < STEPS; i++) {
        int64_t at = step(&b, i);
        build_api(&b, "cudaStreamSynchronize", at + MS(1), MS(3));
        look(&b, waits, STACK_ASLEEP, "", at + MS(2));
    }
    const struct facts *f = build_analyze(&b)->facts;
    const struct lines *l = facts_lines(f, LINES_WAITS);
    ck_assert_uint_eq(l->count, 1);
    ck_assert_int_eq(l->at[0].ns, MS(3));
    ck_assert_str_eq(l->at[0].called, "torch.Tensor.item");
    ck_assert_uint_eq(facts_lines(f, LINES_STEP)->count, 0);
}

/* Whose line: the user's own; else that of a package, but not PyTorch's, Python's or a command's.
 */
TEST(lines_are_the_users)
{
    static const struct {
        const char *file, *function;
    } inner[] = {{PACKAGES "torch/nn/modules/module.py", "Module._call_impl"},
                 {PACKAGES "torch/nn/modules/linear.py", "Linear.forward"},
                 {"<frozen importlib._bootstrap>", "_call_with_frames_removed"}};
    struct builder b = start();
    int64_t own = frame(&b, 0, "/home/me/src/net.py", "Net.forward", 44);
    int64_t package = frame(&b, 0, "/x/venv/bin/torchrun", "<module>", 8);
    package = frame(&b, package, PACKAGES "transformers/trainer.py", "Trainer.train", 2300);
    int64_t none = frame(&b, 0, "/usr/lib/python3.11/threading.py", "Thread.run", 1);
    for (size_t i = 0; i < 3; i++) {
        own = frame(&b, own, inner[i].file, inner[i].function, 10);
        package = frame(&b, package, inner[i].file, inner[i].function, 10);
        none = frame(&b, none, inner[i].file, inner[i].function, 10);
    }
    for (int i = 0; i < STEPS; i++) {
        int64_t at = step(&b, i);
        look(&b, own, STACK_RUNNING, "", at + MS(5));
        look(&b, own, STACK_RUNNING, "", at + MS(6));
        look(&b, package, STACK_DISK, "read", at + MS(7));
        look(&b, none, STACK_RUNNING, "", at + MS(8));
    }
    const struct lines *l = facts_lines(build_analyze(&b)->facts, LINES_STEP);
    ck_assert_uint_eq(l->count, 2);
    ck_assert_str_eq(l->at[0].place, "net.py:44");
    ck_assert_str_eq(l->at[0].function, "Net.forward");
    ck_assert_str_eq(l->at[0].called, "torch.Linear.forward");
    ck_assert_str_eq(l->at[1].place, "transformers/trainer.py:2300");
    ck_assert_str_eq(l->at[1].function, "transformers.Trainer.train");
    ck_assert_int_eq(l->at[1].does, LINE_DISK);
}

/* Lines of one function are named with what they take together. */
TEST(functions_are_summed)
{
    struct builder b = start();
    int64_t f[3];
    for (int i = 0; i < 3; i++)
        f[i] = frame(&b, 0, "/home/me/train.py", i < 2 ? "tokens" : "other", 10 + i);
    for (int i = 0; i < STEPS; i++) {
        step(&b, i);
        for (int k = 0; k < 3; k++)
            look(&b, f[k], STACK_RUNNING, "", MS(10 * i + 5 + k));
    }
    const struct lines *l = facts_lines(build_analyze(&b)->facts, LINES_STEP);
    ck_assert_uint_eq(l->count, 3);
    for (size_t i = 0; i < 3; i++) {
        bool other = strcmp(l->at[i].function, "other") == 0;
        ck_assert_int_eq(l->at[i].function_ns / MS(1), l->at[i].ns * (other ? 1 : 2) / MS(1));
        ck_assert_int_eq(l->at[i].function_from, other ? 12 : 10);
        ck_assert_int_eq(l->at[i].function_to, other ? 12 : 11);
    }
}

/* A loader's worker is charged with what it does in the user's code, not with waiting for work. */
TEST(workers_are_apart)
{
    struct builder b = start();
    int64_t worker = frame(&b, 0, PACKAGES "torch/utils/data/_utils/worker.py", "_worker_loop", 1);
    int64_t waits =
        frame(&b, worker, "/x/lib/python3.11/multiprocessing/queues.py", "Queue.get", 1);
    int64_t item = frame(&b, worker, "/home/me/data.py", "Molecules.__getitem__", 17);
    item = frame(&b, item, PACKAGES "numpy/lib/npyio.py", "load", 400);
    build_thread(&b, 9, "worker");
    for (int i = 0; i < STEPS; i++) {
        step(&b, i);
        b.thread = 9;
        look(&b, item, STACK_RUNNING, "", MS(10 * i + 1));
        look(&b, waits, STACK_ASLEEP, "read", MS(10 * i + 6));
        b.thread = 1;
    }
    const struct facts *f = build_analyze(&b)->facts;
    const struct lines *l = facts_lines(f, LINES_WORKERS);
    ck_assert_int_eq(l->looks, STEPS);
    ck_assert_uint_eq(l->count, 1);
    ck_assert_str_eq(l->at[0].place, "data.py:17");
    ck_assert_str_eq(l->at[0].called, "numpy.load");
    ck_assert_uint_eq(facts_lines(f, LINES_STEP)->looks, 0);
}

/* Without a GPU the whole step is charged, by what the training thread does then. */
TEST(cpu_steps_are_charged)
{
    struct builder b = start();
    int64_t sleeps = in_subprocess(&b), own = frame(&b, 0, "/home/me/train.py", "<module>", 12);
    int64_t computes = frame(&b, own, PACKAGES "torch/_tensor.py", "Tensor.backward", 600);
    build_meta(&b, "torch.version", "2.9.0");
    for (int i = 0; i < STEPS; i++) {
        int64_t at = MS(100 + 10 * i);
        build_range_at(&b, "gpuprof.step", 0, at, at + MS(10));
        build_range(&b, "backward", at + MS(1), at + MS(5));
        build_range(&b, "optimizer.step", at + MS(9), at + MS(10));
        for (int k = 0; k < 4; k++)
            look(&b, computes, STACK_RUNNING, "", at + MS(1.5 + k));
        looks_of(&b, sleeps, STACK_ASLEEP, "wait4", at + MS(5.5), at + MS(8.5), 4);
    }
    struct advice *a = build_analyze(&b);
    const struct lines *l = facts_lines(a->facts, LINES_STEP);
    ck_assert(a->facts->on_cpu);
    ck_assert_uint_eq(l->count, 2);
    ck_assert_int_eq(l->ns, a->facts->step_ns);
    int64_t ns;
    ck_assert_str_eq(facts_line_of(a->facts, 1u << PART_BACKWARD, &ns)->place, "train.py:12");
    ck_assert_int_eq(ns, a->facts->breakdown_ns[PART_BACKWARD]);
    ck_assert_msg(strstr(a->why,
                         "per step pass in memory_map() train.py:9, in subprocess.run (waits for "
                         "another process)"),
                  "%s", a->why);
    ck_assert_msg(!strstr(a->why, "Tensor.backward"), "%s", a->why);
    ck_assert_msg(strstr(a->next, "Look at memory_map(): train.py:9: it waits"), "%s", a->next);
}

/* A program whose loop a library runs: the library's lines stand for the one of the user's. Not so for a library whose
 * model the program calls, or that wraps the backward pass alone, and where the program's own lines hold more than a tenth of the looks. */
TEST(a_library_runs_the_loop)
{
    enum { RUNS, INFERS, WRAPS, PROGRAM, CASES };
    for (int c = 0; c < CASES; c++) {
        struct builder b = start();
        int64_t line = frame(&b, 0, "/home/me/train.py", "<module>", 7);
        int64_t wrapper = frame(&b, line, "/x/lib/python3.11/contextlib.py", "inner", 81);
        int64_t learn = frame(&b, wrapper, PACKAGES "agents/ppo.py", "PPO.learn", 40);
        int64_t collect = frame(&b, learn, PACKAGES "agents/policy.py", "collect", 20);
        int64_t play = frame(&b, collect, PACKAGES "games/pole.py", "Pole.step", 8);
        int64_t back = frame(&b, learn, PACKAGES "torch/_tensor.py",
                             c == INFERS ? "Tensor.item" : "Tensor.backward", 600);
        int64_t update = frame(&b, learn, PACKAGES "torch/optim/adam.py", "Adam.step", 240);
        int64_t own = frame(&b, line, "/home/me/train.py", "log", 3);
        for (int i = 0; i < STEPS; i++) {
            int64_t at = step(&b, i);
            look(&b, play, STACK_RUNNING, "", at + MS(5));
            look(&b, back, STACK_RUNNING, "", at + MS(8));
            if ((c == RUNS || c == PROGRAM) && i % 6 == 0)
                look(&b, update, STACK_RUNNING, "", at + MS(7));
            if (c == PROGRAM)
                look(&b, own, STACK_RUNNING, "", at + MS(9));
        }
        const struct lines *l = facts_lines(build_analyze(&b)->facts, LINES_STEP);
        ck_assert_uint_eq(l->count, c == INFERS || c == WRAPS ? 1 : 2);
        if (c == RUNS) {
            const struct line *x =
                strcmp(l->at[0].place, "agents/policy.py:20") == 0 ? &l->at[0] : &l->at[1];
            ck_assert_str_eq(x->place, "agents/policy.py:20");
            ck_assert_str_eq(x->called, "games.Pole.step");
        } else {
            ck_assert_str_eq(l->at[0].file, "/home/me/train.py");
        }
    }
}

/* The library calls functions of the program back, as Lightning and the Trainer do: these keep their lines, also where
 * they call the library in turn, and the library's lines stand for the rest. A program that trains in what is called
 * back runs its loop itself. */
TEST(a_library_calls_the_program_back)
{
    for (int itself = 0; itself < 2; itself++) {
        struct builder b = start();
        int64_t line = frame(&b, 0, "/home/me/train.py", "main", 50);
        int64_t fit = frame(&b, line, PACKAGES "loops/trainer.py", "Trainer.fit", 40);
        int64_t writes = frame(&b, fit, PACKAGES "loops/logger.py", "Logger.write", 20);
        int64_t own = frame(&b, fit, "/home/me/train.py", "Net.training_step", 30);
        int64_t log = frame(&b, own, PACKAGES "loops/module.py", "Module.log", 8);
        int64_t back =
            frame(&b, itself ? own : fit, PACKAGES "torch/_tensor.py", "Tensor.backward", 600);
        int64_t update =
            frame(&b, itself ? own : fit, PACKAGES "torch/optim/adam.py", "Adam.step", 240);
        for (int i = 0; i < STEPS; i++) {
            int64_t at = step(&b, i);
            look(&b, writes, STACK_RUNNING, "", at + MS(5));
            look(&b, log, STACK_RUNNING, "", at + MS(6));
            look(&b, update, STACK_RUNNING, "", at + MS(7));
            look(&b, back, STACK_RUNNING, "", at + MS(8));
        }
        const struct lines *l = facts_lines(build_analyze(&b)->facts, LINES_STEP);
        int writer = 0, caller = 0, stepper = 0;
        for (size_t i = 0; i < l->count; i++) {
            writer += strcmp(l->at[i].place, "loops/logger.py:20") == 0;
            caller += strcmp(l->at[i].place, "train.py:50") == 0;
            stepper += strcmp(l->at[i].place, "train.py:30") == 0;
        }
        ck_assert_int_eq(writer, !itself);
        ck_assert_int_eq(caller, itself);
        ck_assert_int_eq(stepper, 1);
    }
}

/* A sampler of a library, which a loader in a wrapper asks: it stands behind the line, and no worker would do its work.
 * So does a function that joins samples, which a worker would do. */
TEST(what_a_loader_calls_of_others)
{
    for (int joins = 0; joins < 2; joins++) {
        struct builder b = start();
        int64_t line = frame(&b, 0, "/home/me/train.py", "main", 50);
        int64_t in = frame(&b, line, PACKAGES "loops/data.py", "Shard.__iter__", 8);
        in = frame(&b, in, PACKAGES "torch/utils/data/dataloader.py", "_Iter.__next__", 725);
        in = joins ? frame(&b, in, PACKAGES "torch/utils/data/_utils/fetch.py", "_Fetch.fetch", 54)
                   : frame(&b, in, PACKAGES "torch/utils/data/dataloader.py", "_Iter._next_index",
                           715);
        in = frame(&b, in, PACKAGES "texts/batches.py",
                   joins ? "Joiner.__call__" : "Unique.__iter__", 5);
        in = frame(&b, in, PACKAGES "texts/rows.py", "Rows.read", 90);
        for (int i = 0; i < STEPS; i++)
            look(&b, in, STACK_RUNNING, "", step(&b, i) + MS(5));
        const struct lines *l = facts_lines(build_analyze(&b)->facts, LINES_STEP);
        ck_assert_uint_eq(l->count, 1);
        ck_assert_str_eq(l->at[0].called,
                         joins ? "texts.Joiner.__call__" : "texts.Unique.__iter__");
        ck_assert(l->at[0].loads);
        ck_assert(l->at[0].draws == !joins);
    }
}
