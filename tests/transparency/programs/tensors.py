"""Everything that reads a tensor, in every form of call, with wrong arguments too."""
import copy
import warnings

import numpy
import torch

import small

x = torch.tensor([[1.0, 0.0], [2.0, 3.0]])


def tried(what, call):
    try:
        print(what, type(call()).__name__, call())
    except Exception as problem:
        print(what, type(problem).__name__, str(problem).splitlines()[0][:120])


one = torch.tensor(2.5)
for what, call in {
    "item": lambda: one.item(), "item of many": lambda: x.item(), "item with an argument": lambda: one.item(3), "class item": lambda: torch.Tensor.item(one),
    "item without self": lambda: torch.Tensor.item(), "tolist": lambda: x.tolist(), "numpy": lambda: x.numpy(), "numpy of a graph": lambda: torch.ones(1, requires_grad=True).numpy(),
    "numpy force": lambda: x.numpy(force=True), "cpu": lambda: x.cpu(), "cpu format": lambda: x.cpu(memory_format=torch.preserve_format), "nonzero": lambda: x.nonzero(),
    "nonzero tuple": lambda: x.nonzero(as_tuple=True), "torch.nonzero": lambda: torch.nonzero(x), "masked": lambda: x.masked_select(x > 1), "mask": lambda: x[x > 1],
    "equal": lambda: x.equal(x), "bool": lambda: bool(one), "bool of many": lambda: bool(x), "int": lambda: int(one), "float": lambda: float(one), "complex": lambda: complex(one),
    "index": lambda: [1, 2, 3][torch.tensor(1)], "format": lambda: f"{one:.3f}", "format of many": lambda: f"{x}", "format wrong": lambda: f"{x:.3f}", "repr": lambda: repr(x), "str": lambda: str(one),
    "array": lambda: numpy.asarray(x), "array typed": lambda: numpy.asarray(x, dtype=numpy.int32), "contains": lambda: 3.0 in x, "len": lambda: len(x), "iter": lambda: list(x), "to": lambda: x.to("cpu"),
    "to wrong": lambda: x.to("nowhere"), "to keyword": lambda: x.to(dtype=torch.float64, copy=True), "to other": lambda: x.to(one), "to nothing": lambda: x.to(),
    "cuda": lambda: x.cuda(), "type": lambda: x.type(torch.int32), "half": lambda: x.half(), "deepcopy": lambda: copy.deepcopy(x), "backward of nothing": lambda: x.backward(),
    "is_nonzero": lambda: one.is_nonzero(), "allclose": lambda: torch.allclose(x, x), "unique": lambda: x.unique(), "dlpack": lambda: type(x.__dlpack__()).__name__, "round": lambda: round(one, 0) if hasattr(one, "__round__") else 0,
    "max": lambda: max(x[0]), "sorted": lambda: sorted(x[1]), "sum": lambda: sum(x[0]), "while": lambda: [i for i in range(3) if one > i], "synchronize": lambda: torch.cuda.synchronize(),
    "empty_cache": lambda: torch.cuda.empty_cache(), "is_available": lambda: torch.cuda.is_available(), "memory": lambda: torch.cuda.memory_allocated(), "pin": lambda: x.pin_memory(),
    "module to": lambda: small.Net().to("cpu").training, "module cuda": lambda: small.Net().cuda(), "train wrong": lambda: small.Net().train("x"), "clip none": lambda: torch.nn.utils.clip_grad_norm_([], 1.0),
    "clip wrong": lambda: torch.nn.utils.clip_grad_norm_(), "clip iterator": lambda: torch.nn.utils.clip_grad_norm_(iter([torch.nn.Parameter(torch.ones(1))]), 1.0),
    "zero_grad wrong": lambda: torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1).zero_grad(1, 2, 3), "no parameters": lambda: torch.optim.SGD([], lr=1),
    "loader wrong": lambda: torch.utils.data.DataLoader([1], num_workers=-1), "loader unknown": lambda: torch.utils.data.DataLoader([1], nothing=1),
    "autocast wrong": lambda: torch.autocast("nowhere"), "grad wrong": lambda: torch.autograd.grad(x, x), "manual_seed": lambda: torch.manual_seed(1).initial_seed(),
}.items():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tried(what, call)
