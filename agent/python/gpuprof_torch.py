"""What gpuprof sees of a PyTorch program: data loading, optimizer, backward, forced reads of tensors,
pauses of the garbage collector, settings; and the settings that GPUPROF_APPLY asks for.

Run once, when the program's own `import torch` is over. Callables are wrapped in C by the agent, so
that no frame of ours is ever in a traceback. What fails here is said in the profile's health table
and nowhere else.
"""
import ctypes
import gc
import os
import sys
import time

NOTE, WAIT, FETCH, PIN, RANGE, READ = range(6)  # enum hook_kind
GC_NS = 1_000_000  # shorter pauses are not worth a record
READS = ("item", "tolist", "numpy", "cpu", "__bool__", "__int__", "__float__", "nonzero")

torch = None
agent = wrap_in_c = None
torch_folder = b""
apply = {}  # knobs asked for
now = time.monotonic_ns


def guarded(f):
    """f, with what it raises told to the health table once."""
    told = []

    def call(*args, **kwargs):
        try:
            return f(*args, **kwargs)
        except Exception as problem:
            if not told:
                told.append(1)
                agent.gpuprof_hook_health(
                    b"python-hook", f"PyTorch hook, {f.__name__}: {problem!r}".encode())

    return call


def fact(key, value):
    agent.gpuprof_hook_fact(key.encode(), str(value).encode("utf-8", "replace"))


def wrap(owner, name, kind, label=None, note=None):
    """Replaces owner.name by one that is timed."""
    original = getattr(owner, name, None)
    if original is None:
        return
    method = isinstance(owner, type)
    made = wrap_in_c(original, kind, (label or name).encode(), torch_folder, method,
                     id(note) if note else None)
    if made is not original:
        setattr(owner, name, made)


def user_place():
    """file:line of the innermost frame outside PyTorch and this file."""
    frame = sys._getframe(1)
    while frame:
        path = frame.f_code.co_filename
        if path != __file__ and not path.startswith(torch_folder.decode()):
            return f"{os.path.basename(path)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


# ---- data loading -----------------------------------------------------------------------------

loaders_seen = {}


@guarded
def note_iterated(loader, *_):
    """Settings of a loader and the line that loops over it, once for each line."""
    place = user_place()
    if loaders_seen.get(place) == id(loader):
        return
    loaders_seen[place] = id(loader)
    names = ("num_workers", "batch_size", "prefetch_factor", "persistent_workers", "pin_memory")
    text = ", ".join(f"{n}={getattr(loader, n, None)}" for n in names)
    fact(f"torch.loader.{place}", f"{type(loader).__name__}({text})")
    if len(loaders_seen) == 1:
        fact("torch.loader", f"{type(loader).__name__}({text})")
        fact("torch.loader.where", place)


def hook_dataloader(module):
    wrap(module.DataLoader, "__iter__", NOTE, note=note_iterated)
    wrap(module._BaseDataLoaderIter, "__next__", WAIT)
    apply_loader(module)


told_pid = 0


@guarded
def note_fetch(*_):
    """Tells the agent once in each process which worker it is."""
    global told_pid
    if told_pid == os.getpid():
        return
    told_pid = os.getpid()
    worker = torch.utils.data.get_worker_info()
    agent.gpuprof_hook_worker(-1 if worker is None else worker.id)


def hook_fetch(module):
    wrap(module._MapDatasetFetcher, "fetch", FETCH, note=note_fetch)
    wrap(module._IterableDatasetFetcher, "fetch", FETCH, note=note_fetch)


def hook_pin_memory(module):
    wrap(module, "pin_memory", PIN)


# ---- optimizer --------------------------------------------------------------------------------

class Steps:
    """A step lasts from the end of one optimizer step to the end of the next, of one optimizer."""

    def __init__(self):
        self.anchor = None
        self.others = 0
        self.last_ns = 0
        self.began_ns = 0
        self.seen = set()

    def begin(self):
        self.began_ns = now()

    def end(self, optimizer):
        end_ns, who = now(), id(optimizer)
        if self.began_ns:
            agent.gpuprof_hook_range(b"optimizer.step", self.began_ns, end_ns, 1)
            self.began_ns = 0
        if who not in self.seen:
            self.seen.add(who)
            describe(optimizer)
        if who != self.anchor and self.anchor is not None:
            self.others += 1
            if self.others < 8:  # one of several optimizers; or the next phase has another one
                return
            self.last_ns = 0
        self.anchor, self.others = who, 0
        if self.last_ns:
            agent.gpuprof_hook_range(b"gpuprof.step", self.last_ns, end_ns, 0)
        self.last_ns = end_ns


