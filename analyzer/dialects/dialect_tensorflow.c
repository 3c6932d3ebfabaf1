/* Words for TensorFlow, and for JAX, which XLA compiles as well. */
#include "analyzer/dialects/dialect.h"

const struct dialect dialect_tensorflow = {
    .id = "tensorflow",
    .name = "TensorFlow",
    .base = &dialect_any,
    .words =
        {
            [ACTION_LOAD_IN_WORKERS] =
                "dataset.map(f, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)",
            [ACTION_SET_WORKERS] = "{!workers=0:dataset.map(f, "
                                   "num_parallel_calls={workers}).prefetch(tf.data.AUTOTUNE)}",
            [ACTION_FREE_CORES_FOR_WORKERS] =
                "tf.data.Options().threading.private_threadpool_size = N; more cores for the job",
            [ACTION_MAKE_SAMPLES_CHEAPER] =
                "dataset.cache() behind what does not change; TFRecord files of decoded samples; "
                "augmentation layers in the model, on the GPU",
            [ACTION_USE_FASTER_STORAGE] = "dataset.cache() after decoding, TFRecord files with "
                                          "interleave(num_parallel_reads)",
            [ACTION_KEEP_WORKERS] =
                "one dataset.repeat(epochs) instead of a new iterator for each epoch",
            [ACTION_ENLARGE_BATCH] =
                "dataset.batch(N), with the learning rate scaled and warmed up",
            [ACTION_ALLOCATE_ONCE] =
                "leave the default allocator on (BFC), or TF_GPU_ALLOCATOR=cuda_malloc_async",
            [ACTION_FREE_A_CORE] = "TF_GPU_THREAD_MODE=gpu_private; "
                                   "tf.config.threading.set_intra_op_parallelism_threads(N)",
            [ACTION_LAUNCH_AS_GRAPH] =
                "@tf.function(jit_compile=True) around the step (in JAX, jax.jit); what stays "
                "outside XLA's graphs: XLA_FLAGS=--xla_gpu_enable_command_buffer=+COLLECTIVES",
            [ACTION_LAUNCH_FEWER] =
                "@tf.function(jit_compile=True), in JAX jax.jit{?repeats:, around what repeats}",
            [ACTION_SWITCH_DEBUGGING_OFF] =
                "unset CUDA_LAUNCH_BLOCKING; tf.debugging.disable_check_numerics()",
            [ACTION_STOP_ANOMALY_DETECTION] = "tf.debugging.disable_check_numerics()",
            [ACTION_STOP_TRACING] = "train without {call}",
            [ACTION_FREEZE_GARBAGE] =
                "after everything is built: import gc; gc.collect(); gc.freeze()",
            [ACTION_GENERATE_IN_FEWER_LAUNCHES] = "generate inside tf.function(jit_compile=True); "
                                                  "in JAX, a loop of lax.while_loop under jax.jit",
            [ACTION_MOVE_HOST_WORK] = "keep it inside tf.function (in JAX, jax.jit), or in "
                                      "dataset.map(..., num_parallel_calls=AUTOTUNE)",
            [ACTION_RUN_LESS_BETWEEN_LAUNCHES] =
                "keep the step inside tf.function(jit_compile=True); in JAX, jax.jit",
            [ACTION_DO_AT_ONCE] = "one operation on the whole tensor (tf.where, tf.scatter_nd) in "
                                  "place of a Python loop, or the loop inside @tf.function",
            [ACTION_DETACH_STATE] =
                "tf.stop_gradient(state) before the next step uses it, and a GradientTape of its "
                "own for each step",
            [ACTION_MOVE_RARE_WORK] =
                "tf.train.CheckpointOptions(experimental_enable_async_checkpoint=True); fewer "
                "summaries: tf.summary.record_if(...)",
            [ACTION_FIX_GRAPH_SIZES] = "padded_batch with fixed shapes; tf.function("
                                       "reduce_retracing=True)",
            [ACTION_FIX_SHAPES] = "dataset.batch(N, drop_remainder=True) or padded_batch with "
                                  "fixed shapes; tf.function(reduce_retracing=True)",
            [ACTION_FIND_WAIT] =
                "an operator waits for a value or a size: use a form of fixed size",
            [ACTION_WAIT_LESS] = "read metrics{!window: every N steps}{?window: now and then}; "
                                 "model.compile(steps_per_execution=N)",
            [ACTION_CHOOSE_ACTIONS_TOGETHER] =
                "choose for many environments in one call; read what is only logged{!window: every "
                "N steps}{?window: now and then}",
            [ACTION_RECORD_LATER] = "profile from the tenth step: tf.profiler.experimental.start "
                                    "after warm-up, or gpuprof run --steps 10:20",
            [ACTION_KEEP_COMPILED_CODE] =
                "let the loop run longer, or record later: gpuprof run --delay; if this is all "
                "that the program does, keep what it compiles and tunes from one run to the next "
                "(TF_XLA_FLAGS=--tf_xla_persistent_cache_directory=DIR; JAX: "
                "JAX_COMPILATION_CACHE_DIR)",
            [ACTION_LEAVE_END_OUT] =
                "the driver takes back memory and code when the process ends: what frees and "
                "unloads right before that can go; or end the recording before it: "
                "tf.profiler.experimental.stop() behind the last step",
            [ACTION_COPY_LESS_TO_GPU] =
                "tf.device('/gpu:0') for variables; cast inputs on the GPU, not before the copy",
            [ACTION_COPY_LESS_ON_GPU] = "tf.function(jit_compile=True) merges transposes and "
                                        "concatenations with their neighbours",
            [ACTION_WRAP_HOST_DATA] =
                "tf.data from the arrays' own files; no .numpy() round trips in the loop",
            [ACTION_PREFETCH_MANAGED] =
                "unset TF_FORCE_UNIFIED_MEMORY; XLA_PYTHON_CLIENT_MEM_FRACTION and "
                "per_process_gpu_memory_fraction of at most 1",
            [ACTION_OVERLAP_COPIES] =
                "dataset.apply(tf.data.experimental.prefetch_to_device('/gpu:0'))",
            [ACTION_PIN_BATCHES] =
                "tf.data pins its own buffers: pass the dataset, not NumPy arrays, to the model",
            [ACTION_PIN_BOTH_WAYS] = "keep results on the GPU, and fetch them in one array at the "
                                     "end; pass the dataset, not NumPy arrays, to the model",
            [ACTION_MAKE_ON_GPU] =
                "tf.constant outside the step; random numbers by tf.random on the GPU",
            [ACTION_DROP_BIAS] = "layers.Conv2D(..., use_bias=False) before a BatchNormalization",
            [ACTION_USE_CHANNELS_LAST] = "data_format='channels_last' (the default) in every "
                                         "layer; leave the layout optimizer on",
            [ACTION_USE_TENSOR_CORE_ALGORITHM] =
                "channels that are multiples of 8; leave TF_CUDNN_USE_AUTOTUNE=1 (the default)",
            [ACTION_MEASURE_ALGORITHMS] = "TF_CUDNN_USE_AUTOTUNE=1 (the default)",
            [ACTION_FILL_GPU] = "give these operators more to do at once: a larger batch, one "
                                "batched call (tf.vectorized_map) in place of a loop of small "
                                "ones; tf.function(jit_compile=True) joins small operators",
            [ACTION_FUSE_ATTENTION] =
                "tf.function(jit_compile=True), whose compiler may fuse attention; a fused kernel "
                "for sure needs Keras on JAX or PyTorch (keras.config.enable_flash_attention())",
            [ACTION_PAD_SIZES] =
                "pad dimensions to multiples of 8 in the model and in dataset.padded_batch",
            [ACTION_USE_LIBRARY_KERNELS] = "tf.matmul, tf.nn.conv2d, which call cuBLAS and cuDNN",
            [ACTION_FUSE_POINTWISE] = "tf.function(jit_compile=True)",
            [ACTION_USE_NHWC_NORMALISATION] =
                "keras.layers.BatchNormalization on 4-D tensors (the fused kernel) with "
                "TF_USE_CUDNN_BATCHNORM_SPATIAL_PERSISTENT=1",
            [ACTION_USE_TENSOR_CORES] =
                "TF32 is on by default; keras.mixed_precision.set_global_policy(...) for 16 bit",
            [ACTION_MIX_PRECISION] =
                "{?dtype=bf16:keras.mixed_precision.set_global_policy('mixed_bfloat16'); in JAX, "
                "parameters and batches as "
                "jnp.bfloat16}{?dtype=fp16:keras.mixed_precision.set_global_policy('mixed_float16')"
                "}{?to_channels_last:; data_format='channels_last' (the default) in every layer}",
            [ACTION_USE_SINGLE_PRECISION] = "keras.config.set_floatx('float32'), and inputs of "
                                            "float32; JAX: leave jax_enable_x64 off",
            [ACTION_PAD_TO_LONGEST] = "dataset.padded_batch, or bucket_by_sequence_length",
            [ACTION_SELECT_LABELLED] = "tf.gather of the labelled positions before the last layer; "
                                       "in JAX, of a fixed number of them",
            [ACTION_USE_SPARSE_GRADIENTS] = "tf.gather on the variable: its gradient is "
                                            "tf.IndexedSlices; keep it so",
            [ACTION_CAST_LESS] = "keras.mixed_precision policies cast variables once per use: wrap "
                                 "the step in tf.function(jit_compile=True)",
            [ACTION_KEEP_ACTIVATIONS] = "remove tf.recompute_grad, or apply it to fewer layers",
            [ACTION_EVALUATE_WITHOUT_GRADIENTS] =
                "model(x, training=False); model.evaluate does this",
            [ACTION_FUSE_OPTIMIZER] = "optimizer inside tf.function(jit_compile=True)",
            [ACTION_CLIP_AT_ONCE] = "tf.clip_by_global_norm inside tf.function(jit_compile=True)",
            [ACTION_SCALE_ON_GPU] = "{!no_bf16:keras mixed_bfloat16 instead of mixed_float16, if "
                                    "the GPU supports it}{?no_bf16:keep the LossScaleOptimizer's "
                                    "update inside tf.function: it decides on the device there}",
            [ACTION_NEED_LESS_MEMORY] =
                "a smaller dataset.batch(N), with the gradients of several added up; or "
                "tf.recompute_grad around each layer; or keras mixed_bfloat16",
            [ACTION_JOIN_FREE_MEMORY] = "TF_GPU_ALLOCATOR=cuda_malloc_async: what lies free in "
                                        "pieces is more than the program asked for",
            [ACTION_SHARD_LESS] = "shard the optimizer's state alone",
            [ACTION_OVERWRITE_GRADIENTS] = "does not apply: gradients are new tensors",
            [ACTION_KEEP_OWN_BUFFERS] = "tf.Variable(..., synchronization=ON_READ) for statistics: "
                                        "TensorFlow merges them only on a read",
            [ACTION_RESIZE_BUCKETS] =
                "tf.distribute.experimental.CommunicationOptions(bytes_per_pack=50 * 1024 * 1024)",
            [ACTION_RUN_PROCESS_PER_GPU] =
                "tf.distribute.MirroredStrategy or MultiWorkerMirroredStrategy instead of copying "
                "weights by hand",
            [ACTION_OVERLAP_COLLECTIVES] = "tf.distribute.MirroredStrategy with experimental "
                                           "CommunicationOptions(bytes_per_pack=50 * 1024 * 1024)",
            [ACTION_COMMUNICATE_LESS] = "accumulate gradients over several batches before "
                                        "apply_gradients; larger batches; 16-bit gradients",
            [ACTION_SPLIT_MODEL_LESS] = "split the model among fewer ranks, all within one node",
            [ACTION_EXCHANGE_ONCE] = "accumulate into local variables, and call apply_gradients "
                                     "(which all-reduces) only after the last part",
            [ACTION_FILL_PIPELINE] =
                "use more micro-batches per step, and give each stage the same work",
            [ACTION_BALANCE_RANKS] = "shard the input evenly (tf.data auto-shard by data), and "
                                     "give every replica the same work",
        },
};
