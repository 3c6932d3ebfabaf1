/* Words for all programs, whatever they are written in. */
#include "analyzer/dialects/dialect.h"

const struct dialect dialect_any = {
    .id = "any",
    .name = "All frameworks",
    .words =
        {
            [ACTION_GET_CORES] = "give the job cores of its own (--cpus-per-task, cpuset), or stop "
                                 "the other program, and record again",
            [ACTION_USE_CORES_GIVEN] =
                "find what confines the process: a call of sched_setaffinity() in the program or "
                "in a package that it loads, or an OpenMP setting such as GOMP_CPU_AFFINITY or "
                "KMP_AFFINITY; undo it behind the imports",
            [ACTION_SHORTEN_LINE] =
                "{?computes:do it less often, once for many steps, or beside the loop (another "
                "process, a library that computes outside Python)}{!computes:it waits there and "
                "computes nothing: wait less often, or begin it earlier, in a thread or a process "
                "of its own}; what of it every {?window:run}{!window:step} needs stays",
            [ACTION_MOVE_TO_PROCESS] =
                "Python computes in one thread of a process at a time: do that work in another "
                "process (multiprocessing), less often, or in a library that computes outside "
                "Python",
            [ACTION_KEEP_RESULTS] = "keep its results: the same weights give the same result for "
                                    "the same input; leave out what nobody uses",
            [ACTION_DIFFERENTIATE_LESS] =
                "a penalty on gradients every 8 or 16 steps, times that number; no second "
                "derivative where no gradient goes through the first",
            [ACTION_ENLARGE_MICRO_BATCHES] =
                "{times} times the samples in each micro-batch, and as many times fewer of them: "
                "the gradient, the update and the learning rate stay",
            [ACTION_STOP_GRADIENTS] = "compute it without gradients",
            [ACTION_SUM_LOSSES] = "one backward pass from the sum of the losses gives the same "
                                  "gradients",
            [ACTION_SET_COMPUTE_THREADS] =
                "OMP_NUM_THREADS={threads}, or torch.set_num_threads({threads})",
            [ACTION_LOOK_AT_KERNEL] =
                "compute less in it, less often, or in another form{?call:; ncu --kernel-name "
                "regex:{call} --launch-count 3 CMD shows what limits it}",
            [ACTION_RECORD_LONGER] =
                "let the loop run longer, or record later: gpuprof run --delay; if this is all "
                "that the program does, load and allocate less",
            [ACTION_SHARE_CONTEXT] =
                "do the work of many runs in one process; keep the driver loaded (nvidia-smi -pm "
                "1); show the program only the GPUs that it uses (CUDA_VISIBLE_DEVICES); load code "
                "when it is first used (CUDA_MODULE_LOADING=LAZY); or record later: gpuprof run "
                "--delay",
            [ACTION_COOL_GPU] =
                "no change to the program: nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE; "
                "airflow; nvidia-smi -pl WATTS up to the limit of the card",
            [ACTION_CHECK_RANK] =
                "on {ranks}, check {?cause=work:the share of the work: even shards, batches "
                "bucketed by length}{?cause=gpu:the GPU: clocks, power, temperature, other "
                "programs on it}{?cause=host:what the host does before it launches: loader, "
                "logging, other programs}{!cause:{?together:what they share: their node (clocks, "
                "other jobs, storage, network), their part of the model, the length of their "
                "batches}{!together:the length of its batches, its loader, its logging}}",
        },
};
