/* The dialect of Lightning: its own words for what its Trainer has a setting for, PyTorch's words
 * for the rest. */
#include "tests/unit/test.h"
#include "tests/unit/dialects/say_case.h"

TEST(trainer)
{
    static const struct said said[] = {
        {{.action = ACTION_MIX_PRECISION,
          .params[PARAM_DTYPE] = TEXT("bf16"),
          .conditions[CONDITION_HAS_TF32] = true},
         "Trainer(..., precision='bf16-mixed')"},
        {{.action = ACTION_MEASURE_ALGORITHMS}, "Trainer(..., benchmark=True)"},
        {{.action = ACTION_EXCHANGE_ONCE},
         "Trainer(..., accumulate_grad_batches=N), which exchanges gradients with the last part "
         "alone"},
        {{.action = ACTION_LOG_RARELY},
         "Lightning's loop waits, not the script: Trainer(..., log_every_n_steps=N), and no "
         "prog_bar=True in self.log(), which reads the value for the bar in every step"},
    };
    says(dialect_of_packages("lightning"), said, sizeof said / sizeof *said);
    ck_assert_ptr_eq(dialect_of_packages("pytorch_lightning"), dialect_of_packages("lightning"));
    ck_assert_ptr_eq(dialect_of_place("lightning/pytorch/loops/fit_loop.py:480"),
                     dialect_of_packages("lightning"));
    ck_assert_ptr_eq(dialect_of_place("pytorch_lightning/trainer/trainer.py:7"),
                     dialect_of_packages("lightning"));
    ck_assert_ptr_null(dialect_of_place("lightning/fabric/wrappers.py:7"));
}

/* The program makes its loaders itself, and Lightning has no words for what is in the model. */
TEST(of_pytorch)
{
    static const struct said said[] = {
        {{.action = ACTION_SET_WORKERS,
          .object = {.kind = OBJECT_LOADER},
          .params[PARAM_WORKERS] = NUMBER(3)},
         "DataLoader(..., num_workers=3, persistent_workers=True)"},
        {{.action = ACTION_UPDATE_BY_LISTS, .params[PARAM_OPTIMIZER] = TEXT("SGD")},
         "torch.optim.SGD(params, foreach=True)"},
    };
    says(dialect_of_packages("lightning"), said, sizeof said / sizeof *said);
}
