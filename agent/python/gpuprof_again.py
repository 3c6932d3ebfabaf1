"""Finds functions of the program that compute again what they have computed: over some steps it watches the
functions that launch work, and compares what each call can read with what the last calls could read."""
import dis
import functools
import os
import sys
import threading
import types
import weakref

facts = hook.here["facts"]
torch = hook.torch

BEGINS, ENDS = 4, 8  # backward passes; without any, calls of the first module
LAST, MOST_READ, DEEPEST, MOST_FUNCTIONS, LEAST = 8, 2048, 5, 64, 0.5
# Of a function: calls that are compared, and calls after which it is given up if none was the same.
MOST_CALLS, GIVE_UP = 64, 2 * LAST
PLAIN = {type(None), bool, int, float, complex, str, bytes, type(Ellipsis)} | {
    vars(torch).get(name) for name in ("dtype", "device", "Size", "layout", "memory_format")}
# What says nothing about data, and does not change.
FIXED = (types.ModuleType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, type, property)
# Who calls one of these computes something else each time.
DRAWS = {"rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal", "normal_", "uniform_",
         "random_", "bernoulli", "bernoulli_", "multinomial", "exponential_", "dropout", "sample", "rsample", "random",
         "shuffle", "choice", "choices", "uniform", "gauss", "time", "perf_counter", "monotonic", "open", "input"}
UNSEEN = {"super", "__class__", "locals", "eval", "exec", "_getframe"}  # they reach what the code names nowhere
GENERATES = 0x20 | 0x80 | 0x200  # flags of a generator, a coroutine, and one that is both (inspect.CO_...)
attributes = object.__getattribute__  # runs nothing of the program's
state = threading.local()
watched = []  # functions that are watched: their Seen
undo = []
passes = calls_of_first = 0
first = None  # the module that was called first: its calls count where nothing is trained,
inputs = None  # and what they get
over = False


class Unknown(Exception):
    """What the call reads cannot be compared."""


class Seen:
    """The calls of one function: how many, how many of them could read what an earlier one could, and how
    many were made within such a call of another function."""

    def __init__(self, function):
        self.function, self.name = function, function.__code__.co_qualname
        self.last, self.calls, self.again, self.within, self.unknown = [], 0, 0, 0, False
        self.given = []  # the tensors among the arguments of the last calls
        self.own = used_of_first(function.__code__)

    def share(self):
        """Of the calls that had one before them."""
        return self.again / max(1, self.calls - self.within - 1)


class Reads:
    """What a call can read: tensors, each with a number that a write changes, and plain values. Holds no
    tensor alive once it is closed."""

    def __init__(self):
        self.tensors, self.values = [], []
        self.met = {}  # by id; holds what was met, because a later object could get the id of one that is gone
        self.kinds, self.names = {}, {"__call__", "forward"}  # classes of the program; what its code may call of them

    def add(self, thing, depth=0):
        kind = type(thing)
        if kind in PLAIN:
            self.values.append(thing)
            return
        if issubclass(kind, FIXED) or id(thing) in self.met:
            return
        self.met[id(thing)] = thing
        if depth > DEEPEST or len(self.met) > MOST_READ:
            raise Unknown
        if issubclass(kind, torch.Tensor):
            self.add_tensor(thing)
        elif issubclass(kind, torch.nn.Module):
            self.add_module(thing)
        elif kind in (list, tuple, set, frozenset):
            for one in thing:
                self.add(one, depth + 1)
        elif kind is dict:
            for name, one in thing.items():
                self.add(name, depth + 1)
                self.add(one, depth + 1)
        elif issubclass(kind, types.FunctionType):
            self.add_function(thing, depth)
        elif kind is types.MethodType:
            self.add(thing.__func__, depth + 1)
            self.add(thing.__self__, depth + 1)
        elif kind is functools.partial:
            for one in (thing.func, thing.args, thing.keywords):
                self.add(one, depth + 1)
        else:
            self.add(vars_of(thing), depth + 1)
            self.kinds[id(kind)] = kind

    def add_tensor(self, tensor):
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.is_inference():
            raise Unknown  # tensors of inference_mode() do not count writes
        learnt = passes if tensor.requires_grad else -1  # an optimizer may write without a trace
        self.tensors.append((weakref.ref(tensor), tensor._version, learnt))

    def add_module(self, module):
        plain = plain_names()
        for one in modules_of(module):
            self.met[id(one)] = one
            own = attributes(one, "__dict__")
            self.kinds[id(type(one))] = type(one)
            self.values.append(own.get("training"))
            if own.get("training") and own.get("p"):
                raise Unknown  # dropout
            for name, value in own.items():
                if name == "_buffers" and own.get("training") and type(one) in norms():
                    continue  # written while training, and not read
                if name in ("_parameters", "_buffers"):
                    self.add({k: v for k, v in value.items() if v is not None}, DEEPEST - 1)
                elif name not in plain:
                    self.add(value, DEEPEST - 2)

    def add_used(self, module, names):
        """Only these attributes of a module. False: some are methods or of its class, which may use others."""
        own = attributes(module, "__dict__")
        found = {}
        for name in names:
            holder = next((h for h in (own, *(own.get(k, {}) for k in ("_parameters", "_buffers", "_modules"))) if name in h), None)
            if holder is None:
                return False
            found[name] = holder[name]
        self.met[id(module)] = module
        self.add(found)
        return True

    def add_function(self, function, depth):
        """What its code names: globals, and what it has closed over."""
        code, within = function.__code__, function.__dict__.get("__wrapped__")
        if isinstance(within, types.FunctionType):  # a decorator, perhaps PyTorch's
            self.add(within, depth + 1)
        if not is_users(code.co_filename):
            return
        names = names_of(code)
        if DRAWS & names or code.co_flags & GENERATES:
            raise Unknown
        self.names |= names
        for name in names:
            if name in function.__globals__:
                self.add(function.__globals__[name], depth + 1)
        for cell in function.__closure__ or ():
            self.add(cell.cell_contents, depth + 1)

    def add_methods(self):
        """What the code may call of the objects that were met: their methods of a name that stands in it."""
        done = set()
        while True:
            found = [f for kind in self.kinds.values() for f in methods_of(kind, self.names) if id(f) not in done]
            if not found:
                return
            for function in found:
                done.add(id(function))
                self.add_function(function, 1)

    def close(self):
        self.met = self.kinds = self.names = None

    def same(self, other):
        return self.values == other.values and same_tensors(self.tensors, other.tensors)


