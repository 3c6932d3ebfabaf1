#!/usr/bin/env python3
"""The part of the Python hook that finds modules which are called again with the same tensors (gpuprof_same.py), by itself, with a
stand-in for PyTorch: which calls count as the same, and that nothing of the program runs or stays alive for it.

usage: same.py BUILD
"""
import os
import sys
import tempfile
import types
import weakref

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from support import Checks  # noqa: E402

FOLDER = os.path.join(HERE, "..", "..", "agent", "python")
PROGRAM = """
import torch

class Net(torch.nn.Module):
    def forward(self, *x): return x
class Noise(torch.nn.Module):
    def forward(self, x): return torch.randn_like(x)
class Counts(torch.nn.Module):
    seen = 0
    def forward(self, x): return x
class Hostile(torch.nn.Module):
    def __getattr__(self, name): raise SystemExit("the program's __getattr__ ran for " + name)
    def __eq__(self, other): raise SystemExit("the program's __eq__ ran")
    def __bool__(self): raise SystemExit("the program's __bool__ ran")
    def __len__(self): raise SystemExit("the program's __len__ ran")
    __hash__ = object.__hash__
    def forward(self, *x): return x
class Liar:
    @property
    def __class__(self): raise SystemExit("the program's __class__ ran")
    def __eq__(self, other): raise SystemExit("the program's __eq__ ran")
class Kind(type):
    def __getattr__(cls, name): raise SystemExit("the program's metaclass ran for " + name)
class Odd(torch.nn.Module, metaclass=Kind):
    def forward(self, *x): return x
"""


class Tensor:
    requires_grad, _version = False, 0

    def is_inference(self):
        return False

    def __eq__(self, other):
        raise SystemExit("tensors are compared: that launches work")

    __hash__ = object.__hash__


class Parameter(Tensor):
    requires_grad = True


class Own(Tensor):
    """A class of the program's."""


class Module:
    def __init__(self):
        self.training, self._parameters, self._buffers, self._modules, self._forward_hooks = True, {}, {}, {}, {}

    def forward(self, *x):
        return x


class BatchNorm1d(Module):
    pass


class Program:
    """What the hook is told by and tells."""

    def __init__(self, path):
        torch = types.ModuleType("torch")
        torch.Tensor, torch.is_autocast_enabled = Tensor, lambda: self.autocast
        torch.nn = types.SimpleNamespace(Module=Module, Parameter=Parameter, BatchNorm1d=BatchNorm1d)
        self.facts, self.autocast = [], False
        facts = types.SimpleNamespace(TORCH_COMPILE="compile", TORCH_AGAIN="again", TORCH_CHECKPOINT="checkpoint", TORCH_MODULES_AGAIN="modules")
        self.hook = types.SimpleNamespace(here={"facts": facts, "calls": types.SimpleNamespace(within={}, names={}, roots=[])}, torch=torch, known={}, guarded=lambda f: f,
                                          torch_folder=HERE + os.sep, FOLDER="/hook/", short=os.path.basename, user_place=lambda: "train.py:9",
                                          fact=lambda key, text: self.facts.append(text))
        for name in ("again", "same"):
            part = self.hook.here[name] = types.ModuleType(name)
            part.hook = self.hook
            with open(os.path.join(FOLDER, f"gpuprof_{name}.py"), encoding="utf-8") as f:
                exec(compile(f.read(), name, "exec"), part.__dict__)
        self.code = types.ModuleType("program")
        self.code.__file__ = path
        sys.modules.update(program=self.code, torch=torch)
        with open(path, "w", encoding="utf-8") as f:
            f.write(PROGRAM)
        exec(compile(PROGRAM, path, "exec"), self.code.__dict__)

    def call(self, module, *args, **named):
        self.hook.here["calls"].names.setdefault(id(module), f"one ({type(module).__name__})")
        self.hook.here["same"].called(module, args, named)

    def backward(self):
        self.hook.here["same"].at_backward()
        self.hook.here["again"].passes += 1

    def run(self, step, steps=10):
        for _ in range(steps):
            step()
            self.backward()
        return self.facts


def holding(kind, **parts):
    module = kind()
    for name, value in parts.items():
        module.__dict__[name] = value
    return module


