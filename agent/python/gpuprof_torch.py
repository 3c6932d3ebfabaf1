"""What gpuprof sees of a PyTorch program, and the settings in GPUPROF_APPLY.

Runs once, when the program's own `import torch` is over. The agent watches functions in place: no
object of the program is replaced, and no frame of the hook appears in a traceback. Errors in the
hook are reported only in the profile's health table. This file holds what the others share, and
reads of tensors:
gpuprof_data.py     data loading
gpuprof_train.py    steps, backward, optimizer, precision, settings
gpuprof_ranks.py    DDP, FSDP, DeepSpeed, process groups
gpuprof_switches.py which line set a switch, and debugging aids that are on
gpuprof_numbers.py  padding and ignored labels in what is copied to the GPU
gpuprof_memory.py   memory of the GPU, and allocations that fail
gpuprof_calls.py    modules: names, repeated calls, those that do not learn
gpuprof_again.py    functions that compute again what they have computed
gpuprof_passes.py   backward passes through one graph
gpuprof_same.py     modules that are called again with the same tensors
gpuprof_unused.py   gradients that nobody uses
gpuprof_apply.py    settings
gpuprof_compile.py  torch.compile
gpuprof_losses.py   the first losses, on request (GPUPROF_LOSSES=N)
gpuprof_modules.py  a range for each call of a module, on request (GPUPROF_MODULES=1)
gpuprof_pieces.py   the memory that each line asks for, on request (GPUPROF_MEMORY=1)
gpuprof_facts.py    keys of facts, which the build makes from wire/fact_keys.h
With GPUPROF_HOOK=steps the hook records only steps, and obeys settings."""
import ctypes
import gc
import multiprocessing
import os
import sys
import time

# Names of enum hook_kind. Each becomes a global here, whose value the agent tells (find_kinds).
KINDS = ("NOTE", "AFTER", "RESULT", "WAIT", "FETCH", "COLLATE", "PIN", "RANGE", "BACKWARD", "READ", "COPY", "SYNC",
         "BEGIN", "BEFORE_BACKWARD", "LAUNCH", "TRAIN", "STEP_BEGIN", "COMPILER", "COMPILES", "STEP",
         "STEP_END")
READS = ("item", "tolist", "numpy", "cpu", "nonzero", "masked_select", "equal", "__bool__",
         "__int__", "__float__", "__index__", "__repr__", "__format__", "__array__")
COPIES = ("to", "cuda")
# Methods that the interpreter itself calls. In Python 3.11 calls of others are seen only if the
# function's type is changed (hook_type.c).
BY_INTERPRETER = ("__call__", "__next__", "__enter__", "__setattr__", "__repr__", "__format__", "__array__")
INSTALLED = ("/site-packages/", "/dist-packages/")
FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep

torch = None
agent = None
torch_folder = ""
known = {}  # facts recorded so far, so that none is recorded twice
undo_at_compile = []
only_steps = False
now = time.monotonic_ns


def encoded(text):
    """The program's texts may contain what UTF-8 cannot encode."""
    return text.encode("utf-8", "replace")


def words(problem):
    try:
        return repr(problem)
    except Exception:  # raised by the repr of the program's own class
        return type(problem).__name__


def guarded(f):
    """Returns a function that calls f and reports the first exception to the health table."""
    told = []

    def call(*args, **kwargs):
        try:
            return f(*args, **kwargs)
        except Exception as problem:
            if not told:
                told.append(1)
                agent.gpuprof_hook_health(b"python-hook", encoded(f"PyTorch hook, {f.__name__}: {words(problem)}"))

    return call


def fact(key, value):
    value = str(value)
    if known.get(key) != value:
        known[key] = value
        agent.gpuprof_hook_fact(key.encode(), encoded(value))


def found_in(owner, name):
    """The unbound attribute of a class or module, wherever the class inherits it from."""
    for place in getattr(owner, "__mro__", (owner,)):
        if name in vars(place):
            found = vars(place)[name]
            return found.__func__ if isinstance(found, staticmethod) else found
    return None


