#!/usr/bin/env python3
"""The part of the Python hook that finds functions which compute again (gpuprof_again.py), by itself, with a stand-in for PyTorch: which
calls count as the same, and which never do because something in them differs or is drawn.

usage: again.py BUILD
"""
import os
import sys
import tempfile
import types
import weakref

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from support import Checks  # noqa: E402

HOOK = os.path.join(HERE, "..", "..", "agent", "python", "gpuprof_again.py")

# Functions of a program, each called with the same arguments, and whether a later call could read the same as the first.
PROGRAM = """
import functools
import torch
table, limits = torch.Tensor(), {"most": 4}
calls = []

def reads_a_global(): return table, limits
def gets(x): return x
def draws(x): return torch.rand(x)
def draws_in_a_comprehension(x): return [torch.rand(x) for _ in range(2)]
def calls_one_that_draws(x): return draws(x)
def generates(x): yield x
def counts(x): return calls.append(1)
@torch.no_grad
def draws_within_a_decorator(x): return torch.rand(x)
def calls_a_decorated_one(x): return draws_within_a_decorator(x)

class Noise(torch.nn.Module):
    def forward(self, x): return torch.randn_like(x)
class Plain(torch.nn.Module):
    def forward(self, x): return x
class Net(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self._modules["inner"] = inner
        self._parameters["weight"] = torch.nn.Parameter()
        self.scale = 2
    def forward(self): return self.inner(self.weight)
    def by_method(self): return self.jitter()
    def jitter(self): return torch.normal(self.weight)
    @property
    def shaken(self): return torch.normal(self.weight)
    def by_property(self): return self.shaken
    def scaled(self): return self.weight * self.scale
    def only_reads(self, x): return x * self.scale
    def reads_nothing(self, x): return x * 2
    def hands_on(self, x): return x * len([self])
    def calls_another(self, x): return self.only_reads(x)
    def closes_over(self, x): return [x * self.scale for _ in (lambda: self,)]
class Wide(Net):
    def only_reads(self, x): return super().only_reads(x)
class Weight(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self._parameters["weight"] = torch.nn.Parameter()
class Many(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self._modules.update((f"m{i}", Weight()) for i in range(10))
    def forward(self, x): return x, [self]
class Dropout(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.p = 0.5
class Config:
    def __init__(self): self.width = 3
def by_config(config): return table * config.width
"""


class Tensor:
    requires_grad, _version = False, 0

    def is_inference(self):
        return False

    def __eq__(self, other):
        raise RuntimeError("tensors are compared: that launches work")

    __hash__ = object.__hash__


class Parameter(Tensor):
    requires_grad = True


class Module:
    def __init__(self):
        self.training, self._parameters, self._buffers, self._modules = True, {}, {}, {}


def no_grad(function):
    def call(*args):
        return function(*args)
    call.__wrapped__ = function
    call.__code__ = call.__code__.replace(co_filename="/torch/no_grad.py")
    return call


