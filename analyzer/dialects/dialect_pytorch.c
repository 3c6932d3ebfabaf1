/* Words for PyTorch, and for libraries on top of it that have no dialect of their own. */
#include "analyzer/dialects/dialect.h"

const struct dialect dialect_pytorch = {
    .id = "pytorch",
    .name = "PyTorch",
    .base = &dialect_any,
    .hooked = true,
    .loader = {"DataLoader(...", "", "num_workers", ")", NULL},
    .phrases =
        {{"autocast", "with torch.autocast('cuda', dtype=torch.bfloat16): ...{?has_tf32: "
                      "around forward and loss}"},
         {"compile", "{!compiled:torch.compile(model)}{?compiled:compile what torch.compile leaves "
                     "out now (TORCH_LOGS=graph_breaks names it)}"},
         {"compile_to_graphs", "{?graphs_asked:mend what keeps torch.compile from its CUDA graphs "
                               "(TORCH_LOGS=perf_hints names "
                               "it)}{!graphs_asked:{?compiled:mode='reduce-overhead' in the "
                               "torch.compile call that is there}{!compiled:torch.compile(model, "
                               "mode='reduce-overhead')}}"},
         {"fused_optimizer", "torch.optim.{optimizer|AdamW}(params, fused=True)"},
         /* A call inside an installed package may not be the user's to change. */
         {"package", "{?package:{package} waits ({place}); if that is not your code, look for its "
                     "option that leaves this out (logs, timers, checks); if it is: }"}},
    .words =
        {
            [ACTION_LOAD_IN_WORKERS] = "{loader num_workers prefetch_factor persistent_workers}",
            [ACTION_SET_WORKERS] =
                "{loader num_workers{!workers=0:{!made_anew: persistent_workers}}}{?workers=0:: "
                "making such a cheap batch takes less time than handing it over; or use larger "
                "batches}{?fewer_than_now:: more workers only compete for the cores with each "
                "other and with the loop}{?start_method:; workers start by {start_method} here, "
                "which imports the program again: keep its loop under if __name__ == '__main__':, "
                "or add multiprocessing_context='fork'}",
            [ACTION_TRY_WORKERS] =
                "{loader num_workers persistent_workers}: the recording lacks the "
                "{?cores_unknown:number of cores}{!cores_unknown:cost of a "
                "batch}{?waits_unknown:, the waits of workers, or the number of cores}, so "
                "{?one_by_one:increase N one by one, up to the number of free "
                "cores}{!one_by_one:time several values of N}{!cores_unknown:; where that stops "
                "helping, the samples cost too much: gpuprof run names the line that makes them}",
            [ACTION_ADD_WORKERS] = "more workers, up to the number of cores, or cheaper batches: "
                                   "gpuprof run records what each takes",
            [ACTION_HAND_OVER_LESS] =
                "use larger batches, each with few large tensors instead of many small ones or "
                "Python objects (join the samples' in the collate function): the transfer between "
                "processes costs more than making the batch",
            [ACTION_SHARD_DATASET] =
                "{?shards_itself:{loader num_workers persistent_workers}: its __iter__ asks for "
                "get_worker_info(), so check that each worker yields a part of its own, then time "
                "it}{!shards_itself:no workers yet: each would deliver the whole IterableDataset. "
                "First divide it in __iter__: info = torch.utils.data.get_worker_info(); for i, x "
                "in enumerate(source): if info is None or i % info.num_workers == info.id: yield "
                "x. Then num_workers=N}",
            [ACTION_FREE_CORES_FOR_WORKERS] =
                "set num_workers to at most the number of cores that the training leaves free; "
                "torch.set_num_threads(1) in worker_init_fn, OMP_NUM_THREADS=1; more cores for the "
                "job (--cpus-per-task, cpuset); decode on the GPU (torchvision nvjpeg, DALI)",
            [ACTION_USE_CORES_GIVEN] =
                "os.sched_setaffinity(0, range(os.cpu_count())) behind the imports, or in "
                "worker_init_fn for the workers alone; what confines the process is a call of "
                "sched_setaffinity() in the program or in a package that it imports, or an OpenMP "
                "setting such as GOMP_CPU_AFFINITY or KMP_AFFINITY",
            [ACTION_MAKE_SAMPLES_CHEAPER] =
                "do once what does not change: decode, unpack, resize or tokenize before training "
                "and store the result (np.load(mmap_mode='r'), webdataset, memory-mapped Arrow); "
                "keep files open in each worker instead of opening one per sample; augment on the "
                "GPU, on whole batches (torchvision.transforms.v2, nvjpeg, DALI)",
            [ACTION_TAKE_BATCH_AT_ONCE] =
                "index the tensors once a batch: x[i], y[i] with i = torch.randperm(len(x), "
                "device=x.device)[k:k + batch]; or DataLoader(dataset, "
                "sampler=BatchSampler(RandomSampler(dataset), batch, False), batch_size=None), "
                "which asks a TensorDataset once for all of them; what the data set computes on "
                "the "
                "GPU for each sample, compute in the loop for the whole batch",
            [ACTION_OPEN_DATA_ONCE] =
                "{?place:{place}: }what __iter__ does before its first sample comes again with "
                "each "
                "loop over the loader, in kept workers as well: do it in __init__ and keep it; "
                "fill "
                "a smaller buffer to shuffle in, and shuffle the order of files or shards instead; "
                "or let __iter__ never end and take a number of batches for an epoch, so that one "
                "loop goes on through all of them",
            [ACTION_USE_FASTER_STORAGE] =
                "move the data set to local NVMe or /dev/shm; WebDataset or one large file instead "
                "of many small ones; add workers while the storage keeps up",
            [ACTION_KEEP_WORKERS] =
                "{loader persistent_workers}{?general:, created once, before the loop over the "
                "epochs}{?start_method:; multiprocessing_context=\"fork\" also makes the first "
                "start faster, if the program has no threads and uses no GPU yet}",
            [ACTION_CREATE_LOADER_ONCE] = "create the DataLoader once, before the loop over the "
                                          "epochs, with persistent_workers=True",
            [ACTION_USE_FEWER_WORKERS] = "{loader num_workers}, with fewer workers or none: the "
                                         "library starts them anew for each loop",
            [ACTION_ENLARGE_BATCH] =
                "{?only_infers:{!no_loader:DataLoader(batch_size=N): more samples a call of the "
                "model}{?no_loader:more samples a call of the model, where the program makes its "
                "inputs}}{!only_infers:{!no_loader:DataLoader(batch_size=N)}{?no_loader:more "
                "samples a step where the program makes its batches}, with the learning rate "
                "scaled and warmed up}",
            [ACTION_ALLOCATE_ONCE] =
                "no torch.cuda.empty_cache() in the loop; "
                "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True against fragmentation",
            [ACTION_KEEP_MEMORY_POOL] =
                "let PyTorch keep its memory pool: unset PYTORCH_NO_CUDA_MEMORY_CACHING, and no "
                "torch.cuda.empty_cache() in the loop",
            [ACTION_FREE_A_CORE] = "OMP_NUM_THREADS=cores/ranks, torch.set_num_threads(N); numactl "
                                   "--cpunodebind to the GPU's node, or torchrun under taskset",
            [ACTION_START_FEWER_PROCESSES] =
                "OMP_NUM_THREADS is 1 already: fewer loader workers, fewer ranks on these cores, "
                "or more cores for the job (--cpus-per-task, cpuset)",
            [ACTION_LAUNCH_AS_GRAPH] =
                "{@compile_to_graphs}, or torch.cuda.graphs.make_graphed_callables; a larger batch "
                "helps as well",
            [ACTION_COMPILE_PARTS] =
                "{?engine=ZeRO 3:ZeRO 3 gathers and frees weights in each "
                "step}{?engine=DeepSpeed:DeepSpeed's engine reads the norm of the gradients in "
                "each step}{?engine=FSDP:FSDP gathers and frees weights in each step}, so one "
                "graph of the step does not fit: {?engine=FSDP:torch.compile(block) for each block "
                "before it is sharded}{!engine=FSDP:engine.compile()}, or a larger batch",
            [ACTION_LAUNCH_FEWER] =
                "{!repeats:{@compile}, fused operations, or a larger batch}{?repeats:{@compile} "
                "and fused operations, or a larger batch; what repeats with the same shapes: "
                "mode='reduce-overhead'}",
            [ACTION_SWITCH_DEBUGGING_OFF] =
                "unset CUDA_LAUNCH_BLOCKING; torch.autograd.set_detect_anomaly(False); no "
                "torch.isnan(x).any() per layer",
            [ACTION_STOP_ANOMALY_DETECTION] = "remove torch.autograd.set_detect_anomaly(True) or "
                                              "torch.autograd.detect_anomaly(): "
                                              "it is for finding where a NaN comes from",
            [ACTION_KEEP_NEW_UNFILLED] =
                "torch.utils.deterministic.fill_uninitialized_memory = False behind "
                "torch.use_deterministic_algorithms(True): results stay the same from run to run, "
                "unless an operation reads what none has written",
            [ACTION_STOP_TRACING] =
                "train without {call}; torch.profiler.profile(schedule=torch.profiler.schedule("
                "wait=10, warmup=3, active=5)) records a few steps and then costs nothing",
            [ACTION_FREEZE_GARBAGE] =
                "after everything is built: import gc; gc.collect(); gc.freeze(); or gc.disable() "
                "with gc.collect() every few hundred steps; keep samples in NumPy arrays or "
                "tensors rather than in lists of Python objects",
            [ACTION_COLLECT_GARBAGE_RARELY] =
                "the program calls gc.collect() itself. Call it once in hundreds of steps, or "
                "never; gc.freeze() after everything is built makes each call cheap",
            [ACTION_GENERATE_IN_FEWER_LAUNCHES] =
                "TRL: use_vllm=True in the trainer's config; {!cached:else "
                "model.generation_config.cache_implementation = 'static', with which Transformers "
                "compiles the decoding; }generate for more prompts at once",
            [ACTION_MOVE_HOST_WORK] =
                "{!spread:move it to the GPU (torch ops{?images:, torchvision.transforms.v2}), to "
                "loader workers or another thread, or run it{!window: every N steps}{?window: now "
                "and "
                "then}}{?spread:{@compile}, which runs less Python between launches, or fewer and "
                "larger operators}{!lines_known:; record with "
                "torch.profiler.profile(with_stack=True) to see the lines}",
            [ACTION_TRAIN_ON_GPU] =
                "the model trains on the CPU while the GPU waits: model.to('cuda') before the "
                "optimizer is created, and its input, too",
            [ACTION_WAIT_ASIDE] =
                "the host does not compute then, it waits: for another thread or process "
                "(an environment, a server), a file, a lock or a sleep: begin "
                "that earlier, in a thread of its own, while the GPU works",
            [ACTION_FUSE_HOST_UPDATE] =
                "{?sparse:dense gradients (sparse=False in the embedding) and a dense optimizer, "
                "where a batch reads many of the rows: one thread sorts and sums sparse "
                "ones}{!sparse:fused=True where the optimizer is created (Adam, AdamW, SGD, "
                "Adagrad): one call does the work; for others, torch.compile(optimizer.step)}",
            [ACTION_COMPILE_TO_GRAPHS] =
                "{@compile_to_graphs}: CUDA graphs launch the compiled code at once; if shapes or "
                "host code prevent that, torch._inductor.config.cpp_wrapper = True removes Python "
                "from its launches",
            [ACTION_RUN_LESS_BETWEEN_LAUNCHES] = "{@compile}, which runs less Python between "
                                                 "launches, or fewer and larger operators",
            [ACTION_DO_AT_ONCE] =
                "{?fills:one operation on the whole tensor in place of the loop: a mask from "
                "comparisons of index tensors (torch.arange) and one masked_fill_ or "
                "torch.where; keep what is the same in each step (gradients: "
                "zero_grad(set_to_none=True))}{?reads:compute on the whole tensor and read the "
                "result once: x.max(), x.sum(), (a == b).any(1).sum() in place of Python's max(), "
                "sum(), `in` or `if` of each element, y[rows, columns] = x in place of each "
                "y[i, a[i]]; or .tolist() once, before the loop}"
                "{!fills:{!reads:{?loop:stack what the loop goes over and call each operator once "
                "for all of it: broadcasting (x[:, None] with y[None]), gather and scatter, a mask "
                "where lengths differ, torch.vmap; what needs the turn before: torch.compile}"
                "{!loop:lists in place of the "
                "loop: torch._foreach_mul_(tensors, x), torch._foreach_add_, torch._foreach_lerp_, "
                "torch._foreach_norm (an EMA: AveragedModel(model, "
                "multi_avg_fn=get_ema_multi_avg_fn(0.999)) of torch.optim.swa_utils); of rows and "
                "elements one operation on the whole tensor}}}",
            [ACTION_CALL_ONCE] =
                "{?sequence:give it the whole sequence in one call: PyTorch's recurrent layers "
                "loop inside}{?cell:give the layer of this cell (nn.LSTM of nn.LSTMCell, nn.GRU of "
                "nn.GRUCell) the whole sequence in one call, if no step in between computes its "
                "next input from its output}{?in_turn:what does not need the call before (an "
                "embedding, the "
                "product of inputs and weights) can be computed for all {times} at once, before "
                "the loop; torch.compile or a CUDA graph for the "
                "rest}{!sequence:{!cell:{!in_turn:stack "
                "the inputs of the {times} calls along the batch (torch.stack, flatten(0, 1)), "
                "call it once, and unflatten the result}}}",
            [ACTION_DETACH_STATE] =
                "state = state.detach() before the next step uses it, total += loss.detach(), and "
                "backward() without retain_graph=True",
            [ACTION_MOVE_RARE_WORK] =
                "{?keeps_graph:evaluate with torch.inference_mode() or torch.no_grad(): now it "
                "makes a graph for a backward pass that does not come; }save checkpoints with "
                "torch.distributed.checkpoint.async_save, or copy the state "
                "to pinned memory and write it from a thread; log and evaluate every N steps with "
                "a larger N, and read results (.item(), .cpu()) together",
            [ACTION_COMPILE_ONCE] =
                "TORCH_LOGS=recompiles names what differs: pass a number that changes as a tensor "
                "(a "
                "learning rate: lr=torch.tensor(1e-3)), mark sizes with "
                "torch._dynamo.mark_dynamic, and keep counters out of what is compiled",
            [ACTION_FIX_GRAPH_SIZES] =
                "pad the batch to one size, or to a few (lengths in multiples of 64 or 128, "
                "DataLoader(drop_last=True)); or torch.compile(dynamic=True) without "
                "mode='reduce-overhead'",
            [ACTION_FIX_SHAPES] = "{?benchmark_on:torch.backends.cudnn.benchmark = False, or keep "
                                  "the sizes to a few: pad or crop to multiples, "
                                  "DataLoader(drop_last=True)}{!benchmark_on:DataLoader(drop_last="
                                  "True); pad to a few sizes; torch.backends.cudnn.benchmark = "
                                  "False if sizes must vary}",
            [ACTION_WAIT_LESS] =
                "{@package}{?operator=if:an `if` on a tensor waits for it: decide on the GPU "
                "(torch.where, a mask), or read the numbers with one .tolist() before the "
                "loop}{!operator=if:accumulate the loss on the device (total += "
                "loss.detach()) and call .item(){!window: every N steps}{?window: now and then}}",
            [ACTION_FIX_RESULT_SIZES] =
                "{@package}{?operator=unique:unique waits for the size of its result: sort the "
                "values, or find them on the CPU before the loop}{?operator=bincount:bincount "
                "waits for the largest value: torch.zeros(n).index_add_ with n known}"
                "{!operator=unique:{!operator=bincount:{!operator:x[mask], nonzero, masked_select "
                "and unique wait for the size of their result}{?operator:x[mask], nonzero and "
                "masked_select wait for the number of rows}: torch.where(mask, x, 0), multiplying "
                "by the mask, topk and nonzero_static keep sizes fixed}}",
            [ACTION_FIND_WAIT] =
                "{?operator=repeat_interleave:repeat_interleave waits for the sum of its repeats: "
                "pass output_size=}{!operator=repeat_interleave:the program reads no tensor "
                "itself: an operator waits for a value or a size of its own "
                "({?operator=any:cumprod's backward pass looks for zeros, any() or all() in an "
                "if}{!operator:cumprod's backward pass, repeat_interleave, an index given as a "
                "tensor}). torch.cuda.set_sync_debug_mode('warn') names each such call; use a form "
                "with fixed sizes, or compute it on the host from data that is there already}",
            [ACTION_READ_RARELY] =
                "{@package}keep results on the GPU and read them{!window: every N steps}{?window: "
                "now and then}, or x.to('cpu', non_blocking=True) into pinned memory{!window:, "
                "read one step later}{?window:, and read it later}",
            [ACTION_REMOVE_SYNCHRONIZE] =
                "{?also_read:accumulate the loss on the device (total += loss.detach()) and call "
                ".item(){!window: every N steps}{?window: now and then}; }{@package}remove "
                "torch.cuda.synchronize() from the loop; measure time with "
                "torch.cuda.Event(enable_timing=True)",
            [ACTION_UPLOAD_WITHOUT_WAITING] =
                "{@package}x.to(device, non_blocking=True) for what comes from pinned memory "
                "(DataLoader(pin_memory=True)): without it each copy to the GPU waits for all that "
                "was queued before",
            [ACTION_UPLOAD_BATCHES] =
                "return the samples on the CPU, and copy the batch that the loader makes of them: "
                "x = x.to(device, non_blocking=True) in the loop, with "
                "DataLoader(pin_memory=True): "
                "now each sample has a copy of its own, which waits for all that was queued before",
            [ACTION_LET_STREAMS_WAIT] =
                "{@package}the program reads nothing back, so the cause is "
                "torch.cuda.synchronize(), stream.synchronize() or a copy to the GPU without "
                "non_blocking=True; let streams wait for each other instead (stream.wait_stream, "
                "stream.wait_event), so that the host continues",
            [ACTION_READ_TIMES_ONCE] =
                "the waits end a measurement of time: keep the events of each pass "
                "(torch.cuda.Event(enable_timing=True)) in a list, and call elapsed_time after the "
                "loop, behind one torch.cuda.synchronize()",
            [ACTION_CHOOSE_ACTIONS_TOGETHER] =
                "the program needs these values to go on, as an environment needs its action: "
                "choose for many environments in one forward pass (gymnasium.vector), or choose "
                "with a copy of the policy on the CPU; of what is only logged, read{!window: every "
                "N steps}{?window: now and then}",
            [ACTION_LOG_RARELY] = "the library's loop waits, not the script: it reads losses and "
                                  "metrics; look for the setting that says how often",
            [ACTION_LOWER_ZERO_STAGE] = "DeepSpeed waits, not the script: for what ZeRO 3 gathers "
                                        "and splits; stage 2 waits less, if the weights fit",
            [ACTION_RECORD_LATER] = "torch.profiler.schedule(skip_first=10, wait=1, warmup=3, "
                                    "active=5), or gpuprof run --steps 10:20",
            [ACTION_KEEP_COMPILED_CODE] =
                "let the loop run longer, or record later: gpuprof run --delay; if this is all "
                "that the program does, keep what it compiles and tunes from one run to the next "
                "(Triton: one TRITON_CACHE_DIR for all runs, and TRITON_CACHE_AUTOTUNING=1; "
                "torch.compile: TORCHINDUCTOR_CACHE_DIR)",
            [ACTION_LEAVE_END_OUT] = "the driver takes back memory and code when the process ends: "
                                     "what frees and unloads right before that can go; or end the "
                                     "recording before it: stop the profiler behind the last step",
            [ACTION_COPY_LESS_TO_GPU] =
                "{?offloaded:keep parameters on the GPU: "
                "FSDP(cpu_offload=CPUOffload(offload_params=False)), DeepSpeed without "
                "offload_param; if you must offload them, a larger batch per fetch; }send inputs "
                "as uint8 or 16 bit and convert on the GPU{!offloaded:; keep on the GPU what every "
                "step sends again, and a data set that fits there}",
            [ACTION_FLATTEN_WEIGHTS] =
                "flatten_parameters() of the layer, behind what replaces its weights or moves them "
                "(copies of the model, DataParallel); change weights in place instead of setting "
                "new tensors in their stead",
            [ACTION_COPY_LESS_ON_GPU] =
                "{!operator:remove unnecessary .contiguous() and .clone(), use expand() instead of "
                "repeat(), write into slices of one buffer instead of torch.cat; torch.compile "
                "merges many of the rest with the operators around them}{?operator=cat:write the "
                "parts directly into the result (out=, or slices of one buffer that you allocate "
                "once) instead of torch.cat}{?operator=stack:write the parts directly into the "
                "result (slices of one buffer that you allocate once) instead of "
                "torch.stack}{?operator=contiguous:remove .contiguous() if the next operator "
                "accepts strides; change the order of dimensions once, not in every layer "
                "(F.scaled_dot_product_attention and einsum take permuted "
                "views)}{?operator=reshape:reshape() of a permuted tensor copies it: reorder "
                "dimensions so that view() works, or do it once, not in every "
                "layer}{?operator=clone:remove .clone() if nothing writes to the original; "
                ".detach() shares memory}{?operator=repeat:expand() instead of repeat(): it copies "
                "nothing}{?operator=copy_:let operators write into the buffer (out=) instead of "
                "copy_() afterwards; use torch._foreach_copy_ to copy many tensors}",
            [ACTION_WRAP_HOST_DATA] =
                "torch.from_numpy(x) or torch.as_tensor(x) instead of torch.tensor(x); "
                "DataLoader(pin_memory=True) instead of .pin_memory() in the loop",
            [ACTION_PREFETCH_MANAGED] =
                "keep tensors in ordinary GPU memory: no allocator with managed memory, no paged "
                "optimizer (bitsandbytes' Paged...) if its states fit; else a smaller batch or "
                "checkpointing",
            [ACTION_OVERLAP_COPIES] = "batch.to(device, non_blocking=True) on a side stream one "
                                      "batch ahead (torch.cuda.Stream + wait_stream)",
            [ACTION_COPY_WITHOUT_WAITING] =
                "batch.to(device, non_blocking=True): the host waits for each copy now; a side "
                "stream (torch.cuda.Stream + wait_stream) one batch ahead hides what remains",
            [ACTION_COPY_AHEAD] =
                "the host does not wait for the copies, but they run on the stream that computes: "
                "copy one batch ahead on a side stream (torch.cuda.Stream + wait_stream)",
            [ACTION_JOIN_COPIES] = "the GPU waits while the host makes the copies, not while they "
                                   "run: put small tensors into one copy, or make them on the GPU; "
                                   "non_blocking=True where a copy waits",
            [ACTION_PIN_BATCHES] = "{loader pin_memory}, then batch.to(device, non_blocking=True)",
            [ACTION_PIN_BOTH_WAYS] =
                "copy results into a buffer that is pinned once: buffer = torch.empty(..., "
                "pin_memory=True), then buffer.copy_(tensor, non_blocking=True) and one wait "
                "before it is read; inputs: {loader pin_memory}",
            [ACTION_PIN_OTHERS] =
                "{?loader_pins:the loader pins its batches}{!loader_pins:no DataLoader makes "
                "them}: make these tensors on the GPU, copy them once before the loop, or keep "
                "them in a buffer that is pinned once (tensor.pin_memory())",
            [ACTION_MAKE_ON_GPU] =
                "torch.arange(..., device=device), torch.zeros_like(x), a buffer registered once; "
                "torch.as_tensor/from_numpy for data that must come from the host",
            [ACTION_DROP_BIAS] = "nn.Conv2d(..., bias=False) before a BatchNorm2d",
            [ACTION_USE_CHANNELS_LAST] = "model = model.to(memory_format=torch.channels_last); x = "
                                         "x.to(memory_format=torch.channels_last)",
            [ACTION_USE_TENSOR_CORE_ALGORITHM] =
                "{?benchmark_on:{?odd_channels:channels in multiples of 8}{!odd_channels:compare "
                "with torch.backends.cudnn.benchmark = "
                "False}}{!benchmark_on:{?odd_channels:channels in multiples of 8, and "
                "torch.backends.cudnn.benchmark = "
                "True}{!odd_channels:torch.backends.cudnn.benchmark = True, channels that are "
                "multiples of 8, and model and input in memory_format=torch.channels_last}}",
            [ACTION_MEASURE_ALGORITHMS] = "torch.backends.cudnn.benchmark = True",
            [ACTION_FILL_GPU] =
                "give these operators more to do at once: a larger batch, one batched call in "
                "place of a loop of small ones; for products with few rows and columns and a long "
                "inner size split-K (torch.compile(mode='max-autotune')); in a Triton kernel a "
                "program for each multiprocessor at least",
            [ACTION_FUSE_ATTENTION] =
                "F.scaled_dot_product_attention(q, k, v, attn_mask=..., dropout_p=..., "
                "is_causal=...); Transformers: from_pretrained(..., attn_implementation='sdpa'); "
                "nn.MultiheadAttention(...)(..., need_weights=False); for scores of your own: "
                "torch.nn.attention.flex_attention with torch.compile",
            [ACTION_PAD_SIZES] = "pad vocabulary, sequence and feature sizes to multiples of 8 (64 "
                                 "is better): tokenizer(..., pad_to_multiple_of=8), "
                                 "resize_token_embeddings(pad_to_multiple_of=64)",
            [ACTION_USE_LIBRARY_KERNELS] =
                "torch.matmul, F.linear and F.conv2d, which call cuBLAS and cuDNN",
            [ACTION_FUSE_POINTWISE] =
                "{@compile}, or write the expression once with torch.nn.functional (gelu with "
                "approximate='tanh', scaled_dot_product_attention, fused normalisations)",
            [ACTION_USE_NHWC_NORMALISATION] = "nn.BatchNorm2d in autocast, with model and input in "
                                              "memory_format=torch.channels_last: PyTorch then "
                                              "takes kernels that are made for NHWC",
            [ACTION_USE_TENSOR_CORES] =
                "torch.set_float32_matmul_precision('high') for TF32; torch.autocast for bf16/fp16",
            [ACTION_MIX_PRECISION] =
                "{?dtype=bf16:{?tf32_first:torch.set_float32_matmul_precision('high'){?convolves: "
                "and torch.backends.cudnn.allow_tf32 = True} for TF32{?tf32_saves: "
                "({tf32_saves})}; then }{@autocast}{!has_tf32:{!tf32_first:; at least "
                "torch.set_float32_matmul_precision('high'){?convolves: and "
                "torch.backends.cudnn.allow_tf32 = True} for TF32{?tf32_saves: "
                "({tf32_saves})}}}}{?dtype=fp16:with torch.autocast('cuda', dtype=torch.float16): "
                "... and torch.amp.GradScaler}{?to_channels_last:; convert both model and input "
                "with .to(memory_format=torch.channels_last), or the convolutions convert them}",
            [ACTION_USE_SINGLE_PRECISION] =
                "model.float(), and inputs of float32: array.astype(numpy.float32), "
                "torch.as_tensor(x, dtype=torch.float32); no "
                "torch.set_default_dtype(torch.float64)",
            [ACTION_CAST_LESS] =
                "{?of_weights:many short conversions are mostly of weights: torch.autocast with "
                "its cache (cache_enabled=True; it keeps nothing within inference_mode(): there "
                "convert the weights once, by model.to()), or 16-bit parameters with an "
                "optimizer that keeps "
                "FP32 master weights; }few long conversions are of activations: fused forms "
                "(scaled_dot_product_attention, gelu(approximate='tanh')) in place of softmax and "
                "pow under autocast{!of_weights:; many short conversions are mostly of weights: "
                "torch.autocast with its cache (cache_enabled=True), or 16-bit parameters with an "
                "optimizer that keeps FP32 master weights}",
#include "analyzer/dialects/dialect_pytorch_training.def"
#include "analyzer/dialects/dialect_pytorch_ranks.def"
        },
};