def wrap(owner, name, kind, label=None, note=None):
    """Watches owner.name in place. If owner is an instance, sets a watched callable as its
    attribute. Returns a function that ends the watch. Not for a class's own __init__: since Python
    3.12 a call of the class may run it unseen."""
    label, skip = encoded(label or name), os.fsencode(torch_folder)
    if isinstance(owner, (type, type(os))):
        return watch(found_in(owner, name), name, kind, label, note)
    original = getattr(owner, name, None)
    if original is None:
        return lambda: None
    made = agent.gpuprof_hook_wrap(original, kind, label, skip, id(note) if note else None)
    setattr(owner, name, made)

    def undo():
        if vars(owner).get(name) is made:
            setattr(owner, name, original)

    return undo


def watch(callable, name, kind, label, note=None, stays=False):
    """Watches a callable. stays: in Python 3.11 it keeps its changed type while a compiler reads
    it."""
    if callable is None:
        return lambda: None
    everywhere = 0 if name in BY_INTERPRETER else 2 if stays else 1
    handle = agent.gpuprof_hook_attach(callable, kind, label, os.fsencode(torch_folder), everywhere,
                                       id(note) if note else None)
    if not handle:
        agent.gpuprof_hook_health(b"python-hook", f"PyTorch hook: {name} is a {type(callable).__name__} "
                                                  "that the hook cannot watch".encode())
        return lambda: None
    held = [handle]
    return lambda: held and agent.gpuprof_hook_detach(held.pop())


def once(owner, name, note, kind=None, calls=1):
    """Calls note for the first calls of owner.name, before each or as `kind` says, and then ends
    the watch."""
    left = [calls]

    @guarded
    def told(*args, **kwargs):
        left[0] -= 1
        if left[0] <= 0:
            undo()
        note(*args, **kwargs)
        return left[0] <= 0

    told.__name__ = note.__name__
    undo = wrap(owner, name, NOTE if kind is None else kind, note=told)
    return undo


def start_method(context=None):
    """How worker processes start: the context's way, else the program's, else this Python's
    default."""
    # Without allow_none the call would fix the way.
    how = (context or multiprocessing).get_start_method(allow_none=True)
    return how or multiprocessing.get_all_start_methods()[0]


def short(path):
    """A file's name; for an installed package, with its folder."""
    for installed in INSTALLED:
        if installed in path:
            return path.partition(installed)[2]
    return os.path.basename(path)


def user_place():
    """file:line of the innermost frame outside PyTorch and this hook."""
    frame = sys._getframe(1)
    while frame:
        path = frame.f_code.co_filename
        if not path.startswith((FOLDER, torch_folder, "<frozen ")):  # importlib
            return f"{short(path)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


# ---- reads, waits and pauses ------------------------------------------------------------------

def know_tensors():
    for plain in (torch.Tensor, torch.nn.Parameter):
        agent.gpuprof_hook_plain(id(plain))


def change_copies():
    """Copies without a label obey GPUPROF_APPLY and are not recorded."""
    know_tensors()
    for name in COPIES:
        watch(found_in(torch.Tensor, name), name, COPY, b"")


def hook_tensors():
    know_tensors()
    for name in READS:
        wrap(torch.Tensor, name, READ)
    for name in COPIES:
        wrap(torch.Tensor, name, COPY, note=here["train"].note_copy)
    cuda, in_c = getattr(torch, "cuda", None), getattr(torch, "_C", None)
    for name, inner in {"synchronize": "_cuda_synchronize", "empty_cache": "_cuda_emptyCache"}.items():
        owner = in_c if hasattr(in_c, inner) else cuda
        if owner:
            wrap(owner, inner if owner is in_c else name, SYNC, f"torch.cuda.{name}")


def hook_launches():
    """Launches carry lines from now on. Triton launches through a function that cannot be watched,
    but asks for the current stream first."""
    agent.gpuprof_hook_lines()
    stream = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    if stream:
        watch(stream, "_cuda_getCurrentRawStream", LAUNCH, b"launch")


# ---- installing -------------------------------------------------------------------------------

here = {}  # the hook's other files, by short name


def load(name):
    """Loads a file beside this one as a module that is not in sys.modules."""
    path = os.path.join(FOLDER, f"gpuprof_{name}.py")
    with open(path, encoding="utf-8") as file:
        code = compile(file.read(), path, "exec")
    module = type(sys)(f"gpuprof_{name}")
    module.__file__ = path
    module.hook = this
    here[name] = module
    exec(code, module.__dict__)