def cases(new):
    def twice(kind, between=lambda p, net: None, args=None, net=None, steps=10):
        p = new()
        net = net or (lambda p: getattr(p.code, kind)())
        net = net(p)

        def step():
            x = args or (Tensor(),)
            p.call(net, *x)
            between(p, net)
            p.call(net, *x)
        return p.run(step, steps)

    yield "twice for the same tensor", ["one (Net), 7 of 14 at train.py:9"], twice("Net")
    yield "twice for none", ["one (Net), 7 of 14 at train.py:9"], twice("Net", args=(3,))
    yield "for the same tensor in each step, once in each", [], new_steps(new)
    yield "three times, once for another tensor", ["one (Net), 7 of 21 at train.py:9"], three(new)
    yield "the first outermost module", ["one (Net) but Noise, 7 of 14 at train.py:9"], outermost(new)
    yield "a module that draws", [], twice("Noise")
    yield "dropout", [], twice("", net=lambda p: holding(p.code.Net, p=0.5))
    yield "attention's dropout", [], twice("", net=lambda p: holding(p.code.Net, dropout=0.1))
    yield "a module with a hook", [], twice("", net=lambda p: holding(p.code.Net, _forward_hooks={1: print}))
    yield "a forward() of the object's own", [], twice("", net=lambda p: holding(p.code.Net, forward=print))
    yield "a weight that is written", [], twice("", lambda p, n: write(n._parameters["w"]), net=lambda p: holding(p.code.Net, _parameters={"w": Parameter()}))
    yield "a buffer that is written", [], twice("", lambda p, n: write(n._buffers["b"]), net=lambda p: holding(p.code.Net, _buffers={"b": Tensor()}))
    yield "statistics that training writes", ["one (BatchNorm1d), 7 of 14 at train.py:9"], twice(
        "", lambda p, n: write(n._buffers["b"]), net=lambda p: holding(BatchNorm1d, _buffers={"b": Tensor()}))
    yield "statistics that are read", [], twice(
        "", lambda p, n: write(n._buffers["b"]), net=lambda p: holding(BatchNorm1d, training=False, _buffers={"b": Tensor()}))
    yield "a number that changes", [], twice("Counts", lambda p, n: n.__dict__.update(seen=n.__dict__.get("seen", 0) + 1))
    yield "another precision", [], twice("Net", lambda p, n: setattr(p, "autocast", not p.autocast))
    yield "a tensor of the program's own class", [], twice("Net", args=(Own(),))
    yield "a hostile module", ["one (Hostile), 7 of 14 at train.py:9"], twice("Hostile")
    yield "a hostile argument", ["one (Net), 7 of 14 at train.py:9"], hostile_argument(new)
    yield "a hostile metaclass", ["one (Odd), 7 of 14 at train.py:9"], twice("Odd")
    yield "activations that are computed again", [], twice("Net", lambda p, n: p.hook.known.update(checkpoint="on"))
    yield "few passes", [], twice("Net", steps=5)
    yield "nothing is kept alive", True, keeps_none(new)
    yield "looking ends", True, ends(new)


def write(tensor):
    tensor._version += 1


def new_steps(new):
    p, x = new(), Tensor()
    net = p.code.Net()
    return p.run(lambda: p.call(net, x))


def three(new):
    p = new()
    net = p.code.Net()

    def step():
        x = Tensor()
        for one in (x, x, Tensor()):
            p.call(net, one)
    return p.run(step)


def outermost(new):
    p = new()
    net, other = p.code.Net(), p.code.Noise()
    p.hook.here["calls"].roots.extend([weakref.ref(net), weakref.ref(other)])

    def step():
        x = Tensor()
        p.call(net, x)
        p.call(net, x)
    return p.run(step)


def hostile_argument(new):
    p = new()
    net, x, liar = p.code.Net(), Tensor(), p.code.Liar()

    def step():
        p.call(net, x, liar)
        p.call(net, x, liar)
        write(x)
    return p.run(step)


def keeps_none(new):
    p = new()
    net, x = p.code.Net(), Tensor()
    alive = [weakref.ref(net), weakref.ref(x)]
    for _ in range(3):
        p.call(net, x)
        p.call(net, x)
        p.backward()
    p.call(net, x)
    p.hook.here["calls"].names.clear()
    del net, x
    return all(one() is None for one in alive)


def ends(new):
    p = new()
    net = p.code.Net()
    p.run(lambda: p.call(net, Tensor()), 3)
    same = p.hook.here["same"]
    return same.over and not same.given and not same.found


def main():
    checks = Checks()
    if sys.version_info < (3, 11):
        print("skipped: Python 3.11 and newer alone")
        return 77
    with tempfile.TemporaryDirectory(prefix="gpuprof-same-") as folder:
        path = os.path.join(folder, "program.py")
        for what, expected, found in cases(lambda: Program(path)):
            checks.check(found == expected, what, f"{found} for {expected}")
    checks.done()
    return 0


sys.exit(main())
