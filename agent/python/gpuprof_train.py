"""Steps, backward passes, optimizer, precision and settings of a training program."""
import sys

facts = hook.here["facts"]
fact, wrap, once, guarded = hook.fact, hook.wrap, hook.once, hook.guarded
torch = hook.torch
apply = hook.here["apply"]
switched = hook.here["switches"]
ranks = hook.here["ranks"]
calls = hook.here["calls"]
again = hook.here["again"]
passes = hook.here["passes"]
unused = hook.here["unused"]


# ---- steps and the optimizer ------------------------------------------------------------------

def name_of(dtype):
    return str(dtype).replace("torch.", "")


late = False


@guarded
def first_step(optimizer, *_, **__):
    global late
    if not late:
        apply.at_first_step()
    of_all, late = not late, True
    if hook.only_steps:
        return
    describe(optimizer)
    guarded(unused.know_optimizer)(optimizer)
    switches()
    switched.at_first_step()
    hook.here["memory"].note_optimizer(optimizer)
    if of_all:
        hook_late()
    guarded(calls.look)()


@guarded
def describe(optimizer):
    """Records the optimizer and its parameters at its first step, and the libraries that call
    it."""
    callers = hook.here["data"].makers()
    if callers:
        fact(facts.TORCH_TRAINED_BY, callers)
    group = optimizer.param_groups[0]
    names = ("foreach", "fused", "capturable")
    text = ", ".join(f"{n}={group[n]}" for n in names if n in group)
    fact(facts.TORCH_OPTIMIZER, f"{type(optimizer).__name__}({text})")
    tensors = [p for g in optimizer.param_groups for p in g["params"]]
    kinds = {tuple(settings(g)) for g in optimizer.param_groups}
    fact(facts.TORCH_OPTIMIZER_GROUPS, f"{len(optimizer.param_groups)} of {len(kinds)} kinds")
    dtypes = sorted({name_of(p.dtype) for p in tensors})
    devices = sorted({p.device.type for p in tensors})
    fact(facts.TORCH_PARAMETERS, f"{len(tensors)} tensors, {sum(p.numel() for p in tensors)} numbers, "
                             f"{'/'.join(dtypes)}, on {'/'.join(devices)}")
    fact(facts.TORCH_PARAMETERS_UNUSED, sum(p.requires_grad and getattr(p, "grad", p) is None for p in tensors))
    layouts = {layout(p) for p in tensors if p.dim() == 4} - {None}
    if layouts:
        fact(facts.TORCH_WEIGHTS_MEMORY_FORMAT, "mixed" if len(layouts) > 1 else layouts.pop())


def settings(group):
    """What the update of a group depends on: no names. Values of the program's own classes are not
    compared, because that would run its code."""
    for name, value in group.items():
        values = value if type(value) is tuple else (value,)
        if name != "params" and not any(type(v) in (str, list) for v in values):
            plain = all(type(v) in (bool, int, float, type(None)) for v in values)
            yield name, values if plain else id(value)


def layout(tensor):
    """"channels_last" or "contiguous" for a tensor of four dimensions; None if both are the
    same."""
    last = tensor.is_contiguous(memory_format=torch.channels_last)
    plain = tensor.is_contiguous()
    return None if last == plain else "channels_last" if last else "contiguous"


def note_copy(tensor, copied):
    """Returns True when neither note wants more: then it is called no more."""
    done = [note(which) for note, which in ((note_input, tensor), (hook.here["numbers"].note_copied, copied))]
    return all(done)


found_input = False


@guarded
def note_input(tensor):
    """Records the first tensor of four dimensions that is copied to the GPU. Returns True from then
    on."""
    global found_input
    if found_input:
        return True
    if type(tensor) is not torch.Tensor or tensor.dim() != 4 or tensor.requires_grad:
        return False
    shape = "x".join(map(str, tensor.shape))
    fact(facts.TORCH_INPUT, f"{name_of(tensor.dtype)} {shape} {layout(tensor) or 'contiguous'}")
    found_input = True
    return True


