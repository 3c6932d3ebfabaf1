/* Words for CUDA C: calls of the runtime and of NVIDIA's libraries. */
#include "analyzer/dialects/dialect.h"

const struct dialect dialect_cuda = {
    .id = "cuda",
    .name = "CUDA C",
    .base = &dialect_any,
    .titles = {[ACTION_MAKE_ON_GPU] = "Keep small data on the GPU, or send them together"},
    .words =
        {
            [ACTION_LOAD_IN_WORKERS] =
                "reader threads that fill a ring of batch slots ahead of the loop",
            [ACTION_SET_WORKERS] = "{!workers=0:{workers} reader thread{!workers=1:s} filling a "
                                   "ring of batch slots ahead of the loop}",
            [ACTION_TRY_WORKERS] =
                "make batches in reader threads that fill a ring of slots ahead of the loop",
            [ACTION_FREE_CORES_FOR_WORKERS] =
                "no more reader threads than free cores; decode on the GPU (nvJPEG)",
            [ACTION_MAKE_SAMPLES_CHEAPER] = "decode and resize once, before training, and map "
                                            "the results into memory; decode on the GPU (nvJPEG)",
            [ACTION_USE_FASTER_STORAGE] =
                "read ahead with posix_fadvise or io_uring into larger requests; keep the set in "
                "memory (mmap with MAP_POPULATE)",
            [ACTION_KEEP_WORKERS] =
                "start the reader threads once, and let them wait between epochs",
            [ACTION_ENLARGE_BATCH] =
                "a larger batch dimension in the descriptors{!only_infers:; scale the learning "
                "rate}",
            [ACTION_ALLOCATE_ONCE] =
                "allocate once before the loop and reuse (an arena), or "
                "cudaMallocAsync/cudaFreeAsync with cudaMemPoolAttrReleaseThreshold raised",
            [ACTION_FREE_A_CORE] = "fewer busy threads; pthread_setaffinity_np for the launching "
                                   "thread; block instead of spinning",
            [ACTION_LAUNCH_AS_GRAPH] =
                "cudaStreamBeginCapture around the step once, then cudaGraphLaunch",
            [ACTION_LAUNCH_FEWER] =
                "fewer, larger kernels{!repeats:, with more work in each}{?repeats:; what repeats: "
                "cudaStreamBeginCapture once, then cudaGraphLaunch}",
            [ACTION_SWITCH_DEBUGGING_OFF] =
                "unset CUDA_LAUNCH_BLOCKING; no cudaDeviceSynchronize after launches in release "
                "builds; check for NaN{!window: every N steps}{?window: now and then}",
            [ACTION_STOP_ANOMALY_DETECTION] = "check for NaN{!window: every N steps}{?window: now "
                                              "and then}",
            [ACTION_STOP_TRACING] = "run without {call}",
            [ACTION_FREEZE_GARBAGE] =
                "C has no garbage collector: look at the interpreter that drives the program",
            [ACTION_GENERATE_IN_FEWER_LAUNCHES] =
                "capture the kernels of one token as a CUDA graph, and launch it for each token",
            [ACTION_MOVE_HOST_WORK] = "move it to another thread, or do it while {!window:the next "
                                      "step's }work is queued",
            [ACTION_WAIT_ASIDE] =
                "the host does not compute then, it waits: for another thread or process, a file, "
                "a lock or a sleep: begin that earlier, in a thread of its own, while the GPU "
                "works",
            [ACTION_RUN_LESS_BETWEEN_LAUNCHES] =
                "fewer and larger kernels, or a CUDA graph, which launches many at once",
            [ACTION_DO_AT_ONCE] =
                "one kernel over all of them (an array of pointers and sizes), in "
                "place of a launch for each",
            [ACTION_DETACH_STATE] = "start each step from values alone, not from what recorded how "
                                    "earlier steps computed them",
            [ACTION_MOVE_RARE_WORK] =
                "copy what is to be written with cudaMemcpyAsync into pinned memory, and write it "
                "from another thread while the next steps run",
            [ACTION_FIX_GRAPH_SIZES] = "pad to a few sizes, with a graph for each that is "
                                       "instantiated once (cudaGraphExecUpdate for parameters)",
            [ACTION_FIX_SHAPES] =
                "keep a table of algorithms by shape instead of calling cudnnFind* again",
            [ACTION_FIND_WAIT] = "a library waits for a value: pass sizes that the host knows",
            [ACTION_WAIT_LESS] = "cudaMemcpyAsync the result into pinned memory, record an event, "
                                 "and read it {!window:one step }later",
            [ACTION_REMOVE_SYNCHRONIZE] =
                "{?also_read:cudaMemcpyAsync the result into pinned memory, record an event, and "
                "read it {!window:one step }later; }remove {name|cudaDeviceSynchronize}{!window: "
                "from "
                "the loop}; wait only for the event of the result that you need",
            [ACTION_UPLOAD_WITHOUT_WAITING] = "leave out {name|cudaStreamSynchronize} behind a "
                                              "copy to the GPU: the stream keeps the order",
            [ACTION_LET_STREAMS_WAIT] =
                "cudaStreamWaitEvent instead of {name|cudaStreamSynchronize}: streams wait for "
                "each other, and the host continues",
            [ACTION_READ_TIMES_ONCE] =
                "the waits stand right behind a pair of cudaEventRecord, as in a measurement of "
                "time: keep the events of each pass in an array, and read the times once after the "
                "loop (cudaEventSynchronize for the last one, then cudaEventElapsedTime)",
            [ACTION_CHOOSE_ACTIONS_TOGETHER] =
                "choose for many environments in one pass; read what is only logged{!window: every "
                "N steps}{?window: now and then}",
            [ACTION_RECORD_LATER] =
                "run the loop ten times before recording: gpuprof run --steps 10:20, or --delay",
            [ACTION_RECORD_LONGER] =
                "let the loop run longer, or record later: gpuprof run --delay; if this is all "
                "that the program does, allocate once, in few calls",
            [ACTION_SHARE_CONTEXT] =
                "do the work of many runs in one process; keep the driver loaded (nvidia-smi -pm "
                "1); show the program only the GPUs that it uses (CUDA_VISIBLE_DEVICES); less "
                "device code: compile for fewer architectures, load it when it is first used "
                "(CUDA_MODULE_LOADING=LAZY); or record later: gpuprof run --delay",
            [ACTION_KEEP_COMPILED_CODE] =
                "let the loop run longer, or record later: gpuprof run --delay; if this is all "
                "that the program does, keep what it compiles and tunes from one run to the next "
                "(NVRTC's cubins), or compile it ahead with nvcc",
            [ACTION_LEAVE_END_OUT] =
                "the driver takes back memory and code when the process ends: what frees and "
                "unloads right before that can go; or end the recording before it: "
                "cudaProfilerStop() with gpuprof run --range cuda-profiler, or nsys profile "
                "--capture-range=cudaProfilerApi",
            [ACTION_COPY_LESS_TO_GPU] = "cudaMalloc once and keep what every step reads; copy the "
                                        "packed form and unpack in a kernel",
            [ACTION_COPY_LESS_ON_GPU] =
                "pass strides or offsets to the kernel that reads the data; let the previous "
                "kernel write where the next one reads",
            [ACTION_WRAP_HOST_DATA] = "let the loader write directly into the pinned buffer",
            [ACTION_PREFETCH_MANAGED] =
                "cudaMemPrefetchAsync(p, bytes, device, stream) before the first kernel, and to "
                "the host before it reads; cudaMemAdviseSetReadMostly for constants; or cudaMalloc "
                "with cudaMemcpyAsync from pinned memory",
            [ACTION_OVERLAP_COPIES] = "a second stream, cudaMemcpyAsync into the other of two "
                                      "device buffers, cudaEventRecord and cudaStreamWaitEvent",
            [ACTION_PIN_BATCHES] = "cudaHostAlloc (or cudaHostRegister once) for the batch slots, "
                                   "then cudaMemcpyAsync",
            [ACTION_PIN_BOTH_WAYS] =
                "cudaHostAlloc (or cudaHostRegister once) for the buffers, then cudaMemcpyAsync in "
                "both directions, and one cudaStreamSynchronize before the host reads",
            [ACTION_MAKE_ON_GPU] =
                "copy constants once before the loop; pass scalars as kernel arguments; pack the "
                "rest into one pinned buffer and one cudaMemcpyAsync",
            [ACTION_DROP_BIAS] =
                "remove cudnnAddTensor and cudnnConvolutionBackwardBias before a normalisation",
            [ACTION_USE_CHANNELS_LAST] =
                "CUDNN_TENSOR_NHWC for tensors and filters (KRSC){?plain_norm:, and "
                "cudnnBatchNormalization...Ex with workspace and reserve space: the calls that the "
                "program makes have no fast kernels for NHWC}",
            [ACTION_USE_TENSOR_CORE_ALGORITHM] =
                "{!searches:cudnnSetConvolutionMathType(CUDNN_TENSOR_OP_MATH), and "
                "cudnnFind*AlgorithmEx called twice, with a workspace of some 100 MB; channels "
                "that are multiples of 8; or cuDNN's graph API}{?searches:{?searches_twice:of what "
                "cudnnFind*AlgorithmEx answers, take the first algorithm whose mathType is "
                "CUDNN_TENSOR_OP_MATH: the search counts what the host takes to prepare a kernel, "
                "so one without tensor cores wins all the same where convolutions are short; or "
                "measure them yourself, several launches between two events; or take "
                "cudnnGetConvolution*Algorithm_v7, or cuDNN's graph API}{!searches_twice:call "
                "cudnnFind*AlgorithmEx twice and use the second answer: the first launch of a "
                "kernel includes loading it, so a slow kernel that is loaded already may win; or "
                "take cudnnGetConvolution*Algorithm_v7, or cuDNN's graph API. "
                "CUDNN_TENSOR_OP_MATH, and a workspace of some 100 MB, in the search and in the "
                "call}}",
            [ACTION_MEASURE_ALGORITHMS] =
                "measure once per shape what cudnnGetConvolution*Algorithm_v7 lists, several "
                "launches between two events, with a workspace of some 100 MB; "
                "cudnnFind*AlgorithmEx does that with the host's time in it, which misleads where "
                "convolutions are short",
            [ACTION_FILL_GPU] =
                "start more blocks than the GPU has multiprocessors, of 128 threads and more "
                "(cudaOccupancyMaxPotentialBlockSize gives both), and let each thread take its "
                "share in a grid-stride loop: for (i = blockIdx.x * blockDim.x + threadIdx.x; i < "
                "n; i += gridDim.x * blockDim.x); independent launches: side by side, on several "
                "streams",
            [ACTION_FUSE_ATTENTION] = "cuDNN's graph API (scaled dot product attention, forward "
                                      "and backward), or FlashAttention's kernels",
            [ACTION_PAD_SIZES] =
                "pad leading dimensions to 16 bytes and pass the padded layout to cuBLASLt",
            [ACTION_USE_LIBRARY_KERNELS] =
                "cublasLtMatmul or cublasGemmEx (CUBLAS_COMPUTE_32F_FAST_TF32, or BF16 tensors, "
                "for the tensor cores; epilogues add bias and activation); "
                "cudnnConvolutionForward/BackwardData/BackwardFilter or cuDNN's graph API; CUTLASS "
                "where other work must be fused with the product",
            [ACTION_FUSE_POINTWISE] =
                "one kernel for the chain; biases and activations in the product's epilogue "
                "(CUBLASLT_EPILOGUE_GELU_AUX_BIAS), residual additions in the normalisation",
            [ACTION_USE_NHWC_NORMALISATION] =
                "cudnnBatchNormalizationForwardTrainingEx and BackwardEx with "
                "CUDNN_BATCHNORM_SPATIAL_PERSISTENT, tensors in NHWC, and the workspace and "
                "reserve space that cudnnGetBatchNormalization...Size ask for; or cuDNN's graph "
                "API",
            [ACTION_USE_TENSOR_CORES] = "CUBLAS_COMPUTE_32F_FAST_TF32 / CUDNN_DEFAULT_MATH, or "
                                        "16-bit tensors with 32F compute",
            [ACTION_MIX_PRECISION] =
                "{?dtype=bf16:BF16 tensors with CUBLAS_COMPUTE_32F{!has_tf32:; or "
                "CUBLAS_COMPUTE_32F_FAST_TF32 and CUDNN_DEFAULT_MATH for TF32{?tf32_saves: "
                "({tf32_saves})}}}{?dtype=fp16:FP16 tensors, CUBLAS_COMPUTE_32F, "
                "CUDNN_TENSOR_OP_MATH, and loss scaling}{?to_channels_last:; CUDNN_TENSOR_NHWC for "
                "tensors and filters}",
            [ACTION_USE_SINGLE_PRECISION] = "float in place of double, cublasSgemm in place of "
                                            "cublasDgemm",
            [ACTION_PAD_TO_LONGEST] = "pad each batch to its longest sequence",
            [ACTION_SELECT_LABELLED] = "gather the labelled rows before the product with the "
                                       "vocabulary's matrix",
            [ACTION_USE_SPARSE_GRADIENTS] = "a kernel that updates the rows in a list of ids",
            [ACTION_CAST_LESS] =
                "let the update kernel write the 16-bit copy together with the FP32 weight",
            [ACTION_KEEP_ACTIVATIONS] = "keep the activations of as many layers as fit",
            [ACTION_EVALUATE_WITHOUT_GRADIENTS] =
                "cudnnBatchNormalizationForwardInference, and one buffer for all activations",
            [ACTION_FUSE_OPTIMIZER] =
                "parameters, gradients and state in flat buffers, one kernel over them",
            [ACTION_CLIP_AT_ONCE] = "sum the squares of one flat buffer in two kernels, and let "
                                    "the update kernel read the factor from device memory",
            [ACTION_SCALE_ON_GPU] = "check one flat gradient buffer, and let the update kernel "
                                    "read scale and flag from device memory",
            [ACTION_NEED_LESS_MEMORY] =
                "a smaller batch, with the gradients of several added up; or compute activations "
                "again in the backward pass; or keep them in 16 bits",
            [ACTION_JOIN_FREE_MEMORY] = "one arena, or cudaMallocAsync: what lies free in pieces "
                                        "is more than the program asked for",
            [ACTION_SHARD_LESS] = "shard the optimizer's state alone",
            [ACTION_OVERWRITE_GRADIENTS] =
                "beta = 0 in the weight-gradient call instead of cudaMemsetAsync and beta = 1",
            [ACTION_KEEP_OWN_BUFFERS] = "no ncclBroadcast of running statistics in the loop: once "
                                        "before evaluating or saving",
            [ACTION_RESIZE_BUCKETS] =
                "pack gradients into buckets of about 25 MB in the order of backward; run one "
                "ncclAllReduce per bucket on a separate stream, after the bucket's last gradient",
            [ACTION_SPLIT_BUCKETS] =
                "ncclAllReduce in several buckets, in the order in which backward computes "
                "gradients; start each one with an event after its last gradient",
            [ACTION_SHARD_LARGER_GROUPS] =
                "gather and reduce several layers by one ncclAllGather and one ncclReduceScatter",
            [ACTION_RUN_PROCESS_PER_GPU] =
                "a process (or thread) per GPU, ncclCommInitRank, and ncclAllReduce of gradients "
                "instead of broadcasting weights",
            [ACTION_OVERLAP_COLLECTIVES] =
                "ncclAllReduce per bucket on a second stream, event after the bucket's last "
                "gradient, wait for it only before the optimizer",
            [ACTION_JOIN_COLLECTIVES] =
                "pack gradients into a few large buffers; run one ncclAllReduce per buffer on a "
                "separate stream as soon as its last gradient is ready",
            [ACTION_COMMUNICATE_LESS] = "one ncclAllReduce for several micro-batches, 16-bit "
                                        "buffers; then overlap the rest",
            [ACTION_EXCHANGE_EARLIER] =
                "{?maybe_pipeline:stages of a pipeline: more micro-batches {!window:per "
                "step}{?window:in the window}. Exchange of all with all: }send one half of the "
                "batch on a second stream while the other half computes; send 16-bit values",
            [ACTION_OVERLAP_LAYERS] = "run collectives on a second stream beside the other half of "
                                      "the batch; wait with an event where the result is used",
            [ACTION_SPLIT_MODEL_LESS] = "cut each product into parts, and run the collective of "
                                        "one part on a second stream while the next part computes; "
                                        "split the model among fewer ranks, all within one node",
            [ACTION_EXCHANGE_ONCE] = "ncclAllReduce only after the backward pass of the last part",
            [ACTION_FILL_PIPELINE] =
                "use more micro-batches per step; send a micro-batch on a second stream while the "
                "next one computes; give each stage the same work",
            [ACTION_BALANCE_RANKS] =
                "balance the work between ranks; pin each rank to its own cores",
        },
};
