/* The closed list of what advice can recommend: one action for each distinct thing to do, whichever
 * rules recommend it. X(NAME, ID, GENERAL, SETTINGS):
 *   NAME      ACTION_NAME in C. An action may be added.
 *   ID        its name in JSON. It is part of the documented format and never changes.
 *   GENERAL   the action of which this one is a special case; itself if there is none. A dialect
 *             without words for the action uses those of the general one.
 *   SETTINGS  what GPUPROF_APPLY and `gpuprof try --apply` accept to try it, as a template
 *             (template.h); NULL if only an edit of the program can do it. The names are those of
 *             advice/settings.c. */
#ifndef GPUPROF_REMEDY_ACTIONS_H
#define GPUPROF_REMEDY_ACTIONS_H

#define ACTIONS_OF_INPUT(X)                                                                        \
    X(LOAD_IN_WORKERS, "load_in_workers", LOAD_IN_WORKERS, "num_workers={workers}")                \
    X(SET_WORKERS, "set_workers", LOAD_IN_WORKERS,                                                 \
      "num_workers={workers}{?persistent:;persistent_workers=1}{?one_of_loaders:;loader={place}}") \
    X(TRY_WORKERS, "try_workers", LOAD_IN_WORKERS, NULL)                                           \
    X(ADD_WORKERS, "add_workers", LOAD_IN_WORKERS, NULL)                                           \
    X(HAND_OVER_LESS, "hand_over_less", LOAD_IN_WORKERS, NULL)                                     \
    X(SHARD_DATASET, "shard_dataset", LOAD_IN_WORKERS, NULL)                                       \
    X(FREE_CORES_FOR_WORKERS, "free_cores_for_workers", FREE_CORES_FOR_WORKERS, NULL)              \
    X(GET_CORES, "get_cores", FREE_CORES_FOR_WORKERS, NULL)                                        \
    X(USE_CORES_GIVEN, "use_cores_given", FREE_CORES_FOR_WORKERS, NULL)                            \
    X(MAKE_SAMPLES_CHEAPER, "make_samples_cheaper", MAKE_SAMPLES_CHEAPER, NULL)                    \
    X(TAKE_BATCH_AT_ONCE, "take_batch_at_once", MAKE_SAMPLES_CHEAPER, NULL)                        \
    X(OPEN_DATA_ONCE, "open_data_once", MAKE_SAMPLES_CHEAPER, NULL)                                \
    X(USE_FASTER_STORAGE, "use_faster_storage", USE_FASTER_STORAGE, NULL)                          \
    X(KEEP_WORKERS, "keep_workers", KEEP_WORKERS,                                                  \
      "persistent_workers=1{?one_of_loaders:;loader={place}}")                                     \
    X(CREATE_LOADER_ONCE, "create_loader_once", KEEP_WORKERS, NULL)                                \
    X(USE_FEWER_WORKERS, "use_fewer_workers", KEEP_WORKERS, NULL)                                  \
    X(ENLARGE_BATCH, "enlarge_batch", ENLARGE_BATCH, "batch={batch}")                              \
    X(ENLARGE_MICRO_BATCHES, "enlarge_micro_batches", ENLARGE_MICRO_BATCHES, NULL)

