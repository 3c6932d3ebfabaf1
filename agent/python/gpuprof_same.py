"""Finds modules that a forward pass calls again although they can read the same as before: the same tensors, which nobody
has written since, and the same weights. A generator that runs twice for one noise, weights that are normalised for
each point in time."""
import collections
import types
import weakref

facts = hook.here["facts"]
torch = hook.torch
again = hook.here["again"]
attributes = object.__getattribute__  # runs nothing of the program's

PASSES = 8  # backward passes until we stop looking
FIRST = 3  # ... if there is nothing to look at by then
MOST, LAST, MOST_CALLS = 16, 4, 64  # modules that are read; calls that are compared with; calls of one that are read
LEAST = 5  # one call in so many is worth telling
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
passes = 0
over = False
given = {}  # id of a module: (a weak reference to it, the tensors of its last calls in this forward pass)
found = {}  # id of a module that was called again with the same tensors: its Same


class Same:
    """calls, again: calls that were read, and how many of them could read what an earlier one in their pass could."""

    def __init__(self, module):
        self.module, self.since = weakref.ref(module), passes
        self.reads, self.calls, self.again, self.unknown, self.place = [], 0, 0, False, ""


def tensors_of(args, named):
    """Each with a number that a write changes. None: a tensor counts no writes, or is of a class of the program's."""
    tensors = []
    for one in (*args, *named.values()):
        for part in one if type(one) in (list, tuple) else (one,):
            if issubclass(type(part), torch.Tensor):
                if type(part) not in (torch.Tensor, torch.nn.Parameter) or part.is_inference():
                    return None
                tensors.append((weakref.ref(part), part._version))
    return tensors


def is_known(module):
    """Whether all code within the module can be looked at: it is PyTorch's or the program's own, and nobody hooked it."""
    for one in again.modules_of(module):
        forward = next((vars(c)["forward"] for c in type(one).__mro__ if "forward" in vars(c)), None)
        path = forward.__code__.co_filename if issubclass(type(forward), types.FunctionType) else ""
        own = attributes(one, "__dict__")
        hooks = [own[name] for name in HOOKS if name in own]
        if "forward" in own or not all(type(h) in (dict, collections.OrderedDict) and len(h) == 0 for h in hooks):
            return False
        if not (path.startswith(hook.torch_folder) or again.is_users(path)):
            return False
        if own.get("training") and type(own.get("dropout")) is float and own["dropout"]:
            return False  # PyTorch's attention and recurrent layers
    return True


def precision():
    """Whether autocast is on, and to what: the same call gives another result then."""
    kind = getattr(torch, "get_autocast_dtype", None)
    return torch.is_autocast_enabled(), kind("cuda") if kind else None


def is_inside_found(module_id):
    within = hook.here["calls"].within
    outer = within.get(module_id)
    while outer is not None:
        if outer in found:
            return True
        outer = within.get(outer)
    return False


def called(module, args, named):
    """Before each call of a module."""
    if over:
        return
    one = found.get(id(module))
    if one:
        if one.module() is module and one.since < passes:
            read(one, module, args, named)
        return
    tensors = tensors_of(args, named)
    if tensors is None or passes >= PASSES - 1 or len(found) >= MOST:
        return
    known, earlier = given.get(id(module), (None, []))
    if known is None or known() is not module:
        known, earlier = weakref.ref(module), []
    if any(again.same_tensors(tensors, before) for before in earlier) and not is_inside_found(id(module)):
        found[id(module)] = Same(module)
    given[id(module)] = known, [*earlier[1 - LAST:], tensors]


def read(one, module, args, named):
    if one.unknown or one.calls >= MOST_CALLS:
        return
    one.calls += 1
    now = again.Reads()
    try:
        if not is_known(module):
            raise again.Unknown
        for thing in (module, args, named, precision()):
            now.add(thing)
        now.add_methods()
    except (again.Unknown, ValueError, RuntimeError):  # as in gpuprof_again
        one.unknown, one.reads = True, []
        return
    finally:
        now.close()
    if any(now.same(before) for before in one.reads):
        one.again += 1
        one.place = one.place or hook.user_place()
    one.reads = [*one.reads[1 - LAST:], now]


def at_backward():
    """A forward pass is over."""
    global passes
    if over:
        return
    passes += 1
    given.clear()
    for one in found.values():
        one.reads = []
    if facts.TORCH_CHECKPOINT in hook.known:  # calls the same modules anew for the same tensors, in backward passes
        stop()
    elif passes == PASSES or (passes == FIRST and not found):
        tell()


def named(module_id):
    """Names within the first outermost module do not begin with its own, as those within later ones do: "Generator but
    Judge" says which are not its."""
    calls = hook.here["calls"]
    first, *later = [root() for root in calls.roots] or [None]
    if first is None or id(first) != module_id:
        return calls.names[module_id]
    others = {type(one).__name__: None for one in later if one is not None}
    return f"{calls.names[module_id]} but {' '.join(others) or 'none'}"


def tell():
    names = hook.here["calls"].names
    told = [(i, one) for i, one in found.items() if not one.unknown and one.again * LEAST >= one.calls > 0 and i in names]
    if told:
        text = "; ".join(f"{named(i)}, {one.again} of {one.calls}" for i, one in told)
        hook.fact(facts.TORCH_MODULES_AGAIN, f"{text} at {told[0][1].place}")
    stop()


def stop():
    global over
    over = True
    given.clear()
    found.clear()
