"""Pickles and copies of optimizers, modules, loaders, tensors, their methods and PyTorch's functions, to the byte."""
import copy
import copyreg
import functools
import hashlib
import io
import pickle
import pickletools
import types
import weakref

import torch
import torch.utils.checkpoint

import small


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def listed(data):
    return [(op.name, arg) for op, arg, _ in pickletools.genops(data) if op.name in ("GLOBAL", "STACK_GLOBAL", "SHORT_BINUNICODE")]


model = small.Net()
optimizer = torch.optim.Adam(model.parameters())
loader = small.loader()
for x, y in loader:
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
schedule = torch.optim.lr_scheduler.StepLR(torch.optim.SGD(model.parameters(), lr=0.1), 1)
THINGS = {
    "optimizer": optimizer, "model": model, "loader": loader, "dataset": loader.dataset, "tensor": torch.ones(2), "parameter": model.first.weight,
    "step": optimizer.step, "zero_grad": optimizer.zero_grad, "class step": torch.optim.Adam.step, "class zero_grad": torch.optim.Optimizer.zero_grad,
    "clip": torch.nn.utils.clip_grad_norm_, "backward": torch.Tensor.backward, "autograd": torch.autograd.backward, "train": torch.nn.Module.train,
    "item": torch.Tensor.item, "bound item": torch.ones(1).item, "loader iter": torch.utils.data.DataLoader.__iter__, "empty_cache": torch.cuda.empty_cache,
    "synchronize": torch.cuda.synchronize, "compile": getattr(torch, "compile", None), "autocast": torch.autocast, "set_precision":
    torch.set_float32_matmul_precision if hasattr(torch, "set_float32_matmul_precision") else None, "schedule": schedule,
    "partial": functools.partial(torch.Tensor.item, torch.ones(1)), "Optimizer": torch.optim.Optimizer, "collate": torch.utils.data.default_collate,
    "checkpoint": torch.utils.checkpoint.checkpoint, "Module.to": torch.nn.Module.to, "Tensor.to": torch.Tensor.to, "generator": torch.utils.data.RandomSampler,
}
for name, thing in THINGS.items():
    for protocol in (2, 4):
        try:
            data = pickle.dumps(thing, protocol)
            back = pickle.loads(data)
            print(name, protocol, len(data), digest(data) if isinstance(thing, (type, types.FunctionType)) else "", type(back).__name__, back is thing)
        except Exception as problem:
            print(name, protocol, type(problem).__name__, str(problem).split(" at 0x")[0].split("<")[0])
    try:
        print(name, listed(pickle.dumps(thing, 4))[:12])
    except Exception:
        pass
    for how in (copy.copy, copy.deepcopy):
        try:
            other = how(thing)
            print(name, how.__name__, type(other).__name__, other is thing, getattr(other, "__name__", None))
        except Exception as problem:
            print(name, how.__name__, type(problem).__name__, str(problem).split(" at 0x")[0])
    try:
        print(name, "weak", weakref.ref(thing)() is thing, weakref.WeakMethod(thing) is not None if hasattr(thing, "__self__") else "")
    except TypeError as problem:
        print(name, "weak", problem)
print(sorted(str(k) for k in copyreg.dispatch_table), len(copyreg.dispatch_table))
file = io.BytesIO()
torch.save({"model": model, "optimizer": optimizer.state_dict()}, file)
print(len(file.getvalue()), sorted(vars(copy.deepcopy(optimizer))), sorted(vars(loader)), sorted(vars(model)))
again = copy.deepcopy(optimizer)
again.step()
again.zero_grad()
print(repr(again) == repr(optimizer))
