"""Obeys the settings in GPUPROF_APPLY for which the program need not be edited.

Each setting becomes a fact apply.NAME: "applied: ..." or "refused: ..." with the reason. Where the
program itself has chosen a value instead of leaving the default (foreach=False), its choice
stays."""
import functools
import gc
import multiprocessing
import os

facts = hook.here["facts"]
fact, wrap, guarded = hook.fact, hook.wrap, hook.guarded
torch, agent = hook.torch, hook.agent

TRUE = ("1", "true", "yes", "on", "find")
LOADER = ("num_workers", "prefetch_factor", "persistent_workers", "pin_memory")
LOADER_SETTINGS = (*LOADER, "loader")  # loader=FILE:LINE: only the DataLoaders made there
# A DataLoader without workers refuses these arguments, or fails on them.
FOR_WORKERS = ("prefetch_factor", "persistent_workers", "timeout", "multiprocessing_context")
NOT_YET = {  # what has not happened yet; a later fact replaces it
    **{setting: "the program created no DataLoader" for setting in LOADER_SETTINGS},
    "channels_last": "the program created no optimizer, so the hook does not know the weights",
    "zero_grad": "the program created no optimizer",
    "optimizer": "no optimizer was used with a backward pass",
    "precision": "the program ran no backward pass",
    "gc": "the program took no step",
    "non_blocking": "the program copied no pinned tensor to a GPU with .to() or .cuda()",
}
EDIT = {
    "cuda_graph": "needs an edit of the program: torch.cuda.graph, or "
                  "torch.compile(model, mode='reduce-overhead')",
    "sync_every": "needs an edit of the program, which decides what it reads and when",
}

OBEYED = (*LOADER_SETTINGS, "non_blocking", "cudnn_benchmark", "channels_last", "zero_grad=none",
          "optimizer=fused", "optimizer=foreach", "gc=freeze", "precision=fp32", "precision=tf32",
          "precision=bf16")

wanted = {}
before_backward = None  # called before each backward pass; None: nothing is


def applied(setting, what):
    fact(f"{facts.APPLY}.{setting}", f"applied: {what}")


def refused(setting, why):
    if not hook.known.get(f"{facts.APPLY}.{setting}", "").startswith("applied"):
        fact(f"{facts.APPLY}.{setting}", f"refused: {why}")


def not_yet(setting):
    if setting != "cudnn_benchmark":  # obeyed at once
        refused(setting, NOT_YET.get(setting) or EDIT.get(setting) or "the PyTorch hook does not know it")


def yes(setting):
    return wanted.get(setting, "").lower() in TRUE


def settings(text):
    """Yields name and value for each part of "name=value;name=value" (commas separate as well); the
    value is None for a part of another form."""
    for part in text.replace(",", ";").split(";"):
        name, equals, value = (x.strip() for x in part.partition("="))
        if name and equals:
            yield name, value
        elif part.strip():
            yield part.strip(), None


# ---- when torch is imported -------------------------------------------------------------------

def at_import():
    global before_backward
    fact(facts.TORCH_SETTINGS, " ".join(OBEYED))
    for setting, value in settings(os.environ.get("GPUPROF_APPLY", "")):
        if value is None:
            refused(setting, "it is not of the form NAME=VALUE")
            continue
        setting = {"set_to_none": "zero_grad"}.get(setting, setting)
        wanted[setting] = value
        not_yet(setting)
    hooks = []
    if "cudnn_benchmark" in wanted:
        torch.backends.cudnn.benchmark = yes("cudnn_benchmark")
        applied("cudnn_benchmark", f"{yes('cudnn_benchmark')} at the import of torch")
    if "precision" in wanted:
        hooks += precision(wanted["precision"])
    if "non_blocking" in wanted:
        agent.gpuprof_hook_non_blocking(yes("non_blocking"))
    if wanted.get("optimizer") in ("fused", "foreach"):
        hooks.append(settle_optimizers)
    elif "optimizer" in wanted:
        refused("optimizer", "use fused or foreach")
    if hooks:
        before_backward = guarded(lambda *_, **__: [f() for f in hooks])


def precision(value):
    """Obeys `precision`, and returns a list of what must be called before each backward pass."""
    if value in ("tf32", "fp32"):
        use_tf32(value == "tf32")
    elif value == "bf16":
        return [autocast.leave]
    elif value == "fp16":
        refused("precision", "fp16 needs a GradScaler in the program; bf16 does not")
    else:
        refused("precision", "use fp32, tf32 or bf16")
    return []