#define ACTIONS_OF_HOST(X)                                                                         \
    X(ALLOCATE_ONCE, "allocate_once", ALLOCATE_ONCE, NULL)                                         \
    X(KEEP_MEMORY_POOL, "keep_memory_pool", ALLOCATE_ONCE, NULL)                                   \
    X(FREE_A_CORE, "free_a_core", FREE_A_CORE, NULL)                                               \
    X(START_FEWER_PROCESSES, "start_fewer_processes", FREE_A_CORE, NULL)                           \
    X(LAUNCH_AS_GRAPH, "launch_as_graph", LAUNCH_AS_GRAPH, "cuda_graph=1")                         \
    X(COMPILE_PARTS, "compile_parts", LAUNCH_AS_GRAPH, "cuda_graph=1")                             \
    X(LAUNCH_FEWER, "launch_fewer", LAUNCH_AS_GRAPH, "cuda_graph=1")                               \
    X(SET_COMPUTE_THREADS, "set_compute_threads", SET_COMPUTE_THREADS, NULL)                       \
    X(SWITCH_DEBUGGING_OFF, "switch_debugging_off", SWITCH_DEBUGGING_OFF, NULL)                    \
    X(STOP_ANOMALY_DETECTION, "stop_anomaly_detection", SWITCH_DEBUGGING_OFF, NULL)                \
    X(KEEP_NEW_UNFILLED, "keep_new_unfilled", SWITCH_DEBUGGING_OFF, NULL)                          \
    X(STOP_TRACING, "stop_tracing", SWITCH_DEBUGGING_OFF, NULL)                                    \
    X(FREEZE_GARBAGE, "freeze_garbage", FREEZE_GARBAGE, "gc=freeze")                               \
    X(COLLECT_GARBAGE_RARELY, "collect_garbage_rarely", FREEZE_GARBAGE, "gc=freeze")               \
    X(GENERATE_IN_FEWER_LAUNCHES, "generate_in_fewer_launches", GENERATE_IN_FEWER_LAUNCHES, NULL)  \
    X(MOVE_HOST_WORK, "move_host_work", MOVE_HOST_WORK, NULL)                                      \
    X(TRAIN_ON_GPU, "train_on_gpu", MOVE_HOST_WORK, NULL)                                          \
    X(WAIT_ASIDE, "wait_aside", MOVE_HOST_WORK, NULL)                                              \
    X(SHORTEN_LINE, "shorten_line", MOVE_HOST_WORK, NULL)                                          \
    X(MOVE_TO_PROCESS, "move_to_process", MOVE_HOST_WORK, NULL)                                    \
    X(FUSE_HOST_UPDATE, "fuse_host_update", MOVE_HOST_WORK, NULL)                                  \
    X(COMPILE_TO_GRAPHS, "compile_to_graphs", MOVE_HOST_WORK, NULL)                                \
    X(RUN_LESS_BETWEEN_LAUNCHES, "run_less_between_launches", MOVE_HOST_WORK, NULL)                \
    X(DO_AT_ONCE, "do_at_once", DO_AT_ONCE, NULL)                                                  \
    X(CALL_ONCE, "call_once", DO_AT_ONCE, NULL)                                                    \
    X(MOVE_RARE_WORK, "move_rare_work", MOVE_RARE_WORK, NULL)                                      \
    X(COMPILE_ONCE, "compile_once", MOVE_RARE_WORK, NULL)                                          \
    X(DETACH_STATE, "detach_state", DETACH_STATE, NULL)                                            \
    X(FIX_GRAPH_SIZES, "fix_graph_sizes", FIX_SHAPES, NULL)                                        \
    X(FIX_SHAPES, "fix_shapes", FIX_SHAPES, NULL)                                                  \
    X(WAIT_LESS, "wait_less", WAIT_LESS, "sync_every=100")                                         \
    X(FIX_RESULT_SIZES, "fix_result_sizes", WAIT_LESS, NULL)                                       \
    X(FIND_WAIT, "find_wait", WAIT_LESS, NULL)                                                     \
    X(READ_RARELY, "read_rarely", WAIT_LESS, "sync_every=100")                                     \
    X(REMOVE_SYNCHRONIZE, "remove_synchronize", WAIT_LESS, "sync_every=100")                       \
    X(UPLOAD_WITHOUT_WAITING, "upload_without_waiting", WAIT_LESS, "non_blocking=1")               \
    X(UPLOAD_BATCHES, "upload_batches", WAIT_LESS, NULL)                                           \
    X(LET_STREAMS_WAIT, "let_streams_wait", WAIT_LESS, "sync_every=100")                           \
    X(READ_TIMES_ONCE, "read_times_once", WAIT_LESS, NULL)                                         \
    X(CHOOSE_ACTIONS_TOGETHER, "choose_actions_together", WAIT_LESS, NULL)                         \
    X(LOG_RARELY, "log_rarely", WAIT_LESS, NULL)                                                   \
    X(LOWER_ZERO_STAGE, "lower_zero_stage", WAIT_LESS, NULL)                                       \
    X(RECORD_LATER, "record_later", RECORD_LATER, NULL)                                            \
    X(RECORD_LONGER, "record_longer", RECORD_LATER, NULL)                                          \
    X(SHARE_CONTEXT, "share_context", RECORD_LATER, NULL)                                          \
    X(KEEP_COMPILED_CODE, "keep_compiled_code", RECORD_LATER, NULL)                                \
    X(LEAVE_END_OUT, "leave_end_out", RECORD_LATER, NULL)