@guarded
def switches():
    """Records PyTorch's switches once the training runs."""
    backends = torch.backends
    fact(facts.TORCH_CUDNN_BENCHMARK, backends.cudnn.benchmark)
    fact(facts.TORCH_CUDNN_DETERMINISTIC, backends.cudnn.deterministic)
    if hasattr(backends, "fp32_precision"):  # this PyTorch warns if the older switches are read
        fact(facts.TORCH_MATMUL_PRECISION, backends.cuda.matmul.fp32_precision)
        fact(facts.TORCH_CUDNN_PRECISION, backends.cudnn.conv.fp32_precision)
    else:
        fact(facts.TORCH_CUDNN_ALLOW_TF32, backends.cudnn.allow_tf32)
        fact(facts.TORCH_MATMUL_ALLOW_TF32, backends.cuda.matmul.allow_tf32)
        if hasattr(torch, "get_float32_matmul_precision"):
            fact(facts.TORCH_MATMUL_PRECISION, torch.get_float32_matmul_precision())
    if hook.known.get(facts.TORCH_ANOMALY_MODE) != "True":
        fact(facts.TORCH_ANOMALY_MODE, torch.is_anomaly_enabled())
    deterministic = torch.are_deterministic_algorithms_enabled()
    fact(facts.TORCH_DETERMINISTIC_ALGORITHMS, deterministic)
    filled = getattr(getattr(torch.utils, "deterministic", None), "fill_uninitialized_memory", False)
    fact(facts.TORCH_FILLS_NEW, deterministic and filled)
    fact(facts.TORCH_NUM_THREADS, torch.get_num_threads())
    kernels = [k for k in ("flash", "mem_efficient", "math", "cudnn")
               if getattr(backends.cuda, f"{k}_sdp_enabled", bool)()]
    if kernels:
        fact(facts.TORCH_ATTENTION, ", ".join(kernels))


def hook_optimizer(module):
    """PyTorch marks the begin of a step for its own profiler, and calls an empty function at its
    end: both are watched."""
    record = getattr(getattr(torch.autograd, "profiler", None), "record_function", None)
    if record:
        wrap(record, "__enter__", hook.STEP_BEGIN)
    label = b"" if hook.only_steps else b"optimizer.step"
    hook.watch(hook.found_in(module.Optimizer, "_optimizer_step_code"), "_optimizer_step_code",
               hook.STEP_END, label, first_step)
    apply.hook_optimizer(module)
    if not hook.only_steps:
        wrap(module.Optimizer, "zero_grad", hook.RANGE)


# ---- backward and evaluation ------------------------------------------------------------------

backwards = 0


def know_node(args):
    """Tells the agent the node at which the backward pass begins, from which launches in it find
    their forward calls."""
    for some in args:
        for tensor in some if isinstance(some, tuple) else (some,):
            node = getattr(tensor, "grad_fn", None)
            if hasattr(node, "_sequence_nr"):
                hook.agent.gpuprof_hook_node(id(node), node._sequence_nr())
                return


@guarded
def note_backward(*args, **__):
    """Looks at the first backward passes: anomaly mode, for example, is often on around them alone.
    Returns True when the note need not be called again."""
    global backwards
    backwards += 1
    if backwards <= 3 and not hook.only_steps:
        know_node(args)
    calls.at_backward()
    again.at_backward()
    if not hook.only_steps:
        passes.look(args)
        unused.look(args)
    if backwards <= 3 and torch.is_anomaly_enabled():
        fact(facts.TORCH_ANOMALY_MODE, "True")
    if backwards in (3, 10, 30) and not hook.only_steps:
        hook.here["memory"].note_peak()
        if backwards == 30 and "pieces" in hook.here:
            hook.here["pieces"].take()
    if backwards == 30:  # a profiler for a few steps has ended by now
        switched.at_later_step()
    return backwards >= 30