def same_tensors(some, others):
    """Lists of (weak reference, numbers...). References must not be compared: that compares what tensors hold, on the GPU."""
    return len(some) == len(others) and all(
        a() is not None and a() is b() and of == other for (a, *of), (b, *other) in zip(some, others))


def vars_of(thing):
    """Attributes of an object of the program's own class, which does nothing by itself when it is read."""
    kind = type(thing)
    path = getattr(sys.modules.get(type.__getattribute__(kind, "__module__")), "__file__", None) if type(kind) is type else None
    if not is_users(path) or any("__next__" in vars(c) for c in kind.__mro__):
        raise Unknown
    try:
        return attributes(thing, "__dict__")
    except AttributeError:
        raise Unknown from None


@functools.cache
def plain_names():
    """Of the attributes that PyTorch gives each module."""
    return set(attributes(torch.nn.Module(), "__dict__"))


@functools.cache
def norms():
    """PyTorch's batch normalisations."""
    return {vars(torch.nn).get(name) for name in ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm")}


@functools.cache
def names_of(code):
    """Also of functions within it: comprehensions, lambdas."""
    return set(code.co_names).union(*(names_of(one) for one in code.co_consts if isinstance(one, types.CodeType)))


def used_of_first(code):
    """The attributes that the code reads of its first argument. None: it may do something else with it."""
    first = code.co_varnames[0] if code.co_argcount else None
    if first is None or first in code.co_cellvars or UNSEEN & {*code.co_names, *code.co_freevars}:
        return None
    names, loaded = set(), False
    for one in dis.get_instructions(code):
        given = one.argval if isinstance(one.argval, tuple) else (one.argval,)
        if loaded and one.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            names.add(one.argval)
        elif loaded or (first in given[:-1] and "_FAST" in one.opname):
            return None
        loaded = "_FAST" in one.opname and given[-1] == first
        if loaded and not one.opname.startswith("LOAD_FAST"):
            return None
    return names


def methods_of(kind, names):
    for c in kind.__mro__:
        if c in (torch.nn.Module, object):
            continue
        for name in names & vars(c).keys():
            found = vars(c)[name]
            found = found.__func__ if type(found) in (staticmethod, classmethod) else found.fget if type(found) is property else found
            if isinstance(found, types.FunctionType):
                yield found


def modules_of(module):
    """It and the modules within it, each once. Module.modules() would call what a class of the program's may override."""
    todo, met = [module], set()
    while todo:
        one = todo.pop()
        if id(one) not in met:
            met.add(id(one))
            todo += (m for m in attributes(one, "__dict__").get("_modules", {}).values() if m is not None)
            yield one


def is_users(path):
    return bool(path) and not path.startswith((hook.torch_folder, hook.FOLDER, "<")) and "-packages" + os.sep not in path and (
        not path.startswith(os.path.dirname(os.__file__) + os.sep))


# ---- calls --------------------------------------------------------------------------------------

def begins(seen, args, named):
    stack = state.__dict__.setdefault("stack", [])
    running, frame = set(), sys._getframe() if stack else None
    while frame:
        running.add(frame.f_code)
        frame = frame.f_back
    stack[:] = [entry for entry in stack if entry[0].function.__code__ in running]  # a call that raised did not end
    inside = any(same for _, same in stack)
    same = False
    if seen.calls < (MOST_CALLS if seen.again or seen.within else GIVE_UP) and not seen.unknown:
        seen.calls += 1
        seen.within += inside
        same = not inside and compare(seen, args, named)
    stack.append((seen, same))


def compare(seen, args, named):
    """Whether the call can read the same as an earlier one. Where its tensors are other ones, all else need not be read: that
    takes a few microseconds, and reading a small module takes hundreds (bench/python_again.py)."""
    given = [(weakref.ref(t), t._version) for t in (*args, *named.values()) if type(t) in (torch.Tensor, torch.nn.Parameter)
             and not t.is_inference()]
    if given and not any(same_tensors(given, before) for before in seen.given):
        seen.given = [*seen.given[1 - LAST:], given]
        return False
    seen.calls -= bool(given) and not seen.last  # the call before was not read: nothing to compare with
    now = Reads()
    try:
        now.add_function(seen.function, 0)
        module = args[0] if args and seen.own is not None and isinstance(args[0], torch.nn.Module) else None
        for one in (args[1:] if module is not None and now.add_used(module, seen.own) else args, named):
            now.add(one)
        now.add_methods()
    except (Unknown, ValueError, RuntimeError):  # an empty cell; a dictionary that another thread writes
        seen.unknown = True
        return False
    finally:
        now.close()
    same = any(now.same(before) for before in seen.last)
    seen.again += same
    seen.last = [*seen.last[1 - LAST:], now]
    return same


def ended(seen):
    stack = state.__dict__.get("stack", [])
    while stack:  # a call that raised did not end here: its entry goes, too
        if stack.pop()[0] is seen:
            return


def watch(function):
    seen = Seen(function)

    @hook.guarded
    def before(*args, **named):
        begins(seen, args, named)

    @hook.guarded
    def after(*args, **named):
        ended(seen)

    watched.append(seen)
    for kind, note in ((hook.AFTER, after), (hook.NOTE, before)):
        undo.append(hook.watch(function, seen.name, kind, hook.encoded(seen.name), note))


def nothing():
    """Reads nothing but what it gets."""


# ---- which functions -----------------------------------------------------------------------------

def function_of(path, name):
    """The function of this qualified name in a module from this file."""
    for module in list(sys.modules.values()):
        if type(module) is not types.ModuleType or getattr(module, "__file__", None) != path:
            continue
        found = module
        for part in name.split("."):
            found = vars(found).get(part) if isinstance(found, (type, types.ModuleType)) else None
        found = getattr(found, "__func__", found)
        for _ in range(4):  # within decorators
            code = getattr(found, "__code__", None)
            if isinstance(found, types.FunctionType) and code.co_filename == path and code.co_qualname == name:
                return found
            found = getattr(found, "__wrapped__", None)
    return None


@hook.guarded
def begin():
    """Watches the functions that have launched work so far."""
    if watched:  # the first calls of a module came before the first backward pass
        return
    n, path = 0, hook.ctypes.c_char_p()
    while len(watched) < MOST_FUNCTIONS:
        name = hook.agent.gpuprof_hook_launcher(n, hook.ctypes.byref(path))
        if name is None:
            break
        n += 1
        function = function_of(path.value.decode("utf-8", "replace"), name.decode("utf-8", "replace"))
        if function and not function.__code__.co_flags & GENERATES:
            watch(function)
    hook.undo_at_compile.append(end)


def end():
    global over
    over = True
    while undo:
        undo.pop()()


@hook.guarded
def tell():
    """Records the functions of which half of the calls or more computed again, and those that only they
    call."""
    end()
    again = [s for s in watched if s.calls > 1 and s.share() >= LEAST]
    # A loop that times the model on one batch, or one whose other data come from elsewhere: the analysis tells them apart.
    same = "one batch: " if not passes and inputs and inputs.again * 2 >= calls_of_first else ""
    if again:
        most = max(s.share() for s in again)
        inner = [s for s in watched if s.within and s.within >= LEAST * s.calls and s not in again]
        code = again[0].function.__code__
        names = "; ".join(s.name for s in [*again, *inner][:16])
        hook.fact(facts.TORCH_AGAIN, f"{same}{names}, {100 * most:.0f} % at {hook.short(code.co_filename)}:{code.co_firstlineno}")
    elif watched:
        hook.fact(facts.TORCH_AGAIN, f"none of {len(watched)} functions")
    watched.clear()


def possible():
    return not (over or sys.version_info < (3, 11) or facts.TORCH_COMPILE in hook.known
                or os.environ.get("GPUPROF_LINES") == "0")


def at_backward():
    """A forward pass is over."""
    global passes
    passes += 1
    if not possible():
        return
    if passes == BEGINS:
        begin()
    elif passes == ENDS:
        tell()


@hook.guarded
def called(module, *args, **named):
    """Without training the calls of the first module show how far the loop is. Returns True when it need not
    be called again."""
    global first, calls_of_first, inputs
    if passes or not possible():
        return True
    first = first or weakref.ref(module)
    if first() is module:
        calls_of_first += 1
        inputs = inputs or Seen(nothing)
        compare(inputs, args, named)
        if calls_of_first == BEGINS:
            begin()
        elif calls_of_first == ENDS + 1:
            tell()
    return False


def hook_module(module):
    if not hook.only_steps:
        hook.wrap(module.Module, "__call__", hook.NOTE, note=called)
