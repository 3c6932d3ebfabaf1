"""Learns the program's modules from their calls in the first steps: their names, which of them the
forward pass calls again and again, and which do not learn."""
import os
import sys
import weakref

facts = hook.here["facts"]
fact, guarded = hook.fact, hook.guarded
torch = hook.torch
same = hook.here["same"]

# Attribute names of DistributedDataParallel and of torch.compile.
MOST_NAMED, WRAPPED = 8192, ("module", "_orig_mod")
PASSES = 3  # backward passes until we stop looking
OFTEN = 4  # calls in one forward pass
undo_look = None  # ends our watch of calls; None while we do not watch them
passes = 0
names = {}  # id of a module: its name
roots = []  # weak references to the outermost modules
within = {}  # id of a module: id of the module that holds it
counted = {}  # id of a module: its Calls in this forward pass
frozen = {}  # id of a module that does not learn, as none inside it does: its Frozen


class Calls:
    """Calls of one module in one forward pass. in_turn: each gets what an earlier one computed.
    sequences: the module is a recurrent layer, which takes a whole sequence in one call; cell: it is one point in time of
    such a layer."""

    def __init__(self, module, learns):
        self.count, self.place, self.learnt, self.in_turn = 0, "", learns, False
        self.sequences = isinstance(module, getattr(torch.nn, "RNNBase", ()))
        self.cell = isinstance(module, getattr(torch.nn, "RNNCellBase", ()))


class Frozen:
    """inputs: the tensors of the last calls, each with its version; same: some came again."""

    def __init__(self, module):
        self.module = weakref.ref(module)
        self.versions, self.inputs, self.same, self.place = versions(module), [], False, ""


def versions(module):
    """A number that grows with each write to a weight or a buffer of the module."""
    return sum(version(t) for t in [*module.parameters(), *module.buffers()])


def version(tensor):
    return 0 if tensor.is_inference() else tensor._version


def draws(module):
    """True if it computes something else each time, as dropout does."""
    return any(m.training and m.__dict__.get("p") for m in module.modules())


def tensors_in(args, named):
    return [t for a in (*args, *named.values()) for t in (a if isinstance(a, (tuple, list)) else (a,))
            if isinstance(t, torch.Tensor)]


# ---- names --------------------------------------------------------------------------------------

def name_modules(root):
    """Tells the agent the name of each module within the outermost one. Where there are several of
    these, the names within the later ones begin with the class."""
    first, kind = not names, type(root).__name__
    roots.append(weakref.ref(root))
    below = [("" if first else kind, root)]
    while below and len(names) < MOST_NAMED:
        name, one = below.pop()
        kind = type(one).__name__
        names[id(one)] = kind if one is root else f"{name} ({kind})"
        hook.agent.gpuprof_hook_module(id(one), hook.encoded(names[id(one)]))
        for part, child in one.__dict__.get("_modules", {}).items():
            if child is not None and id(child) not in names:
                within[id(child)] = id(one)
                below.append((f"{name}.{part}" if name and name not in WRAPPED else part, child))
    find_frozen(root)


def find_frozen(root):
    """Finds the outermost modules that have weights of which none learns."""
    below = [root]
    while below and len(frozen) < 16:
        one = below.pop()
        weights = list(one.parameters())
        if weights and not any(w.requires_grad for w in weights):
            if not draws(one):
                frozen[id(one)] = Frozen(one)
        elif weights:
            below.extend(one.children())


# ---- calls --------------------------------------------------------------------------------------

@guarded
def called(module, *args, **named):
    if id(module) not in names:
        name_modules(module)
    same.called(module, args, named)
    note_scattered(module)
    if passes >= PASSES:
        return
    if id(module) in frozen:
        note_frozen(frozen[id(module)], tensors_in(args, named))
    elif torch.is_grad_enabled():
        count(module, args, named)