#define ACTIONS_OF_COPIES(X)                                                                       \
    X(COPY_LESS_TO_GPU, "copy_less_to_gpu", COPY_LESS_TO_GPU, "offload=0")                         \
    X(FLATTEN_WEIGHTS, "flatten_weights", COPY_LESS_ON_GPU, NULL)                                  \
    X(COPY_LESS_ON_GPU, "copy_less_on_gpu", COPY_LESS_ON_GPU, NULL)                                \
    X(WRAP_HOST_DATA, "wrap_host_data", WRAP_HOST_DATA, NULL)                                      \
    X(PREFETCH_MANAGED, "prefetch_managed", PREFETCH_MANAGED, NULL)                                \
    X(OVERLAP_COPIES, "overlap_copies", OVERLAP_COPIES, "non_blocking=1")                          \
    X(COPY_WITHOUT_WAITING, "copy_without_waiting", OVERLAP_COPIES, "non_blocking=1")              \
    X(COPY_AHEAD, "copy_ahead", OVERLAP_COPIES, NULL)                                              \
    X(JOIN_COPIES, "join_copies", OVERLAP_COPIES, NULL)                                            \
    X(PIN_BATCHES, "pin_batches", PIN_BATCHES, "pin_memory=1{?waited:;non_blocking=1}")            \
    X(PIN_BOTH_WAYS, "pin_both_ways", PIN_BATCHES, NULL)                                           \
    X(PIN_OTHERS, "pin_others", PIN_BATCHES, NULL)                                                 \
    X(MAKE_ON_GPU, "make_on_gpu", MAKE_ON_GPU, NULL)

#define ACTIONS_OF_KERNELS(X)                                                                      \
    X(DROP_BIAS, "drop_bias", DROP_BIAS, NULL)                                                     \
    X(USE_CHANNELS_LAST, "use_channels_last", USE_CHANNELS_LAST, "channels_last=1")                \
    X(COOL_GPU, "cool_gpu", COOL_GPU, NULL)                                                        \
    X(USE_TENSOR_CORE_ALGORITHM, "use_tensor_core_algorithm", USE_TENSOR_CORE_ALGORITHM,           \
      "{!searches:{!benchmark_on:cudnn_benchmark=1}}")                                             \
    X(MEASURE_ALGORITHMS, "measure_algorithms", MEASURE_ALGORITHMS, "cudnn_benchmark=1")           \
    X(FILL_GPU, "fill_gpu", FILL_GPU, NULL)                                                        \
    X(FUSE_ATTENTION, "fuse_attention", FUSE_ATTENTION, NULL)                                      \
    X(PAD_SIZES, "pad_sizes", PAD_SIZES, "{!of_convolutions:pad_vocab=1}")                         \
    X(USE_LIBRARY_KERNELS, "use_library_kernels", USE_LIBRARY_KERNELS, NULL)                       \
    X(FUSE_POINTWISE, "fuse_pointwise", FUSE_POINTWISE, "fuse_pointwise=1")                        \
    X(USE_NHWC_NORMALISATION, "use_nhwc_normalisation", USE_NHWC_NORMALISATION, NULL)              \
    X(USE_TENSOR_CORES, "use_tensor_cores", USE_TENSOR_CORES, "precision={dtype}")                 \
    X(MIX_PRECISION, "mix_precision", USE_TENSOR_CORES,                                            \
      "precision={dtype}{?to_channels_last:;channels_last=1}")                                     \
    X(USE_SINGLE_PRECISION, "use_single_precision", USE_SINGLE_PRECISION, NULL)                    \
    X(LOOK_AT_KERNEL, "look_at_kernel", LOOK_AT_KERNEL, NULL)                                      \
    X(CAST_LESS, "cast_less", CAST_LESS, NULL)