steps = Steps()


@guarded
def describe(optimizer):
    names = ("foreach", "fused", "capturable")
    text = ", ".join(f"{n}={optimizer.defaults[n]}" for n in names if n in optimizer.defaults)
    fact("torch.optimizer", f"{type(optimizer).__name__}({text})")
    switches()


@guarded
def switches():
    """State of PyTorch's switches once training runs."""
    backends = torch.backends
    fact("torch.cudnn.benchmark", backends.cudnn.benchmark)
    fact("torch.cudnn.deterministic", backends.cudnn.deterministic)
    if hasattr(backends, "fp32_precision"):  # here the older switches warn when they are read
        fact("torch.matmul.precision", backends.cuda.matmul.fp32_precision)
        fact("torch.cudnn.precision", backends.cudnn.conv.fp32_precision)
    else:
        fact("torch.cudnn.allow_tf32", backends.cudnn.allow_tf32)
        fact("torch.matmul.allow_tf32", backends.cuda.matmul.allow_tf32)
        if hasattr(torch, "get_float32_matmul_precision"):
            fact("torch.matmul.precision", torch.get_float32_matmul_precision())
    fact("torch.anomaly_mode", torch.is_anomaly_enabled())
    fact("torch.num_threads", torch.get_num_threads())


def hook_optimizer(module):
    end = guarded(steps.end)

    def _optimizer_step_code(self):  # PyTorch calls it at the end of each step; its own is empty
        end(self)

    if hasattr(module.Optimizer, "_optimizer_step_code"):
        module.Optimizer._optimizer_step_code = _optimizer_step_code
    if hasattr(module, "register_optimizer_step_pre_hook"):
        module.register_optimizer_step_pre_hook(lambda *_: steps.begin())
    apply_optimizer(module)
    wrap(module.Optimizer, "zero_grad", RANGE, "zero_grad")


@guarded
def note_scaler(*_):
    fact("torch.grad_scaler", "used")


def hook_scaler(module):
    wrap(module.GradScaler, "scale", NOTE, note=note_scaler)


@guarded
def note_ddp(model, *_):
    names = ("bucket_bytes_cap", "static_graph", "gradient_as_bucket_view",
             "find_unused_parameters")
    text = ", ".join(f"{n}={getattr(model, n)}" for n in names if hasattr(model, n))
    fact("torch.ddp", f"DistributedDataParallel({text})")


def hook_ddp(module):
    wrap(module.DistributedDataParallel, "_ddp_init_helper", NOTE, note=note_ddp)


# ---- knobs ------------------------------------------------------------------------------------

TRUE = ("1", "true", "yes", "on", "find")
LOADER = ("num_workers", "prefetch_factor", "persistent_workers", "pin_memory")


def read_apply():
    for part in os.environ.get("GPUPROF_APPLY", "").replace(",", ";").split(";"):
        key, _, value = part.partition("=")
        if key.strip():
            apply[key.strip()] = value.strip()


def applied(knob, what):
    fact(f"apply.{knob}", what)


def set_default(function, name, value):
    """Changes the default of a parameter: callers who say what they want keep it."""
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


@guarded
def loader_settings(given, dataset, iterable):
    """The arguments of a DataLoader as GPUPROF_APPLY wants them."""
    for knob in LOADER:
        if knob not in apply:
            continue
        old, value = given.get(knob), apply[knob]
        if knob == "num_workers" and isinstance(dataset, iterable):
            applied(knob, "refused: each worker would deliver the whole of an IterableDataset")
            continue
        if knob == "pin_memory" and not torch.cuda.is_available():
            applied(knob, "refused: no GPU to pin memory for")
            continue
        new = int(value) if knob in ("num_workers", "prefetch_factor") else value.lower() in TRUE
        if knob in ("prefetch_factor", "persistent_workers") and not given.get("num_workers"):
            applied(knob, "refused: there are no workers")
            continue
        given[knob] = new
        applied(knob, f"applied: {old} -> {new}")
    if not given.get("num_workers"):
        for knob in ("prefetch_factor", "persistent_workers"):
            given.pop(knob, None)


