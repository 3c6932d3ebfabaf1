/* Keys of the facts that the Python hook records about a program (META records). The hook writes
 * them and the analyzer reads them, both by these names: from the lines below the build makes
 * gpuprof_facts.py, in which FACT_TORCH_DDP is TORCH_DDP. docs/python.md shows the form of each
 * value; tests/fact_keys.sh checks that each key has a reader. */
#ifndef GPUPROF_WIRE_FACT_KEYS_H
#define GPUPROF_WIRE_FACT_KEYS_H

#define FACT_TORCH_VERSION                  "torch.version"
#define FACT_PYTHON_VERSION                 "python.version"
#define FACT_PYTHON_TRACER                  "python.tracer"
#define FACT_PROCESS_CORES                  "process_cores"
#define FACT_PROCESS_CORES_GIVEN            "process_cores.given"
#define FACT_TORCH_SETTINGS                 "torch.settings"
/* The same for a program in C, which agent/gpuprof.h records. */
#define FACT_PROGRAM_SETTINGS               "program.settings"
#define FACT_TORCH_LOADER                   "torch.loader"
#define FACT_TORCH_BATCH                    "torch.batch"
#define FACT_TORCH_BATCH_TENSORS            "torch.batch.tensors"
#define FACT_TORCH_BATCH_BYTES              "torch.batch.bytes"
#define FACT_TORCH_INPUT                    "torch.input"
#define FACT_TORCH_PADDING                  "torch.padding"
#define FACT_TORCH_IGNORED                  "torch.ignored"
#define FACT_TORCH_PARAMETERS               "torch.parameters"
#define FACT_TORCH_PARAMETERS_UNUSED        "torch.parameters.unused"
#define FACT_TORCH_MEMORY                   "torch.memory"
#define FACT_TORCH_MEMORY_FAILED            "torch.memory.failed"
#define FACT_TORCH_FLOAT64_WHERE            "torch.float64.where"
#define FACT_TORCH_EMBEDDING                "torch.embedding"
#define FACT_TORCH_OPTIMIZER                "torch.optimizer"
#define FACT_TORCH_OPTIMIZER_GROUPS         "torch.optimizer.groups"
#define FACT_TORCH_WEIGHTS_MEMORY_FORMAT    "torch.weights.memory_format"
#define FACT_TORCH_NUM_THREADS              "torch.num_threads"
#define FACT_TORCH_NUM_THREADS_WHERE        "torch.num_threads.where"
#define FACT_TORCH_CUDNN_BENCHMARK          "torch.cudnn.benchmark"
#define FACT_TORCH_CUDNN_BENCHMARK_WHERE    "torch.cudnn.benchmark.where"
#define FACT_TORCH_CUDNN_DETERMINISTIC      "torch.cudnn.deterministic"
#define FACT_TORCH_CUDNN_PRECISION          "torch.cudnn.precision"
#define FACT_TORCH_CUDNN_ALLOW_TF32         "torch.cudnn.allow_tf32"
#define FACT_TORCH_MATMUL_PRECISION         "torch.matmul.precision"
#define FACT_TORCH_MATMUL_ALLOW_TF32        "torch.matmul.allow_tf32"
#define FACT_TORCH_DETERMINISTIC_ALGORITHMS "torch.deterministic_algorithms"
#define FACT_TORCH_FILLS_NEW                "torch.fills_new"
#define FACT_TORCH_FILLS_NEW_WHERE          "torch.fills_new.where"
#define FACT_TORCH_ATTENTION                "torch.attention"
#define FACT_TORCH_AUTOCAST                 "torch.autocast"
#define FACT_TORCH_AUTOCAST_WHERE           "torch.autocast.where"
#define FACT_TORCH_GRAD_SCALER              "torch.grad_scaler"
#define FACT_TORCH_CLIP_GRAD                "torch.clip_grad"
#define FACT_TORCH_CHECKPOINT               "torch.checkpoint"
#define FACT_TORCH_ANOMALY_MODE             "torch.anomaly_mode"
#define FACT_TORCH_ANOMALY_MODE_WHERE       "torch.anomaly_mode.where"
#define FACT_TORCH_PROFILER                 "torch.profiler"
#define FACT_TORCH_EVALUATION_GRAD_ENABLED  "torch.evaluation.grad_enabled"
#define FACT_TORCH_EVALUATION_NODES         "torch.evaluation.nodes"
#define FACT_TORCH_GC_WHERE                 "torch.gc.where"
#define FACT_TORCH_GC_ASKED                 "torch.gc.asked"
#define FACT_TORCH_COMPILE                  "torch.compile"
#define FACT_TORCH_CUDA_GRAPH               "torch.cuda_graph"
#define FACT_TORCH_MODULE_RANGES            "torch.module_ranges"
#define FACT_TORCH_MODULES_REPEATED         "torch.modules.repeated"
#define FACT_TORCH_MODULES_FROZEN           "torch.modules.frozen"
#define FACT_TORCH_RNN_SCATTERED            "torch.rnn.scattered"
#define FACT_TORCH_MODULES_AGAIN            "torch.modules.again"
#define FACT_TORCH_AGAIN                    "torch.again"
#define FACT_TORCH_BACKWARD_AGAIN           "torch.backward.again"
#define FACT_TORCH_GRADIENTS_UNUSED         "torch.gradients.unused"
#define FACT_TORCH_GRADIENTS_UNUSED_WHY     "torch.gradients.unused.why"
#define FACT_TORCH_GRADIENTS_UNUSED_OF      "torch.gradients.unused.of"
#define FACT_TORCH_DDP                      "torch.ddp"
#define FACT_TORCH_DDP_WHERE                "torch.ddp.where"
#define FACT_TORCH_DDP_BUFFERS              "torch.ddp.buffers"
#define FACT_TORCH_DDP_NO_SYNC              "torch.ddp.no_sync"
#define FACT_TORCH_DATA_PARALLEL            "torch.data_parallel"
#define FACT_TORCH_FSDP                     "torch.fsdp"
#define FACT_TORCH_DEEPSPEED                "torch.deepspeed"
#define FACT_TRANSFORMERS_GENERATE          "transformers.generate"
/* The first losses, separated by blanks, if `gpuprof try` asked for them. */
#define FACT_TORCH_LOSSES                   "torch.losses"
#define FACT_TORCH_TRAINED_BY               "torch.trained_by"

