/* gate refuses to compare different work, and fails if the program failed. */
#include "tests/unit/test.h"
#include "tests/unit/gate_case.h"

/* What a step computes, by the command: different work is not compared, whatever the times. */
TEST(test_other_work)
{
    static const struct {
        const char *base, *now, *why; /* NULL: comparable */
        bool per_sample;
        double pct; /* expected ratio, in per cent of more */
    } cases[] = {
        {"./train --batch 64", "./train --batch 64", NULL, false, 0},
        {"./train --num-workers 0 --batch 64", "./train --batch=64 --pin-memory 1", NULL, false, 0},
        {"./train --batch 64", "./train --batch 128", "64 and 128 samples", false, 0},
        {"./train --batch 64", "./train --batch 128", NULL, true, -50},
        {"./train --batch_size 64", "./train --batch-size 128", "--per sample", false, 0},
        {"./train -b 64", "./train -b 32", "64 and 32", false, 0},
        {"./train", "./train", "is unknown", true, 0},
        {"./train", "./train --batch 128", "not given and 128", false, 0},
        {"./train --precision bf16", "./train --precision fp32", "precision is bf16 and fp32",
         false, 0},
        {"./train --amp", "./train", "amp is given and not given", false, 0},
        {"./train --depth 50", "./train", "depth is 50 and not given", false, 0},
        {"python -u a/train.py --lr 1", "python3 b/train.py --lr 2", NULL, false, 0},
        {"python train.py", "python eval.py", "train.py; eval.py", false, 0},
        {"./train --description batch", "./train --b-out 3", NULL, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = ERR_INIT;
        struct builder b = make_called(usual, cases[i].base), n = make_called(usual, cases[i].now);
        struct gate_wish wish = {.max_regress_pct = 3, .per_sample = cases[i].per_sample};
        struct gate *g = gate_run(b.a, n.a, &wish, &e);
        ck_assert_int_eq(g->verdict, cases[i].why ? GATE_INCONCLUSIVE : GATE_PASS);
        if (cases[i].why)
            ck_assert_msg(strstr(g->checks[0].why, cases[i].why) != NULL, "%zu: %s", i,
                          g->checks[0].why);
        else
            ck_assert_double_eq_tol(g->checks[0].measured, cases[i].pct, 1);
        gate_free(g);
    }
}

/* What else differs in the commands is told, whatever the verdict. */
TEST(test_other_commands)
{
    static const struct {
        const char *base, *now, *why; /* NULL: nothing is told */
    } cases[] = {
        {"./train --batch 64", "./train --batch 64", NULL},
        {"a/train --batch 64", "/home/b/train --batch 64", NULL},
        {"./train --workers 4", "./train --workers 0",
         "; the commands differ: --workers 4 in the baseline, --workers 0 now"},
        {"./train", "./train --workers 0", "; the commands differ: --workers 0 now"},
        {"./train", "./train --pin", "; the commands differ: --pin now"},
        {"./train 64 x", "./train 64", "; the commands differ: x in the baseline"},
        {"./train a b c d e", "./train", "a b c d ... in the baseline"},
        {"", "./train", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct builder b = make_called(usual, cases[i].base), n = make_called(usual, cases[i].now);
        struct gate *g = gate(&b, &n, NULL, 3);
        ck_assert_int_eq(g->verdict, GATE_PASS);
        const char *told = strstr(g->checks[0].why, cases[i].why ? cases[i].why : "commands");
        ck_assert_msg((told != NULL) == (cases[i].why != NULL), "%zu: %s", i, g->checks[0].why);
        gate_free(g);
    }
}

TEST(test_failed_program)
{
    static const char *const ends[][2] = {{"ended.status", "3"}, {"ended.signal", "11"}};
    struct builder base = make(usual);
    for (size_t i = 0; i < 2; i++) {
        struct builder now = make_meta(usual, ends[i][0], ends[i][1]);
        struct gate *g = gate(&base, &now, NULL, 3);
        ck_assert_int_eq(g->verdict, GATE_SLOWER);
        ck_assert_ptr_nonnull(strstr(g->checks[0].why, ends[i][1]));
        gate_free(g);
    }
}