def count(module, args, named):
    """A second call whose input has a graph that the first one's had not continues what the first
    one computed: it cannot be made together with it."""
    calls = counted.get(id(module))
    if calls is None:
        if next(module.parameters(), None) is None:
            return
        calls = counted[id(module)] = Calls(module, [t.requires_grad for t in tensors_in(args, named)])
    calls.count += 1
    if calls.count == 2:
        calls.place = hook.user_place()
        later = [t.requires_grad for t in tensors_in(args, named)]
        calls.in_turn = len(later) != len(calls.learnt) or any(b and not a for a, b in zip(calls.learnt, later))


def note_scattered(module):
    """cuDNN takes the weights of a recurrent layer in one piece: where they are not, PyTorch copies all of them in each call."""
    if not issubclass(type(module), getattr(torch.nn, "RNNBase", ())) or facts.TORCH_RNN_SCATTERED in hook.known:
        return
    own = object.__getattribute__(module, "__dict__")
    weights = [w for w in own.get("_flat_weights", ()) if type(w) in (torch.Tensor, torch.nn.Parameter) and w.is_cuda]
    if len({w.untyped_storage().data_ptr() for w in weights}) > 1:
        fact(facts.TORCH_RNN_SCATTERED, f"{names[id(module)]} at {hook.user_place()}")


def note_frozen(one, tensors):
    """The same tensors, written by nobody in between, give the same result."""
    now = [(weakref.ref(t), version(t)) for t in tensors]
    if any(len(now) == len(seen) and all(a() is b() and new == old for (a, new), (b, old) in zip(now, seen))
           for seen in one.inputs if now):
        one.same, one.place = True, hook.user_place()
    one.inputs = [*one.inputs[-7:], now]
    one.place = one.place or hook.user_place()


def is_inside_another(module_id):
    """True if a module around it is called as often: then that one is meant."""
    outer = within.get(module_id)
    while outer is not None:
        if outer in counted and counted[outer].count >= counted[module_id].count:
            return True
        outer = within.get(outer)
    return False


# ---- at backward passes -------------------------------------------------------------------------

def at_backward():
    """A forward pass is over."""
    global passes
    if not undo_look:
        return
    often = [i for i, c in counted.items() if c.count >= OFTEN and not is_inside_another(i)]
    if often and facts.TORCH_MODULES_REPEATED not in hook.known:
        most = max(often, key=lambda i: counted[i].count)
        calls = counted[most]
        how = "".join(words for is_so, words in ((calls.in_turn, ", in turn"), (calls.sequences, ", takes sequences"),
                                                 (calls.cell, ", a cell")) if is_so)
        fact(facts.TORCH_MODULES_REPEATED, f"{names[most]}, {calls.count} times{how} at {calls.place}")
    counted.clear()
    passes += 1
    same.at_backward()
    if passes == PASSES:
        tell_frozen()
        frozen.clear()
    if passes >= PASSES and same.over:
        stop_looking()


def tell_frozen():
    """Of the modules whose weights and buffers nobody wrote meanwhile, the largest that was
    called."""
    still = [(f, f.module()) for f in frozen.values() if f.place and f.module() is not None]
    still = [(sum(w.numel() for w in m.parameters()), names[id(m)], f) for f, m in still if versions(m) == f.versions]
    if still:
        _, name, one = max(still, key=lambda entry: entry[:2])
        same = ", same input" if one.same else ""
        fact(facts.TORCH_MODULES_FROZEN, f"{name}{same} at {one.place}")


def stop_looking():
    global undo_look
    if undo_look:
        undo_look()
        undo_look = None
        counted.clear()
        frozen.clear()
        same.stop()


def look():
    """Watches the calls. Not if a compiler may trace them. They are watched in place: a forward hook would
    change the program's stack."""
    global undo_look
    here = sys.modules.get("torch.nn.modules.module")
    if (undo_look or names or facts.TORCH_COMPILE in hook.known or sys.version_info < (3, 11)
            or os.environ.get("GPUPROF_LINES") == "0" or not hasattr(here, "Module")):
        return
    undo_look = hook.wrap(here.Module, "__call__", hook.NOTE, note=called)
    hook.undo_at_compile.append(stop_looking)
