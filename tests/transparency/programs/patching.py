"""Patch and restore, mocks, identity, types of methods, descriptors: PyTorch's callables are what they are without us."""
import functools
import inspect
import operator
import types
import typing
from unittest import mock

import torch
import torch.utils.checkpoint

import small

TARGETS = [(torch.optim.Optimizer, "zero_grad"), (torch.optim.Optimizer, "step"), (torch.optim.SGD, "step"), (torch.optim.Adam, "step"),
           (torch.Tensor, "backward"), (torch.Tensor, "item"), (torch.Tensor, "cpu"), (torch.Tensor, "to"), (torch.Tensor, "tolist"),
           (torch.Tensor, "numpy"), (torch.Tensor, "cuda"), (torch.Tensor, "nonzero"), (torch.Tensor, "__bool__"), (torch.Tensor, "__float__"),
           (torch.Tensor, "__format__"), (torch.Tensor, "__repr__"), (torch.Tensor, "__array__"), (torch.Tensor, "equal"),
           (torch.nn.Module, "train"), (torch.nn.Module, "eval"), (torch.nn.Module, "to"), (torch.nn.Module, "__call__"),
           (torch.nn.Module, "_call_impl"), (torch.autograd, "backward"), (torch.autograd, "grad"), (torch.nn.utils, "clip_grad_norm_"),
           (torch.nn.utils, "clip_grad_value_"), (torch.utils.data.DataLoader, "__iter__"), (torch.utils.data.DataLoader, "__init__"),
           (torch.utils.data._utils.fetch._MapDatasetFetcher, "fetch"), (torch.utils.data._utils.collate, "default_collate"),
           (torch.utils.data.dataloader._BaseDataLoaderIter, "__next__"), (torch.utils.data.dataloader._SingleProcessDataLoaderIter, "_next_data"),
           (torch.cuda, "synchronize"), (torch.cuda, "empty_cache"), (torch.utils.checkpoint, "checkpoint"), (torch, "autocast"),
           (torch.autocast, "__enter__"), (torch.cuda.amp.GradScaler, "step"), (torch.cuda.amp.GradScaler, "__init__"), (torch, "compile"),
           (torch.nn.parallel.DistributedDataParallel, "forward"), (torch.nn.parallel.DistributedDataParallel, "no_sync"), (torch, "save"), (torch, "load")]


def nature(thing):
    code = getattr(thing, "__code__", None)
    return (type(thing).__name__, getattr(thing, "__name__", None), getattr(thing, "__qualname__", None), getattr(thing, "__module__", None),
            bool(getattr(thing, "__doc__", None)), hasattr(thing, "__get__"), hasattr(thing, "__wrapped__"), hasattr(thing, "__dict__") and sorted(vars(thing))
            if not isinstance(thing, type) else "class", code and (code.co_firstlineno, code.co_argcount, code.co_varnames[:3], code.co_flags),
            inspect.isfunction(thing), inspect.ismethod(thing), inspect.isbuiltin(thing), inspect.isroutine(thing), callable(thing))


def signature(thing):
    try:
        return str(inspect.signature(thing)).split(" at 0x")[0]
    except (ValueError, TypeError) as problem:
        return type(problem).__name__


model = small.Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
list(small.loader())
for owner, name in TARGETS:
    if not hasattr(owner, name):
        continue
    where = f"{getattr(owner, '__name__', owner)}.{name}"
    thing = getattr(owner, name)
    print(where, nature(thing), signature(thing))
    static = inspect.getattr_static(owner, name)
    print(where, type(static).__name__, name in vars(owner), thing is getattr(owner, name), thing == getattr(owner, name), hash(thing) == hash(getattr(owner, name)))
    print(where, repr(thing).split(" at 0x")[0], [k for k, v in vars(owner).items() if v is static])
    try:
        before = getattr(owner, name)
        had = name in vars(owner)
        setattr(owner, name, before)
        print(where, "round trip", getattr(owner, name) is before)
        with mock.patch.object(owner, name) as fake:
            print(where, "mocked", getattr(owner, name) is fake)
        print(where, "restored", getattr(owner, name) is before)
        if not had:
            delattr(owner, name)
        print(where, "bound", type(types.MethodType(before, 3)).__name__, functools.wraps(before)(lambda: 0).__name__,
              signature(functools.partial(before)), inspect.unwrap(before) is before)
        auto = mock.create_autospec(before) if not isinstance(before, type) else None
        print(where, "autospec", type(auto).__name__)
    except Exception as problem:
        print(where, type(problem).__name__, str(problem)[:60])
    try:
        print(where, sorted(typing.get_type_hints(thing)))
    except Exception as problem:
        print(where, "hints", type(problem).__name__)


class Holder:  # a class that takes PyTorch's functions as its own methods
    item = torch.Tensor.item
    zero = torch.optim.Optimizer.zero_grad
    clip = staticmethod(torch.nn.utils.clip_grad_norm_)
    part = functools.partialmethod(torch.optim.Optimizer.zero_grad, set_to_none=True)

    def __init__(self):
        self.param_groups, self.defaults, self.foreach = [], {}, False


holder = Holder()
print(type(holder.zero).__name__, type(Holder.zero).__name__, Holder.clip is torch.nn.utils.clip_grad_norm_, holder.zero.__func__ is torch.optim.Optimizer.zero_grad)
print(type(Holder.__dict__["item"]).__name__, operator.methodcaller("item")(torch.ones(1)), list(map(torch.Tensor.item, [torch.ones(1)] * 2)))
for own in (optimizer.step, optimizer.zero_grad, model.train, model.forward, torch.ones(1).item, torch.ones(1).backward):
    print(type(own).__name__, own.__name__, own.__qualname__, hasattr(own, "__func__"), own.__self__ is not None, signature(own), own == own)
print(optimizer.step.__func__ is type(optimizer).step, model.train.__func__ is torch.nn.Module.train)
calls, original = [], torch.optim.Optimizer.zero_grad
torch.optim.Optimizer.zero_grad = lambda self, *a, **k: (calls.append("patched"), original(self, *a, **k))[1]
optimizer.zero_grad()
torch.optim.Optimizer.zero_grad = original
optimizer.zero_grad()
step = optimizer.step
optimizer.step = types.MethodType(lambda self, *a: (calls.append(type(self).__name__), step(*a))[1], optimizer)
model(torch.ones(1, 4)).sum().backward()
optimizer.step()
del optimizer.step
optimizer.step()
print(calls, original is torch.optim.Optimizer.zero_grad, sorted(vars(optimizer)))
with mock.patch("torch.Tensor.backward", autospec=True) as fake:
    model(torch.ones(1, 4)).sum().backward(retain_graph=True)
    print(fake.call_args[1])
with mock.patch("torch.optim.SGD.step", wraps=optimizer.step) as fake:
    optimizer.step()
    print(fake.call_count, fake.call_args)
