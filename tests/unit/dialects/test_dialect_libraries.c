/* The dialects of libraries on PyTorch: one row here for each file in analyzer/dialects/. */
#include "tests/unit/dialects/say_case.h"
#include "tests/unit/rule_case.h"

#include <string.h>

#define FUSED    "torch.optim.AdamW(params, fused=True)"
#define AUTOCAST "with torch.autocast('cuda', dtype=torch.bfloat16): ... around forward and loss"

static const struct library {
    const char *packages; /* that make a loader, innermost first */
    const char *workers, *pin, *precision, *optimizer;
} libraries[] = {
    {"fastai torch", "dataloaders(..., num_workers=3)", "dataloaders(..., pin_memory=True)",
     "learn.to_bf16()", FUSED},
    {"unknown keras", "fit(DataLoader(..., num_workers=3, persistent_workers=True))",
     "fit(DataLoader(..., pin_memory=True))", AUTOCAST, FUSED},
    {"mmengine", "train_dataloader=dict(..., num_workers=3, persistent_workers=True)",
     "train_dataloader=dict(..., pin_memory=True)",
     "optim_wrapper=dict(type='AmpOptimWrapper', dtype='bfloat16')", FUSED},
    {"skorch",
     "NeuralNet(..., iterator_train__num_workers=3, iterator_train__persistent_workers=True)",
     "NeuralNet(..., iterator_train__pin_memory=True)", AUTOCAST, FUSED},
    {"speechbrain",
     "fit(..., train_loader_kwargs=dict(..., num_workers=3, persistent_workers=True))",
     "fit(..., train_loader_kwargs=dict(..., pin_memory=True))", AUTOCAST, FUSED},
    {"timm", "create_loader(..., num_workers=3, persistent_workers=True)",
     "create_loader(..., pin_memory=True)", AUTOCAST, FUSED},
    {"sentence_transformers transformers",
     "TrainingArguments(..., dataloader_num_workers=3, dataloader_persistent_workers=True)",
     "TrainingArguments(..., dataloader_pin_memory=True)", "TrainingArguments(..., bf16=True)",
     "TrainingArguments(..., optim='adamw_torch_fused')"},
    {"ultralytics", "train(..., workers=3)", "DataLoader(..., pin_memory=True)",
     "train(..., amp=True)", FUSED},
};

/* The loop of the library waits: its settings are the remedy. */
TEST(own_loop)
{
    static const struct said said[] = {
        {{.action = ACTION_LOG_RARELY,
          .object = {.kind = OBJECT_CALL, .place = "transformers/trainer.py:1919"},
          .params[PARAM_PACKAGE] = TEXT("transformers")},
         "the Trainer waits, not the script: TrainingArguments(..., logging_nan_inf_filter=False), "
         "without which it tests the loss in every step, and logging_steps=N"},
    };
    const struct dialect *d = dialect_of_place("transformers/trainer.py:1919");
    ck_assert_ptr_nonnull(d);
    ck_assert_str_eq(d->id, "transformers");
    says(d, said, 1);
    const struct remedy *r = &said[0].remedy;
    struct remedy waits = *r;
    struct facts facts = {0};
    waits.object.made_by = d->package;
    ck_assert_ptr_eq(dialect_of(&facts, FRAMEWORK_PYTORCH, &waits), d);
    ck_assert_ptr_null(dialect_of_place("transformers/utils.py:7"));
    ck_assert_ptr_null(dialect_of_place("train.py:9"));
}

TEST(words)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        const struct library *l = &libraries[i];
        const struct said said[] = {
            {{.action = ACTION_SET_WORKERS, .params[PARAM_WORKERS] = NUMBER(3)}, l->workers},
            {{.action = ACTION_MIX_PRECISION,
              .params[PARAM_DTYPE] = TEXT("bf16"),
              .conditions[CONDITION_HAS_TF32] = true},
             l->precision},
            {{.action = ACTION_FUSE_OPTIMIZER,
              .params[PARAM_OPTIMIZER] = TEXT("AdamW"),
              .conditions[CONDITION_BY_LISTS] = true},
             l->optimizer},
            {{.action = ACTION_FUSE_OPTIMIZER,
              .params[PARAM_OPTIMIZER] = TEXT("SGD"),
              .conditions[CONDITION_BY_LISTS] = true},
             "torch.optim.SGD(params, fused=True)"}};
        const struct dialect *d = dialect_of_packages(l->packages);
        ck_assert_ptr_nonnull(d);
        says(d, said, sizeof said / sizeof *said);
        struct arena arena = ARENA_INIT;
        struct facts facts = {0};
        const char *pin =
            dialect_say(d, &facts, &(struct remedy){.action = ACTION_PIN_BATCHES}, &arena);
        ck_assert_msg(strncmp(pin, l->pin, strlen(l->pin)) == 0, "%s", pin);
        arena_release(&arena);
    }
    ck_assert_ptr_null(dialect_of_packages("timmy"));
    ck_assert_ptr_null(dialect_of_packages(NULL));
}

static void fill_fp32(struct builder *b, int64_t at)
{
    build_kernel(b, "ampere_sgemm_128x64_nn", at + US(10), at + US(100), MS(6));
    build_kernel(b, case_gemm, at + US(15), at + MS(6) + US(101), US(3850));
}

/* The library trains that makes one of the program's loaders, the first or another, or that calls
 * the optimizer. */
TEST(of_a_program)
{
    static const char *const keys[] = {"torch.loader.1.by", "torch.loader.2.by", "torch.trained_by",
                                       "torch.version"};
    static const char *const begins[] = {"TrainingArguments(", "TrainingArguments(",
                                         "TrainingArguments(", "with torch."};
    for (int i = 0; i < 4; i++) {
        struct builder b = build_start_on("NVIDIA A100", 8, 0);
        build_meta(&b, "torch.loader.1", "DataLoader(num_workers=0)");
        build_meta(&b, keys[i], "accelerate transformers");
        case_loop(&b, fill_fp32);
        const char *told =
            case_first(build_analyze(&b), "tensor-cores", MS(6))->words[FRAMEWORK_PYTORCH];
        ck_assert_msg(strncmp(told, begins[i], strlen(begins[i])) == 0, "%s", told);
    }
}