def hook_backward():
    """Watches the engine, which tensors' backward() and torch.autograd.backward() both call."""
    notes = [apply.before_backward, hook.here["losses"].keep if "losses" in hook.here else None]
    engine = type(getattr(getattr(torch.autograd, "Variable", None), "_execution_engine", None))
    in_engine = hasattr(engine, "run_backward")
    owner, name = (engine, "run_backward") if in_engine else (torch.autograd, "backward")
    if not hook.only_steps:
        wrap(owner, name, hook.BACKWARD, "backward", note=note_backward)
    for note in filter(None, notes):
        wrap(owner, name, hook.BEFORE_BACKWARD, note=note)


def hook_module(module):
    wrap(module.Module, "train", hook.TRAIN)
    switched.hook_double(module)
    again.hook_module(module)


@guarded
def note_generate(model, *_, **how):
    """Records how text generation keeps its cache. True: the first call is enough."""
    config = how.get("generation_config") or getattr(model, "generation_config", None)
    cache = how.get("cache_implementation") or getattr(config, "cache_implementation", None)
    fact(facts.TRANSFORMERS_GENERATE, f"cache_implementation={cache!r} at {hook.user_place()}")
    return True


def hook_generate(module):
    """Transformers' text generation."""
    wrap(module.GenerationMixin, "generate", hook.RANGE, "transformers.generate", note=note_generate)


def hook_profiler(module):
    """Calls of the program's own profiler become ranges, so that they do not count as its loop's
    own time."""
    if not hook.only_steps:
        switched.hook_profiler(module)
    profiler = getattr(module, "profile", None)
    for name in ("start", "stop", "step", "__enter__", "__exit__"):
        if hasattr(profiler, name):
            wrap(profiler, name, hook.RANGE, "torch.profiler")


# ---- garbage collection -----------------------------------------------------------------------

pauses = {}  # line at which the collector ran: ns


@guarded
def note_pause(ns):
    """Called after a pause of a millisecond or more. Records the line with the longest pauses in
    sum, and whether it calls gc.collect()."""
    frame = sys._getframe(1)
    while frame and frame.f_code.co_filename.startswith(hook.FOLDER):
        frame = frame.f_back
    place = hook.user_place()
    if place not in pauses and len(pauses) >= 64:
        return
    pauses[place] = pauses.get(place, 0) + ns
    if pauses[place] == max(pauses.values()):
        fact(facts.TORCH_GC_WHERE, place)
        by_torch = frame and frame.f_code.co_filename.startswith(hook.torch_folder)
        if frame and not by_torch and {"gc", "collect"} <= set(frame.f_code.co_names):
            fact(facts.TORCH_GC_ASKED, place)


# ---- precision --------------------------------------------------------------------------------

def from_pytorch():
    """True if PyTorch itself enters autocast, as it does when it recomputes a checkpoint: not a
    choice of the program."""
    frame = sys._getframe(1)
    while frame and (frame.f_code.co_filename.startswith(hook.FOLDER)
                     or frame.f_code.co_filename.endswith("autocast_mode.py")):
        frame = frame.f_back
    return frame and frame.f_code.co_filename.startswith(hook.torch_folder)


def note_autocast(context, *_, **__):
    if apply.entering() or from_pytorch():
        return
    if context._enabled:
        fact(facts.TORCH_AUTOCAST, f"{context.device} {name_of(context.fast_dtype)}")
        fact(facts.TORCH_AUTOCAST_WHERE, hook.user_place())
        apply.program_has_autocast()
    elif facts.TORCH_AUTOCAST not in hook.known:
        fact(facts.TORCH_AUTOCAST, "switched off")


def hook_autocast(module):
    once(module.autocast, "__enter__", note_autocast, calls=16)


