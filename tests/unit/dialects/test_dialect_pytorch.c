/* The dialect of PyTorch. */
#include "tests/unit/test.h"
#include "tests/unit/dialects/say_case.h"

#define TF32     "torch.set_float32_matmul_precision('high') for TF32 (9.00 ms)"
#define AUTOCAST "with torch.autocast('cuda', dtype=torch.bfloat16): ..."

TEST(loaders)
{
    static const struct said said[] = {
        {{.action = ACTION_SET_WORKERS,
          .object = {.kind = OBJECT_LOADER, .place = "train.py:9"},
          .params[PARAM_WORKERS] = NUMBER(4),
          .now = "DataLoader(num_workers=0)"},
         "train.py:9: DataLoader(..., num_workers=4, persistent_workers=True); now "
         "DataLoader(num_workers=0)"},
        {{.action = ACTION_SET_WORKERS,
          .params[PARAM_WORKERS] = NUMBER(2),
          .conditions = {[CONDITION_MADE_ANEW] = true, [CONDITION_FEWER_THAN_NOW] = true}},
         "DataLoader(..., num_workers=2): more workers only compete for the cores with each other "
         "and with the loop"},
        {{.action = ACTION_SET_WORKERS, .params[PARAM_WORKERS] = NUMBER(0)},
         "DataLoader(..., num_workers=0): making such a cheap batch takes less time than handing "
         "it over; or use larger batches"},
        {{.action = ACTION_SET_WORKERS,
          .params = {[PARAM_WORKERS] = NUMBER(1), [PARAM_START_METHOD] = TEXT("spawn")}},
         "DataLoader(..., num_workers=1, persistent_workers=True); workers start by spawn here, "
         "which imports the program again: keep its loop under if __name__ == '__main__':, or add "
         "multiprocessing_context='fork'"},
        {{.action = ACTION_KEEP_WORKERS}, "DataLoader(..., persistent_workers=True)"},
    };
    says(&dialect_pytorch, said, sizeof said / sizeof *said);
}

/* A program that compiles is not told to compile. */
TEST(graphs)
{
    static const struct said said[] = {
        {{.action = ACTION_LAUNCH_AS_GRAPH},
         "torch.compile(model, mode='reduce-overhead'), or "
         "torch.cuda.graphs.make_graphed_callables; a larger batch helps as well"},
        {{.action = ACTION_LAUNCH_AS_GRAPH, .conditions[CONDITION_COMPILED] = true},
         "mode='reduce-overhead' in the torch.compile call that is there, or "
         "torch.cuda.graphs.make_graphed_callables; a larger batch helps as well"},
        {{.action = ACTION_LAUNCH_AS_GRAPH,
          .conditions = {[CONDITION_COMPILED] = true, [CONDITION_GRAPHS_ASKED] = true}},
         "mend what keeps torch.compile from its CUDA graphs (TORCH_LOGS=perf_hints names it), or "
         "torch.cuda.graphs.make_graphed_callables; a larger batch helps as well"},
    };
    says(&dialect_pytorch, said, sizeof said / sizeof *said);
}

/* no_sync() that is there already, but around too little. */
TEST(exchanges)
{
    static const struct said said[] = {
        {{.action = ACTION_EXCHANGE_ONCE, .conditions[CONDITION_NO_SYNC_USED] = true},
         "no_sync() has no effect on a forward pass outside of it: put model(part) inside, too, of "
         "all parts but the last"},
    };
    says(&dialect_pytorch, said, sizeof said / sizeof *said);
}

TEST(precision)
{
    static const struct said said[] = {
        {{.action = ACTION_MIX_PRECISION,
          .params = {[PARAM_DTYPE] = TEXT("bf16"), [PARAM_TF32_SAVES] = TEXT("9.00 ms")}},
         AUTOCAST "; at least " TF32},
        {{.action = ACTION_MIX_PRECISION,
          .params = {[PARAM_DTYPE] = TEXT("bf16"), [PARAM_TF32_SAVES] = TEXT("9.00 ms")},
          .conditions = {[CONDITION_TF32_FIRST] = true, [CONDITION_TO_CHANNELS_LAST] = true}},
         TF32 "; then " AUTOCAST "; convert both model and input with "
              ".to(memory_format=torch.channels_last), or the convolutions convert them"},
        {{.action = ACTION_MIX_PRECISION,
          .params[PARAM_DTYPE] = TEXT("bf16"),
          .conditions[CONDITION_HAS_TF32] = true},
         AUTOCAST " around forward and loss"},
        {{.action = ACTION_MIX_PRECISION, .params[PARAM_DTYPE] = TEXT("fp16")},
         "with torch.autocast('cuda', dtype=torch.float16): ... and torch.amp.GradScaler"},
    };
    says(&dialect_pytorch, said, sizeof said / sizeof *said);
}