/* Facts about loader number N have the key FACT_TORCH_LOADER ".N." and one of these words. Those of
 * the first loader are also recorded without a number. */
#define FACT_LOADER_WHERE    "where"
#define FACT_LOADER_MADE     "made"
#define FACT_LOADER_BY       "by"
#define FACT_LOADER_FOREIGN  "foreign"
#define FACT_LOADER_COLLATE  "collate"
#define FACT_LOADER_START    "start"
#define FACT_LOADER_DATASET  "dataset"
#define FACT_LOADER_ITERABLE "iterable"
#define FACT_LOADER_ANEW     "anew"

/* Values of FACT_TORCH_GRADIENTS_UNUSED_WHY: no optimizer has these weights, the rate of their group is 0,
 * or their gradients are zeroed before their optimizer steps. */
#define FACT_UNUSED_OWNERLESS "ownerless"
#define FACT_UNUSED_AT_REST   "at rest"
#define FACT_UNUSED_ZEROED    "zeroed"

/* Value of FACT_TORCH_GRADIENTS_UNUSED_OF: the nodes compute gradients of these weights beside others that
 * are needed. Not there: they lead to these weights alone. */
#define FACT_UNUSED_OF_WEIGHTS "weights"

/* The key ends in a dot and the group's number. */
#define FACT_TORCH_GROUP "torch.group"

/* The key ends in a dot and the name of a setting in GPUPROF_APPLY. The value is "applied: WHAT" or
 * "refused: WHY". */
#define FACT_APPLY "apply"

#endif