def use_tf32(on):
    backends = torch.backends
    if hasattr(backends, "fp32_precision"):
        backends.cuda.matmul.fp32_precision = "tf32" if on else "ieee"
        backends.cudnn.conv.fp32_precision = "tf32" if on else "ieee"
    else:
        backends.cuda.matmul.allow_tf32 = on
        backends.cudnn.allow_tf32 = on
    applied("precision", f"TF32 {'on' if on else 'off'} for matrix products and convolutions, at "
                         "the import of torch")


# ---- DataLoader -------------------------------------------------------------------------------

def on_gpu(dataset):
    """True if a dataset holds tensors on a GPU, which worker processes must not touch."""
    held = list(getattr(dataset, "__dict__", {}).values())[:64]
    return any(getattr(x, "is_cuda", False) is True
               for one in held for x in (one if type(one) in (list, tuple) else [one]))


def why_no_workers(dataset, iterable):
    if isinstance(dataset, iterable):
        return "each worker would deliver the whole of an IterableDataset"
    if multiprocessing.current_process().daemon:
        return "this process must not have children"
    if on_gpu(dataset):
        return "the dataset is already on the GPU"
    return None


def fork(given):
    """Chooses fork if workers are added and the program chose no way to start them. The others
    import the program again, for which it may not be made (if __name__ == "__main__"). Since Python
    3.14 fork is no longer the default."""
    chosen = given.get("multiprocessing_context") or multiprocessing.get_start_method(allow_none=True)
    if chosen or hook.start_method() == "fork":
        return False
    given["multiprocessing_context"] = "fork"
    return True


def loader_setting(setting, given, dataset, iterable):
    old, value = given.get(setting), wanted[setting]
    if setting in ("num_workers", "prefetch_factor") and not value.isdigit():
        return refused(setting, "use a whole number")
    new = int(value) if value.isdigit() and setting in LOADER[:2] else value.lower() in TRUE
    why = None
    if setting == "num_workers" and new:
        why = why_no_workers(dataset, iterable)
    elif setting == "pin_memory" and new and not torch.cuda.is_available():
        why = "no GPU to pin memory for"
    elif setting in LOADER[1:3] and not given.get("num_workers"):
        why = "the DataLoader has no workers"
    if why:
        return refused(setting, why)
    forked = setting == "num_workers" and new and not old and fork(given)
    given[setting] = new
    applied(setting, f"{old if old is not None else 'default'} -> {new}{', started by fork' if forked else ''}")


@guarded
def loader_settings(given, iterable):
    """Changes a DataLoader's arguments as the settings want."""
    if "loader" in wanted:
        place = hook.here["data"].own_place()
        if place != wanted["loader"]:
            return refused("loader", f"the program creates no DataLoader at {wanted['loader']}")
        applied("loader", place)
    for setting in LOADER:
        if setting in wanted:
            loader_setting(setting, given, given.get("dataset"), iterable)
    if "num_workers" in wanted and not given.get("num_workers"):
        for name in FOR_WORKERS:
            given.pop(name, None)


def hook_loader(module):
    if wanted.get("precision") == "bf16":
        wrap(module._BaseDataLoaderIter, "__next__", hook.NOTE, note=autocast.leave)
        wrap(module._BaseDataLoaderIter, "__next__", hook.RESULT, note=autocast.batch)
    if not any(setting in wanted for setting in LOADER):
        return
    original = module.DataLoader.__init__
    names = original.__code__.co_varnames[1:original.__code__.co_argcount]

    @functools.wraps(original)  # so that its signature looks the same
    def __init__(self, *args, **kwargs):
        given = dict(zip(names, args))
        if len(args) <= len(names) and not given.keys() & kwargs.keys():
            given.update(kwargs)
            loader_settings(given, module.IterableDataset)
            args, kwargs = (), given
        original(self, *args, **kwargs)

    module.DataLoader.__init__ = __init__


# ---- autocast ---------------------------------------------------------------------------------