def stand_in(folder):
    """The hook's part, and the program as a module of its own."""
    torch = types.ModuleType("torch")
    torch.Tensor, torch.no_grad = Tensor, no_grad
    torch.nn = types.SimpleNamespace(Module=Module, Parameter=Parameter)
    hook = types.SimpleNamespace(here={"facts": types.SimpleNamespace(TORCH_COMPILE="compile", TORCH_AGAIN="again")}, torch=torch, guarded=lambda f: f, torch_folder="/torch/", FOLDER="/hook/",
                                 short=os.path.basename)
    with open(HOOK, encoding="utf-8") as f:
        text = f.read()
    again = types.ModuleType("again")
    again.hook = hook
    exec(compile(text, HOOK, "exec"), again.__dict__)
    path = os.path.join(folder, "program.py")
    with open(path, "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    program = types.ModuleType("program")
    program.__file__ = path
    sys.modules.update(program=program, torch=torch)
    exec(compile(PROGRAM, path, "exec"), program.__dict__)
    return again, program


def same(again, function, *args, between=None):
    """Whether the third of three calls could read the same; None: that cannot be compared."""
    seen = again.Seen(function)
    first = again.compare(seen, args, {})
    assert not first
    again.compare(seen, args, {})
    if between:
        between()
    third = again.compare(seen, args, {})
    return None if seen.unknown else third


def write(tensor):
    tensor._version += 1


def keeps_none(again, function):
    seen, x = again.Seen(function), Tensor()
    again.compare(seen, ([x],), {})
    alive = weakref.ref(x)
    del x
    return alive() is None and len(seen.last) == 1


def told(again, p, batches):
    """What is told of p.gets(), called with one tensor in each call of a model that is not trained."""
    again.over, again.calls_of_first, again.first, again.inputs = False, 0, None, None
    again.begin, again.hook.known, found = lambda: None, {}, []
    again.hook.fact = lambda key, text: found.append(text)
    seen, x, net = again.Seen(p.gets), Tensor(), p.Plain()
    again.watched[:] = [seen]
    for batch in batches:
        again.called(net, batch)
        again.begins(seen, [x], {})
        again.ended(seen)
    return found


def cases(again, p):
    x, net, config = Tensor(), p.Net(p.Plain()), p.Config()
    shaken, dropped = p.Net(p.Noise()), p.Net(p.Dropout())
    yield "the same global", True, same(again, p.reads_a_global)
    yield "the same argument", True, same(again, p.gets, x)
    yield "the same module", True, same(again, p.Net.forward, net)
    yield "the same number of a module", True, same(again, p.Net.scaled, net)
    yield "an object of the program's own", True, same(again, p.by_config, config)
    yield "a tensor that is written", False, same(again, p.gets, x, between=lambda: write(x))
    yield "a global tensor that is written", False, same(again, p.reads_a_global, between=lambda: write(p.table))
    yield "a weight that is written", False, same(again, p.Net.forward, net, between=lambda: write(net._parameters["weight"]))
    learns = lambda: write(net._parameters["weight"])  # noqa: E731
    yield "a weight is written that the method does not read", True, same(again, p.Net.only_reads, net, x, between=learns)
    yield "a method that reads nothing of its module", True, same(again, p.Net.reads_nothing, net, x, between=learns)
    yield "a method that hands its module on", False, same(again, p.Net.hands_on, net, x, between=learns)
    yield "a method that calls another", False, same(again, p.Net.calls_another, net, x, between=learns)
    yield "a method that closes over its module", False, same(again, p.Net.closes_over, net, x, between=learns)
    wide = p.Wide(p.Plain())
    yield "a method that calls its base class", False, same(again, p.Wide.only_reads, wide, x,
                                                            between=lambda: write(wide._parameters["weight"]))
    yield "a number that it reads changes", False, same(again, p.Net.only_reads, net, x, between=lambda: setattr(net, "scale", 7))
    many = p.Many()
    for name, module in many._modules.items():
        yield f"the weight of module {name} of ten is written", False, same(again, p.Many.forward, many, between=lambda w=module._parameters["weight"]: write(w))
    one = Tensor()
    yield "a model that gets new batches is told of", ["gets, 100 %"], [
        text.split(" at ")[0] for text in told(again, p, [Tensor() for _ in range(12)])]
    yield "one that is timed on one batch is told as such", ["one batch: gets, 100 %"], [
        text.split(" at ")[0] for text in told(again, p, [one] * 12)]
    yield "no tensor is kept", True, keeps_none(again, p.gets)
    yield "a number that changes", False, same(again, p.Net.scaled, net, between=lambda: setattr(net, "scale", 3))
    yield "an attribute that changes", False, same(again, p.by_config, config, between=lambda: setattr(config, "width", 4))
    yield "a list that grows", False, same(again, p.counts, x, between=lambda: p.calls.append(1))
    for what, function, args in (("a function that draws", p.draws, [x]), ("a comprehension that draws", p.draws_in_a_comprehension, [x]),
                                 ("a function that it calls draws", p.calls_one_that_draws, [x]), ("a generator", p.generates, [x]),
                                 ("a decorated function draws", p.calls_a_decorated_one, [x]), ("a module within draws", p.Net.forward, [shaken]),
                                 ("a method that it calls draws", p.Net.by_method, [net]), ("a property draws", p.Net.by_property, [net]),
                                 ("dropout within", p.Net.forward, [dropped]), ("an open file", p.gets, [sys.stdin]), ("an iterator", p.gets, [iter([1])])):
        yield f"{what}: cannot be compared", None, same(again, function, *args)


def main():
    checks = Checks()
    if sys.version_info < (3, 11):
        print("skipped: Python 3.11 and newer alone")
        return 77
    with tempfile.TemporaryDirectory(prefix="gpuprof-again-") as folder:
        for what, expected, found in cases(*stand_in(folder)):
            checks.check(found == expected, what, f"{found} for {expected}")
    checks.done()
    return 0


sys.exit(main())
