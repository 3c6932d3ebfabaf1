"""Prints for every attribute of classes and modules: name, type, signature, hash of its text, module, qualified name."""
import gc
import hashlib
import inspect
import re
import sys

import torch
import torch.utils.data
import torch.utils.checkpoint

import small

# used first, since what is looked at may change with use
MODEL = small.Net()
OPTIMIZER = torch.optim.Adam(MODEL.parameters())
for x, y in small.loader():
    torch.nn.functional.cross_entropy(MODEL(x), y).backward()
    OPTIMIZER.step()
    OPTIMIZER.zero_grad()
D = torch.utils.data
PARTS = {
    "optim": [torch.optim, torch.optim.Optimizer, torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.LBFGS, sys.modules["torch.optim.optimizer"],
              torch.optim.lr_scheduler, OPTIMIZER],
    "tensor": [torch.Tensor, torch._C._TensorBase if hasattr(torch._C, "_TensorBase") else torch._C.TensorBase, torch.nn.Parameter, torch.ones(1)],
    "data": [D, D.DataLoader, D.Dataset, D.dataloader, D.dataloader._BaseDataLoaderIter, D.dataloader._SingleProcessDataLoaderIter,
             D.dataloader._MultiProcessingDataLoaderIter, D._utils, D._utils.fetch, D._utils.fetch._MapDatasetFetcher, D._utils.collate,
             D._utils.worker, D._utils.pin_memory, D.IterableDataset, small.loader()],
    "module": [torch.nn.Module, torch.nn.Linear, torch.nn.modules.module, torch.nn.parallel, torch.nn.parallel.DistributedDataParallel,
               torch.nn.DataParallel, torch.nn.utils, torch.nn.utils.clip_grad, torch.nn.functional, MODEL],
    "autograd": [torch.autograd, torch.autograd.Function, torch.autograd.grad_mode, torch.autograd.graph, torch.utils.checkpoint, torch.no_grad],
    "amp": [torch.amp, torch.autocast, torch.amp.autocast_mode, torch.cuda.amp, torch.cuda.amp.GradScaler, torch.cuda.amp.autocast, torch.cpu.amp],
    "cuda": [torch.cuda, torch.cuda.Stream, torch.cuda.Event, torch.cuda.memory, torch.cuda.nvtx, torch.backends.cudnn, torch.backends.cuda, torch.cuda.graphs],
    "functions": [torch, torch.jit, torch.fx, torch.profiler, torch._C, torch.distributed, torch.serialization],
}


def text(what, value):
    try:
        return str(value()).split(" at 0x")[0]
    except Exception as problem:
        return f"{what}: {type(problem).__name__}"


def describe(owner, name):
    static = inspect.getattr_static(owner, name, None)
    thing = getattr(static, "__func__", static)
    if name in ("ops", "classes"):  # these make what they are asked for
        return name, type(thing).__name__
    doc = getattr(thing, "__doc__", None)
    code = getattr(thing, "__code__", None)
    return (name, type(static).__name__, type(thing).__name__, text("signature", lambda: inspect.signature(thing)) if callable(thing) else "",
            hashlib.sha256(re.sub("0x[0-9a-f]+", "", doc).encode()).hexdigest()[:8] if isinstance(doc, str) else str(type(doc)), getattr(thing, "__module__", None),
            getattr(thing, "__qualname__", None), getattr(thing, "__name__", None), hasattr(thing, "__wrapped__"), hasattr(thing, "__get__"),
            (code.co_filename.split("/")[-1], code.co_firstlineno, hashlib.sha256(code.co_code).hexdigest()[:8]) if code else None,
            text("defaults", lambda: getattr(thing, "__defaults__", None)) if code else None, type(getattr(thing, "__self__", None)).__name__)


def sources():
    for thing in (torch.optim.Optimizer, torch.optim.SGD.step, torch.optim.Adam.step, torch.optim.Optimizer.zero_grad, torch.Tensor.backward,
                  torch.nn.Module.train, torch.nn.Module.__call__, torch.nn.Module, D.DataLoader, D.DataLoader.__iter__, torch.autograd.backward,
                  torch.nn.utils.clip_grad_norm_, torch.autocast, torch.utils.checkpoint.checkpoint, torch.cuda.synchronize, OPTIMIZER.step, MODEL.train):
        print(text("source", lambda: hashlib.sha256(inspect.getsource(thing).encode()).hexdigest()[:12]),
              text("file", lambda: inspect.getsourcefile(thing).split("/")[-1]), text("line", lambda: inspect.getsourcelines(thing)[1]),
              text("comments", lambda: bool(inspect.getcomments(thing))), text("closure", lambda: sorted(inspect.getclosurevars(thing).nonlocals)),
              text("spec", lambda: inspect.getfullargspec(thing)), text("attrs", lambda: [a[:2] for a in inspect.classify_class_attrs(thing)][:400] if isinstance(thing, type) else ""),
              text("doc", lambda: hashlib.sha256(inspect.getdoc(thing).encode()).hexdigest()[:8]))
    hooks = sys.modules["torch.optim.optimizer"]
    for name in sorted(n for n in dir(hooks) if "global" in n):
        print(name, text(name, lambda: list(getattr(hooks, name))))
    for name in sorted(n for n in dir(torch.nn.modules.module) if "global" in n and "hooks" in n):
        print(name, text(name, lambda: list(getattr(torch.nn.modules.module, name))))
    import pydoc
    print(hashlib.sha256(pydoc.render_doc(torch.optim.Optimizer, renderer=pydoc.plaintext).encode()).hexdigest()[:12])
    print(sorted({type(o).__name__ for o in gc.get_objects() if "gpuprof" in str(type(o).__module__)}))
    print(sorted(n for n in sys.modules if "gpuprof" in n), [t for t in (sys.gettrace(), sys.getprofile()) if t])
    print([type(r).__name__ for r in gc.get_referrers(torch.optim.Optimizer.zero_grad) if "gpuprof" in str(type(r))])


if sys.argv[1] == "source":
    sources()
else:
    for owner in PARTS[sys.argv[1]]:
        title = getattr(owner, "__name__", type(owner).__name__)
        print(title, type(owner).__name__, len(dir(owner)))
        for name in sorted(set(dir(owner)) | set(getattr(owner, "__dict__", {}))):
            if not name.startswith("__abstract"):
                try:
                    print(title, *describe(owner, name))
                except Exception as problem:  # some ask for a GPU
                    print(title, name, type(problem).__name__)