def find_agent():
    library = ctypes.PyDLL(None)  # PyDLL keeps the interpreter's lock: the calls are short
    i64, text, number = ctypes.c_int64, ctypes.c_char_p, ctypes.c_int
    library.gpuprof_hook_fact.argtypes = [text, text]
    library.gpuprof_hook_health.argtypes = [text, text]
    library.gpuprof_hook_range.argtypes = [text, i64, i64, number]
    library.gpuprof_hook_piece.argtypes = [number] + [i64] * 5 + [text, text, number]
    for name in ("worker", "loading", "non_blocking", "evaluating"):
        getattr(library, f"gpuprof_hook_{name}").argtypes = [number]
    library.gpuprof_hook_loader.argtypes = [number, number, number, i64, i64, i64]
    library.gpuprof_hook_plain.argtypes = [ctypes.c_void_p]
    library.gpuprof_hook_after_step.argtypes = [ctypes.py_object]
    library.gpuprof_hook_gc.argtypes = [ctypes.py_object, ctypes.py_object]
    library.gpuprof_hook_steps_stay.argtypes = [number]
    library.gpuprof_hook_wrap.restype = ctypes.py_object
    library.gpuprof_hook_wrap.argtypes = [ctypes.py_object, number, text, text, ctypes.c_void_p]
    library.gpuprof_hook_attach.restype = ctypes.c_void_p
    library.gpuprof_hook_attach.argtypes = [ctypes.py_object, number, text, text, number,
                                            ctypes.c_void_p]
    library.gpuprof_hook_detach.argtypes = [ctypes.c_void_p]
    library.gpuprof_hook_kind.argtypes = [text]
    library.gpuprof_hook_node.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
    library.gpuprof_hook_unused.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
    library.gpuprof_hook_steps.restype, library.gpuprof_hook_steps.argtypes = i64, [ctypes.c_void_p]
    library.gpuprof_hook_module.argtypes = [ctypes.c_void_p, text]
    library.gpuprof_hook_launcher.restype = text
    library.gpuprof_hook_launcher.argtypes = [number, ctypes.POINTER(text)]
    for name, sizes in (("columns_used", 2), ("ignored", 1)):
        look = getattr(library, f"gpuprof_hook_{name}")
        look.restype, look.argtypes = i64, [ctypes.c_void_p, number] + [i64] * sizes
    return library


def find_kinds():
    """Sets the kinds. -1: a kind that this agent does not know, and refuses to watch."""
    globals().update((name, agent.gpuprof_hook_kind(name.encode())) for name in KINDS)


@guarded
def hook_torch():
    fact(here["facts"].TORCH_VERSION, torch.__version__)
    fact(here["facts"].PYTHON_VERSION, sys.version.split()[0])
    here["apply"].at_import()
    if os.environ.get("GPUPROF_LOSSES", "").isdigit():
        load("losses")
    here["train"].hook_backward()
    if only_steps:
        if here["apply"].yes("non_blocking"):
            change_copies()
        return
    hook_tensors()
    hook_launches()
    here["switches"].hook_switches()
    here["memory"].hook_memory()
    agent.gpuprof_hook_gc(gc.callbacks, here["train"].note_pause)
    if os.environ.get("GPUPROF_MODULES") == "1":
        load("modules")
        here["modules"].hook_modules()
    if os.environ.get("GPUPROF_MEMORY") == "1":
        load("pieces")
        here["pieces"].hook_pieces()


def install(module, itself):
    """Hooks `torch`. Returns a dictionary: name of a module that is awaited, and what to call once
    it is imported."""
    global torch, this, agent, torch_folder, only_steps
    try:
        agent = find_agent()
        find_kinds()
    except AttributeError:
        return {}  # no agent in this process
    torch, this = module, itself
    torch_folder = os.path.dirname(module.__file__) + os.sep
    only_steps = os.environ.get("GPUPROF_HOOK") == "steps"
    for name in ("facts", "apply", "data", "compile", "switches", "ranks", "again", "same", "calls", "passes", "unused", "numbers", "memory", "train"):
        load(name)
    hook_torch()
    awaited = {**here["data"].awaited(), **here["train"].awaited()}
    return {name: guarded(then) for name, then in awaited.items()}