class Autocast:
    """bfloat16 in the training thread, from the arrival of a batch (without a DataLoader: from the
    end of a step) to the backward pass."""

    def __init__(self):
        self.context = None
        self.loader = self.refused = self.busy = False

    def enter(self):
        if self.context or self.refused:
            return
        device = "cuda" if torch.cuda.is_available() else "cpu"
        if device == "cuda" and not torch.cuda.is_bf16_supported():
            self.refused = True
            return refused("precision", "this GPU does not support bfloat16")
        self.busy = True
        try:
            self.context = torch.autocast(device, dtype=torch.bfloat16)
            self.context.__enter__()
        finally:
            self.busy = False
        applied("precision", f"autocast to bfloat16 on {device}, in forward passes")

    def leave(self, *_, **__):
        if self.context:
            context, self.context = self.context, None
            context.__exit__(None, None, None)

    def batch(self, *_, **__):
        self.loader = True
        self.enter()

    def step_end(self):
        if not self.loader:
            self.enter()

    def give_way(self):
        if self.refused:
            return
        self.refused = True
        self.leave()
        hook.known.pop(f"{facts.APPLY}.precision", None)
        refused("precision", "the program uses autocast itself")


autocast = Autocast()


def entering():
    return autocast.busy


def program_has_autocast():
    if wanted.get("precision") == "bf16":
        autocast.give_way()


# ---- optimizer and weights --------------------------------------------------------------------

pending = []  # optimizers made since the last backward pass


def set_default(function, name, value):
    """Changes a parameter's default. Callers that give the argument keep theirs."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code, defaults = function.__code__, function.__defaults__ or ()
    if name in (function.__kwdefaults__ or {}):
        function.__kwdefaults__[name] = value
        return True
    names = code.co_varnames[:code.co_argcount]
    at = names.index(name) - (len(names) - len(defaults)) if name in names else -1
    if at < 0:
        return False
    function.__defaults__ = defaults[:at] + (value,) + defaults[at + 1:]
    return True


def to_channels_last(tensors):
    """Changes the weights of convolutions in place, as Module.to does; the tensors that pass
    through them follow."""
    weights = [p for p in tensors if p.dim() == 4]
    for p in weights:
        p.data = p.data.contiguous(memory_format=torch.channels_last)
    if weights:
        applied("channels_last", f"{len(weights)} weights; inputs follow in the first convolution")
    else:
        refused("channels_last", "no weight has four dimensions")


def fits(p):
    return p.is_cuda and p.is_floating_point()


def settle_optimizers():
    """Called before an optimizer's first backward pass, when its weights have reached their
    device."""
    want = wanted["optimizer"]
    while pending:
        optimizer = pending.pop()
        name, groups = type(optimizer).__name__, optimizer.param_groups
        if not all(want in g for g in groups):
            refused("optimizer", f"{name} of this PyTorch has no {want}")
        elif any(g[k] is not None and (g[k] or k == want) for g in groups
                 for k in ("fused", "foreach") if k in g and not (g[k] is False and k == "fused")):
            refused("optimizer", f"the program itself chooses how {name} works")
        elif not all(fits(p) for g in groups for p in g["params"]):
            refused("optimizer", "it pays only for weights on a GPU")
        else:
            for g in groups:
                g[want] = True
            optimizer.defaults[want] = True
            if want == "fused":
                optimizer._step_supports_amp_scaling = True
            applied("optimizer", f"{want}=True for {name}")


@guarded
def note_optimizer(optimizer, *_, **__):
    pending.append(optimizer)
    if yes("channels_last"):
        to_channels_last([p for g in optimizer.param_groups for p in g["params"]])


def hook_optimizer(module):
    if yes("channels_last") or wanted.get("optimizer") in ("fused", "foreach"):
        wrap(module.Optimizer, "__init__", hook.AFTER, note=note_optimizer)
    if wanted.get("precision") == "bf16":
        agent.gpuprof_hook_after_step(guarded(autocast.step_end))
    if wanted.get("zero_grad") == "none" or yes("zero_grad"):
        done = set_default(module.Optimizer.zero_grad, "set_to_none", True)
        done |= set_default(torch.nn.Module.zero_grad, "set_to_none", True)
        if done:
            applied("zero_grad", "set_to_none=True unless the program chooses")
        else:
            refused("zero_grad", "this PyTorch has no set_to_none")
    elif "zero_grad" in wanted:
        refused("zero_grad", "use none")


@guarded
def at_first_step():
    """Freezes the objects alive at the end of the first step: the garbage collector does not visit
    them again."""
    if wanted.get("gc") != "freeze":
        return
    gc.collect()
    gc.freeze()
    applied("gc", f"{gc.get_freeze_count()} objects are frozen")


def hook_ddp(module):
    if yes("channels_last"):  # before DDP lays out the buckets of gradients

        @guarded
        def note(ddp, model, *_, **__):
            to_channels_last(list(model.parameters()))

        wrap(module.DistributedDataParallel, "__init__", hook.NOTE, note=note)
