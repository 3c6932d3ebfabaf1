"""What gpuprof sees of a PyTorch program, and the settings that GPUPROF_APPLY asks for.

Run once, when the program's own `import torch` is over. Callables are wrapped in C by the agent, so
that no frame of ours is ever in a traceback. What fails here is said in the profile's health table
and nowhere else. This file holds what the others share, and reads of tensors:
  gpuprof_data.py     data loading
  gpuprof_train.py    steps, backward, optimizer, precision, parallelism, settings
  gpuprof_apply.py    knobs
  gpuprof_compile.py  torch.compile
  gpuprof_modules.py  a range for each call of a module, on request (GPUPROF_MODULES=1)
With GPUPROF_HOOK=steps only the steps are recorded, and knobs obeyed.
"""
import copyreg
import ctypes
import gc
import importlib
import operator
import os
import sys
import time

# enum hook_kind
(NOTE, AFTER, RESULT, WAIT, FETCH, COLLATE, PIN, RANGE, BACKWARD, READ, COPY, SYNC) = range(12)
GC_NS = 1_000_000  # shorter pauses are not worth a record
READS = ("item", "tolist", "numpy", "cpu", "nonzero", "masked_select", "equal", "__bool__",
         "__int__", "__float__", "__index__", "__repr__", "__format__", "__array__")
COPIES = ("to", "cuda")
FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep

torch = None
agent = wrap_in_c = None
torch_folder = ""
known = {}  # facts told, so that none is told twice
capsules = {}  # of wrappers, by id: the capsule, and what the wrapper is an attribute of
undo_at_compile = []
only_steps = False
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
    value = str(value)
    if known.get(key) != value:
        known[key] = value
        agent.gpuprof_hook_fact(key.encode(), value.encode("utf-8", "replace"))


def wrap(owner, name, kind, label=None, note=None):
    """Replaces owner.name by one that is timed. A function that puts the old one back."""
    original = getattr(owner, name, None)
    if original is None:
        return lambda: None
    own = vars(owner).get(name)
    made = wrap_in_c(original, kind, (label or name).encode(), torch_folder.encode(),
                     isinstance(owner, type), id(note) if note else None)
    if made is original:
        return lambda: None
    setattr(owner, name, made)
    capsule = getattr(getattr(owner, name), "__self__", None)
    if isinstance(owner, (type, type(os))) and type(capsule).__name__ == "PyCapsule":
        capsules[id(capsule)] = capsule, owner
        copyreg.pickle(type(capsule), reduce_capsule)

    def undo():
        if vars(owner).get(name) is not made:
            return  # somebody else has replaced it since
        if own is None:
            delattr(owner, name)
        else:
            setattr(owner, name, own)

    return undo


def reduce_capsule(capsule):
    """A function in C is pickled as getattr(ITS SELF, "item"). Of a wrapper that is a capsule, which
    nobody could pickle: in its place comes what the wrapper is an attribute of."""
    held, owner = capsules.get(id(capsule), (None, None))
    if held is not capsule:
        raise TypeError("cannot pickle 'PyCapsule' object")
    if isinstance(owner, type):
        return operator.itemgetter(0), ((owner,),)
    return importlib.import_module, (owner.__name__,)


def once(owner, name, note, kind=NOTE, calls=1):
    """note is told of the first calls of owner.name, which then is as it was."""
    left = [calls]

    @guarded
    def told(*args, **kwargs):
        left[0] -= 1
        if left[0] <= 0:
            undo()
        note(*args, **kwargs)
        return left[0] <= 0

    told.__name__ = note.__name__
    undo = wrap(owner, name, kind, note=told)
    return undo


def user_place():
    """file:line of the innermost frame outside PyTorch and this hook."""
    frame = sys._getframe(1)
    while frame:
        path = frame.f_code.co_filename
        if not path.startswith((FOLDER, torch_folder)):
            for installed in ("/site-packages/", "/dist-packages/"):
                path = path.partition(installed)[2] or path
            short = path if not path.startswith("/") else os.path.basename(path)
            return f"{short}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


# ---- reads, waits and pauses ------------------------------------------------------------------

def hook_tensors():
    for plain in (torch.Tensor, torch.nn.Parameter):
        agent.gpuprof_hook_plain(id(plain))
    for name in READS:
        wrap(torch.Tensor, name, READ)
    for name in COPIES:
        wrap(torch.Tensor, name, COPY, note=here["train"].note_input)
    cuda = getattr(torch, "cuda", None)
    if cuda:
        undo_at_compile.append(wrap(cuda, "synchronize", SYNC, "torch.cuda.synchronize"))
        undo_at_compile.append(wrap(cuda, "empty_cache", SYNC, "torch.cuda.empty_cache"))


def watch_gc():
    began = [0]

    def pause(phase, info):
        if phase == "start":
            began[0] = now()
        elif now() - began[0] >= GC_NS:
            agent.gpuprof_hook_range(b"gc", began[0], now(), 1)

    gc.callbacks.append(pause)


# ---- installing -------------------------------------------------------------------------------

here = {}  # the other files of the hook, by short name


def load(name):
    """A file beside this one as a module that nobody else can see."""
    path = os.path.join(FOLDER, f"gpuprof_{name}.py")
    with open(path, encoding="utf-8") as file:
        code = compile(file.read(), path, "exec")
    module = type(sys)(f"gpuprof_{name}")
    module.__file__ = path
    module.hook = this
    here[name] = module
    exec(code, module.__dict__)


def find_agent():
    library = ctypes.PyDLL(None)  # calls are short: the interpreter's lock is kept
    i64, text, number = ctypes.c_int64, ctypes.c_char_p, ctypes.c_int
    library.gpuprof_hook_fact.argtypes = [text, text]
    library.gpuprof_hook_health.argtypes = [text, text]
    library.gpuprof_hook_range.argtypes = [text, i64, i64, number]
    for name in ("worker", "non_blocking", "evaluating"):
        getattr(library, f"gpuprof_hook_{name}").argtypes = [number]
    library.gpuprof_hook_plain.argtypes = [ctypes.c_void_p]
    made = library.gpuprof_hook_wrap
    made.restype = ctypes.py_object
    made.argtypes = [ctypes.py_object, number, text, text, number, ctypes.c_void_p]
    return library, made


@guarded
def hook_torch():
    fact("torch.version", torch.__version__)
    fact("python.version", sys.version.split()[0])
    here["apply"].at_import()
    here["train"].hook_backward()
    if only_steps:
        return
    hook_tensors()
    watch_gc()
    if os.environ.get("GPUPROF_MODULES") == "1":
        load("modules")
        here["modules"].hook_modules()


def install(module, itself):
    """Hooks `torch`; answers which of its modules are to be hooked once they are there."""
    global torch, this, agent, wrap_in_c, torch_folder, only_steps
    try:
        agent, wrap_in_c = find_agent()
    except AttributeError:
        return {}  # no agent here
    torch, this = module, itself
    torch_folder = os.path.dirname(module.__file__) + os.sep
    only_steps = os.environ.get("GPUPROF_HOOK") == "steps"
    for name in ("apply", "data", "compile", "train"):
        load(name)
    hook_torch()
    awaited = {**here["data"].awaited(), **here["train"].awaited()}
    return {name: guarded(then) for name, then in awaited.items()}
