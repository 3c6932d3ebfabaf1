"""Records which line of the program sets a switch that costs time, and which debugging aids are on
while it trains."""
import sys

facts = hook.here["facts"]
fact, wrap, once, guarded = hook.fact, hook.wrap, hook.once, hook.guarded
torch = hook.torch


def from_pytorch():
    """True if PyTorch itself makes the call, so that it is not a choice of the program."""
    frame = sys._getframe(1)
    while frame and frame.f_code.co_filename.startswith(hook.FOLDER):
        frame = frame.f_back
    return bool(frame) and frame.f_code.co_filename.startswith(hook.torch_folder)


def told_where(key, own=False, counts=bool):
    """Returns a note that records the line of the first call whose argument turns the switch on.
    own: calls that PyTorch makes do not count."""
    @guarded
    def note(*args, **named):
        value = args[0] if args else next(iter(named.values()), None)
        if not counts(value) or (own and from_pytorch()):
            return False
        fact(key, hook.user_place())
        return True  # call the note no more
    return note


def is_double(dtype):
    return dtype is not None and dtype is getattr(torch, "float64", None)


def hook_switches():
    """Watches PyTorch's setters in C, which its own Python code uses as well."""
    in_c = getattr(torch, "_C", None)
    for owner, name, note in (
            (in_c, "_set_cudnn_benchmark", told_where(facts.TORCH_CUDNN_BENCHMARK_WHERE)),
            (in_c, "set_anomaly_enabled", told_where(facts.TORCH_ANOMALY_MODE_WHERE)),
            (in_c, "_set_deterministic_algorithms", told_where(facts.TORCH_FILLS_NEW_WHERE)),
            (in_c, "_set_default_dtype", told_where(facts.TORCH_FLOAT64_WHERE, counts=is_double)),
            (torch, "set_num_threads", told_where(facts.TORCH_NUM_THREADS_WHERE, own=True))):
        if hasattr(owner, name):
            wrap(owner, name, hook.NOTE, note=note)
    functional = sys.modules.get("torch.nn.functional")
    if hasattr(functional, "embedding"):
        wrap(functional, "embedding", hook.NOTE, note=note_embedding)


# ---- a model of double precision ----------------------------------------------------------------

def note_double(*_, **__):
    fact(facts.TORCH_FLOAT64_WHERE, hook.user_place())


def hook_double(module):
    once(module.Module, "double", note_double)


# ---- embedding tables with dense gradients -----------------------------------------------------

largest = 0
embeddings = 0


@guarded
def note_embedding(ids, weight, *rest, **named):
    """Records the largest table with gradients among the first calls. Returns True after enough
    calls."""
    global largest, embeddings
    embeddings += 1
    if weight.requires_grad and weight.numel() > largest:
        largest = weight.numel()
        sparse = named.get("sparse", rest[4] if len(rest) > 4 else False)
        fact(facts.TORCH_EMBEDDING, f"{weight.shape[0]} rows of {weight.shape[1]}, {ids.numel()} looked up, "
                                    f"sparse={bool(sparse)} at {hook.user_place()}")
    return embeddings >= 16


# ---- aids that are on ---------------------------------------------------------------------------

profiled = {}  # "at": the line that started a profiler


@guarded
def note_profiler(profiler, *_, **__):
    profiled.setdefault("at", hook.user_place())


def hook_profiler(module):
    """Records where the program starts its own profiler."""
    for name in ("start", "__enter__"):
        if hasattr(getattr(module, "profile", None), name):
            once(module.profile, name, note_profiler)


def about(tracer):
    """A tracer's name or place: "coverage", "train.py:12"."""
    code = getattr(tracer, "__code__", None) or getattr(getattr(tracer, "__func__", None), "__code__", None)
    if code:
        return f"{hook.short(code.co_filename)}:{code.co_firstlineno}"
    return f"{type(tracer).__module__}.{type(tracer).__name__}"


def tracers():
    """Yields what the interpreter calls for each line or function of this thread."""
    for kind, tracer in (("settrace", sys.gettrace()), ("setprofile", sys.getprofile())):
        if tracer:
            yield f"sys.{kind}: {about(tracer)}"
    monitoring = getattr(sys, "monitoring", None)
    for tool in range(6) if monitoring else ():
        name = monitoring.get_tool(tool)
        if name and monitoring.get_events(tool):
            yield f"sys.monitoring: {name}"


@guarded
def at_first_step():
    on = "; ".join(tracers())
    if on:
        fact(facts.PYTHON_TRACER, on)


@guarded
def at_later_step():
    """A profiler that is on after some steps counts as always on."""
    enabled = getattr(getattr(getattr(torch, "_C", None), "_autograd", None), "_profiler_enabled", None)
    if enabled and enabled():
        fact(facts.TORCH_PROFILER, f"on at {profiled.get('at', '')}")