def note_scaler(scaler, *_, **__):
    fact(facts.TORCH_GRAD_SCALER, "used" if scaler.is_enabled() else "switched off")


def hook_scaler(module):
    once(module.GradScaler, "scale", note_scaler)


# ---- graphs, clipping, checkpointing ----------------------------------------------------------

def note_graph(*_, **__):
    fact(facts.TORCH_CUDA_GRAPH, f"replayed at {hook.user_place()}")


def hook_graphs(module):
    once(module.CUDAGraph, "replay", note_graph)


def note_clip(*_, **__):
    fact(facts.TORCH_CLIP_GRAD, f"used at {hook.user_place()}")


def note_grouping(*_, **__):
    """Called at each grouping of tensors by device: optimizers do that as well as clipping."""
    frame = sys._getframe(1)
    while frame and frame.f_code.co_filename.startswith(hook.FOLDER):
        frame = frame.f_back
    if frame and frame.f_globals.get("__name__") == "torch.nn.utils.clip_grad":
        note_clip()


def hook_clip(module):
    """Watches a function inside clipping, if this PyTorch has it, because a compiler knows
    clip_grad_norm_ itself."""
    inner = "_group_tensors_by_device_and_dtype"
    if hasattr(module, inner):
        once(module, inner, note_grouping, calls=32)  # the first clipping is among these calls
        return
    for name in ("clip_grad_norm_", "clip_grad_value_"):
        if hasattr(module, name) and not hasattr(torch, "compile"):
            wrap(module, name, hook.RANGE, "clip_grad", note=guarded(note_clip))


def note_checkpoint(*_, **__):
    fact(facts.TORCH_CHECKPOINT, f"used at {hook.user_place()}")


def hook_checkpoint(module):
    for name in ("check_backward_validity", "_checkpoint_without_reentrant",
                 "_checkpoint_without_reentrant_generator",
                 "_checkpoint_without_reentrant_generator_impl"):  # since PyTorch 2.15
        once(module, name, note_checkpoint)


def awaited():
    hooks = {"torch.optim.optimizer": hook_optimizer,
             "torch.amp.autocast_mode": hook_autocast,
             "torch.nn.parallel.distributed": ranks.hook_ddp,
             "torch.profiler.profiler": hook_profiler,
             "torch.autograd.profiler": hook_profiler}
    hook.here["compile"].hook_compile()
    if hook.only_steps:
        return hooks
    newer = "torch.amp.grad_scaler"  # since 2.3; the older place has a subclass of it
    hooks.update({newer if newer in sys.modules else "torch.cuda.amp.grad_scaler": hook_scaler,
                  "torch.nn.modules.module": hook_module,
                  "torch.nn.parallel.data_parallel": ranks.hook_data_parallel,
                  "torch.cuda.graphs": hook_graphs,
                  "torch.nn.utils.clip_grad": hook_clip})
    return hooks


def hook_late():
    """Called at the first step: hooks modules that most programs never import, if they are
    there."""
    for name, then in {"torch.distributed.fsdp.fully_sharded_data_parallel": ranks.hook_fsdp,
                       "torch.distributed.fsdp._fully_shard._fsdp_state": ranks.hook_fully_shard,
                       # Until 2.5.
                       "torch.distributed._composable.fsdp._fsdp_state": ranks.hook_fully_shard,
                       "torch.utils.checkpoint": hook_checkpoint}.items():
        if name in sys.modules and facts.TORCH_COMPILE not in hook.known:
            guarded(then)(sys.modules[name])
    if facts.TORCH_COMPILE in hook.known:
        guarded(ranks.note_sharded)()
    guarded(ranks.note_groups)()
    generation = sys.modules.get("transformers.generation.utils")
    if generation:
        guarded(hook_generate)(generation)
    # DeepSpeed compiles other things than its engine.
    engine = sys.modules.get("deepspeed.runtime.engine")
    if engine:
        guarded(ranks.hook_deepspeed)(engine)