#define ACTIONS_OF_TRAINING(X)                                                                     \
    X(KEEP_ACTIVATIONS, "keep_activations", KEEP_ACTIVATIONS, "checkpoint=0")                      \
    X(EVALUATE_WITHOUT_GRADIENTS, "evaluate_without_gradients", EVALUATE_WITHOUT_GRADIENTS, NULL)  \
    X(KEEP_RESULTS, "keep_results", KEEP_RESULTS, NULL)                                            \
    X(DIFFERENTIATE_LESS, "differentiate_less", DIFFERENTIATE_LESS, NULL)                          \
    X(SUM_LOSSES, "sum_losses", SUM_LOSSES, NULL)                                                  \
    X(STOP_GRADIENTS, "stop_gradients", STOP_GRADIENTS, NULL)                                      \
    X(FUSE_OPTIMIZER, "fuse_optimizer", FUSE_OPTIMIZER, "optimizer=fused")                         \
    X(MERGE_GROUPS, "merge_groups", FUSE_OPTIMIZER, NULL)                                          \
    X(UPDATE_BY_LISTS, "update_by_lists", FUSE_OPTIMIZER, "optimizer=foreach")                     \
    X(WRITE_UPDATE_BY_LISTS, "write_update_by_lists", FUSE_OPTIMIZER, NULL)                        \
    X(CLIP_AT_ONCE, "clip_at_once", CLIP_AT_ONCE, "clip=fused")                                    \
    X(SCALE_ON_GPU, "scale_on_gpu", SCALE_ON_GPU, "scaler=fused")                                  \
    X(SHARD_LESS, "shard_less", SHARD_LESS, NULL)                                                  \
    X(NEED_LESS_MEMORY, "need_less_memory", NEED_LESS_MEMORY, NULL)                                \
    X(JOIN_FREE_MEMORY, "join_free_memory", NEED_LESS_MEMORY, NULL)                                \
    X(PAD_TO_LONGEST, "pad_to_longest", PAD_TO_LONGEST, NULL)                                      \
    X(SELECT_LABELLED, "select_labelled", SELECT_LABELLED, NULL)                                   \
    X(USE_SPARSE_GRADIENTS, "use_sparse_gradients", USE_SPARSE_GRADIENTS, NULL)                    \
    X(OVERWRITE_GRADIENTS, "overwrite_gradients", OVERWRITE_GRADIENTS, "zero_grad=none")

#define ACTIONS_OF_RANKS(X)                                                                        \
    X(KEEP_OWN_BUFFERS, "keep_own_buffers", KEEP_OWN_BUFFERS, "broadcast_buffers=0")               \
    X(RESIZE_BUCKETS, "resize_buckets", RESIZE_BUCKETS, "bucket_mb=25;first_bucket_mb=1")          \
    X(SPLIT_BUCKETS, "split_buckets", RESIZE_BUCKETS, "bucket_mb=25;first_bucket_mb=1")            \
    X(SHARD_LARGER_GROUPS, "shard_larger_groups", RESIZE_BUCKETS, NULL)                            \
    X(RUN_PROCESS_PER_GPU, "run_process_per_gpu", RUN_PROCESS_PER_GPU, "mode=ddp")                 \
    X(OVERLAP_COLLECTIVES, "overlap_collectives", OVERLAP_COLLECTIVES,                             \
      "{?never_overlapped:overlap=1}")                                                             \
    X(JOIN_COLLECTIVES, "join_collectives", OVERLAP_COLLECTIVES, "{?never_overlapped:overlap=1}")  \
    X(COMMUNICATE_LESS, "communicate_less", OVERLAP_COLLECTIVES, "{?never_overlapped:overlap=1}")  \
    X(EXCHANGE_EARLIER, "exchange_earlier", EXCHANGE_EARLIER, NULL)                                \
    X(OVERLAP_LAYERS, "overlap_layers", OVERLAP_LAYERS, NULL)                                      \
    X(SPLIT_MODEL_LESS, "split_model_less", SPLIT_MODEL_LESS, NULL)                                \
    X(EXCHANGE_ONCE, "exchange_once", EXCHANGE_ONCE, "no_sync=1")                                  \
    X(FILL_PIPELINE, "fill_pipeline", FILL_PIPELINE, NULL)                                         \
    X(BALANCE_RANKS, "balance_ranks", BALANCE_RANKS, NULL)                                         \
    X(CHECK_RANK, "check_rank", BALANCE_RANKS, NULL)

#define ACTIONS(X)                                                                                 \
    ACTIONS_OF_INPUT(X)                                                                            \
    ACTIONS_OF_HOST(X)                                                                             \
    ACTIONS_OF_COPIES(X)                                                                           \
    ACTIONS_OF_KERNELS(X)                                                                          \
    ACTIONS_OF_TRAINING(X)                                                                         \
    ACTIONS_OF_RANKS(X)

enum action {
    ACTION_NONE,
#define X(name, id, general, settings) ACTION_##name,
    ACTIONS(X)
#undef X
        ACTION_COUNT
};

/* Returns e.g. "set_workers"; never NULL. */
const char *action_id(enum action a);
/* Returns the action of which this one is a special case, or itself. */
enum action action_general(enum action a);
/* Returns the template of the action's settings, or NULL. */
const char *action_settings(enum action a);

#endif