def apply_loader(module):
    if not any(knob in apply for knob in LOADER):
        return
    original = module.DataLoader.__init__
    names = original.__code__.co_varnames[1:original.__code__.co_argcount]

    def __init__(self, *args, **kwargs):
        given = dict(zip(names, args))
        if len(args) <= len(names) and not given.keys() & kwargs.keys():
            given.update(kwargs)
            loader_settings(given, given.get("dataset"), module.IterableDataset)
            args, kwargs = (), given
        original(self, *args, **kwargs)

    __init__.__wrapped__ = original  # its signature stays the one that is seen
    __init__.__doc__, __init__.__qualname__ = original.__doc__, original.__qualname__
    module.DataLoader.__init__ = __init__


@guarded
def apply_optimizer(module):
    if apply.get("zero_grad") == "none" or apply.get("set_to_none", "").lower() in TRUE:
        done = set_default(module.Optimizer.zero_grad, "set_to_none", True)
        done |= set_default(torch.nn.Module.zero_grad, "set_to_none", True)
        applied("zero_grad", "applied: set_to_none=True where the program does not say"
                if done else "refused: this PyTorch has no set_to_none")
    want = apply.get("optimizer")
    if want in ("fused", "foreach"):
        if not torch.cuda.is_available():
            applied("optimizer", "refused: it pays on a GPU only")
            return
        done = [c.__name__ for c in (torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD)
                if set_default(c.__init__, want, True)]
        applied("optimizer", f"applied: {want}=True by default for {', '.join(done)}"
                if done else f"refused: this PyTorch has no {want}")


@guarded
def apply_switches():
    if apply.get("cudnn_benchmark", "").lower() in TRUE:
        torch.backends.cudnn.benchmark = True
        applied("cudnn_benchmark", "applied at the import of torch")
    if apply.get("precision") == "tf32":
        if hasattr(torch.backends, "fp32_precision"):
            torch.set_float32_matmul_precision("high")
        else:
            torch.backends.cuda.matmul.allow_tf32 = True
            torch.backends.cudnn.allow_tf32 = True
        applied("precision", "applied: TF32 for matrix products")
    elif "precision" in apply:
        applied("precision", "refused: needs autocast in the program, it changes the numerics")
    for knob in ("channels_last", "non_blocking", "cuda_graph", "sync_every"):
        if knob in apply:
            applied(knob, "refused: needs an edit of the program")


# ---- installing -------------------------------------------------------------------------------

def watch_gc():
    began = [0]

    def pause(phase, info):
        if phase == "start":
            began[0] = now()
        elif now() - began[0] >= GC_NS:
            agent.gpuprof_hook_range(b"gc", began[0], now(), 1)

    gc.callbacks.append(pause)


@guarded
def hook_torch():
    fact("torch.version", torch.__version__)
    fact("python.version", sys.version.split()[0])
    apply_switches()
    wrap(torch.autograd, "backward", RANGE)
    for plain in (torch.Tensor, torch.nn.Parameter):
        agent.gpuprof_hook_plain(id(plain))
    for name in READS:
        wrap(torch.Tensor, name, READ)
    watch_gc()


def install(module):
    """Hooks `torch`; answers which of its modules are to be hooked once they are there."""
    global torch, agent, wrap_in_c, torch_folder
    library = ctypes.CDLL(None)
    i64, text, number = ctypes.c_int64, ctypes.c_char_p, ctypes.c_int
    try:
        library.gpuprof_hook_fact.argtypes = [text, text]
    except AttributeError:
        return {}  # no agent here
    library.gpuprof_hook_health.argtypes = [text, text]
    library.gpuprof_hook_range.argtypes = [text, i64, i64, number]
    library.gpuprof_hook_worker.argtypes = [number]
    library.gpuprof_hook_plain.argtypes = [ctypes.c_void_p]
    wrap_in_c = ctypes.PyDLL(None).gpuprof_hook_wrap
    wrap_in_c.restype = ctypes.py_object
    wrap_in_c.argtypes = [ctypes.py_object, number, text, text, number, ctypes.c_void_p]
    torch, agent = module, library
    torch_folder = (os.path.dirname(module.__file__) + os.sep).encode()
    read_apply()
    hook_torch()
    data = "torch.utils.data."
    return {name: guarded(hook) for name, hook in {
        data + "dataloader": hook_dataloader,
        data + "_utils.fetch": hook_fetch,
        data + "_utils.pin_memory": hook_pin_memory,
        "torch.optim.optimizer": hook_optimizer,
        "torch.cuda.amp.grad_scaler": hook_scaler,
        "torch.nn.parallel.distributed": hook_ddp,
    }.items()}