/* A package's line is named, but is no line to change. */
TEST(waits_of_a_package)
{
    static const struct said said[] = {
        {{.action = ACTION_FIX_RESULT_SIZES,
          .object = {.kind = OBJECT_CALL, .place = "mine/a.py:7"},
          .params[PARAM_PACKAGE] = TEXT("mine")},
         "mine waits (mine/a.py:7); if that is not your code, look for its option that leaves this "
         "out (logs, timers, checks); if it is: x[mask], nonzero, masked_select and unique wait "
         "for the size of their result: torch.where(mask, x, 0), multiplying by the mask, topk and "
         "nonzero_static keep sizes fixed"},
    };
    says(&dialect_pytorch, said, sizeof said / sizeof *said);
}

TEST(others)
{
    static const struct said said[] = {
        {{.action = ACTION_FUSE_OPTIMIZER, .params[PARAM_OPTIMIZER] = TEXT("SGD")},
         "torch.optim.SGD(params, fused=True) (or foreach=True)"},
        {{.action = ACTION_WRITE_UPDATE_BY_LISTS, .params[PARAM_OPTIMIZER] = TEXT("Lion")},
         "in Lion.step, work on lists of parameters at once (torch._foreach_add_ and the like), or "
         "torch.compile(optimizer.step)"},
        {{.action = ACTION_DO_AT_ONCE},
         "lists in place of the loop: torch._foreach_mul_(tensors, x), torch._foreach_add_, "
         "torch._foreach_lerp_, torch._foreach_norm (an EMA: AveragedModel(model, "
         "multi_avg_fn=get_ema_multi_avg_fn(0.999)) of torch.optim.swa_utils); of rows and "
         "elements one operation on the whole tensor"},
        {{.action = ACTION_DO_AT_ONCE, .conditions[CONDITION_LOOP] = true},
         "stack what the loop goes over and call each operator once for all of it: broadcasting "
         "(x[:, None] with y[None]), gather and scatter, a mask where lengths differ, torch.vmap; "
         "what needs the turn before: torch.compile"},
        {{.action = ACTION_DO_AT_ONCE, .conditions[CONDITION_FILLS] = true},
         "one operation on the whole tensor in place of the loop: a mask from comparisons of index "
         "tensors (torch.arange) and one masked_fill_ or torch.where; keep what is the same in "
         "each step (gradients: zero_grad(set_to_none=True))"},
        {{.action = ACTION_COLLECT_GARBAGE_RARELY, .object.place = "train.py:8"},
         "train.py:8: the program calls gc.collect() itself. Call it once in hundreds of steps, or "
         "never; gc.freeze() after everything is built makes each call cheap"},
        {{.action = ACTION_COPY_LESS_ON_GPU, .params[PARAM_OPERATOR] = TEXT("repeat")},
         "expand() instead of repeat(): it copies nothing"},
        {{.action = ACTION_MOVE_HOST_WORK,
          .conditions = {[CONDITION_SPREAD] = true, [CONDITION_LINES_KNOWN] = true}},
         "torch.compile(model), which runs less Python between launches, or fewer and larger "
         "operators"},
        {{.action = ACTION_CHECK_RANK,
          .params = {[PARAM_RANKS] = TEXT("rank 3"), [PARAM_CAUSE] = TEXT("gpu")}},
         "on rank 3, check the GPU: clocks, power, temperature, other programs on it"},
        {{.action = ACTION_COMPILE_PARTS, .params[PARAM_ENGINE] = TEXT("FSDP")},
         "FSDP gathers and frees weights in each step, so one graph of the step does not fit: "
         "torch.compile(block) for each block before it is sharded, or a larger batch"},
        {{.action = ACTION_ENLARGE_BATCH,
          .conditions = {[CONDITION_ONLY_INFERS] = true, [CONDITION_NO_LOADER] = true}},
         "more samples a call of the model, where the program makes its inputs"},
    };
    says(&dialect_pytorch, said, sizeof said / sizeof *said);
}
