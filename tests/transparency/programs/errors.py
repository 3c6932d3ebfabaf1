"""Exceptions out of datasets, workers, collate functions, hooks, backward and steps: each printed as Python prints it."""
import atexit
import gc
import glob
import os
import shutil
import sys
import tempfile
import traceback

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

import small

torch.multiprocessing.set_start_method("fork")  # Python 3.14 would import this program again


class Failing(Dataset):
    def __getitem__(self, i):
        if i == 5:
            raise KeyError(f"row {i} is broken")
        return torch.ones(2)

    def __len__(self):
        return 8


class FailingStream(IterableDataset):
    def __iter__(self):
        yield torch.ones(1)
        raise OSError(5, "stream is broken")


class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        raise ArithmeticError("in backward")


def bad_collate(rows):
    raise TypeError("cannot collate")


def tried(what, call):
    try:
        call()
    except BaseException:
        print(what, file=sys.stderr)
        traceback.print_exc()
    gc.collect()  # loaders that have failed, before a worker inherits them: it would complain of them, or not


class BadStep(torch.optim.SGD):
    def step(self, closure=None):
        raise RuntimeError("no step today")


def hook(*args):
    raise LookupError("in a hook")


@atexit.register
def tidy():
    """Workers that end by an error leave a folder of a random name."""
    for folder in glob.glob(os.path.join(tempfile.gettempdir(), "pymp-*")):
        shutil.rmtree(folder, ignore_errors=True)


model = small.Net()
tried("dataset", lambda: list(DataLoader(Failing(), batch_size=2)))
tried("dataset in a worker", lambda: list(DataLoader(Failing(), batch_size=2, num_workers=1)))
tried("stream", lambda: list(DataLoader(FailingStream(), batch_size=1)))
tried("stream in a worker", lambda: list(DataLoader(FailingStream(), batch_size=1, num_workers=1)))
tried("collate", lambda: list(DataLoader([1, 2], batch_size=2, collate_fn=bad_collate)))
tried("collate in a worker", lambda: list(DataLoader([1, 2], batch_size=2, collate_fn=bad_collate, num_workers=1)))
tried("default collate", lambda: list(DataLoader([torch.ones(1), torch.ones(2)], batch_size=2)))
tried("backward", lambda: Bad.apply(torch.ones(1, requires_grad=True)).sum().backward())
tried("backward twice", lambda: [out.backward() for out in [model(torch.ones(1, 4)).sum()] * 2])
tried("backward of many", lambda: model(torch.ones(2, 4)).backward())
tried("closure", lambda: torch.optim.SGD(model.parameters(), lr=0.1).step(lambda: 1 / 0))
tried("own step", lambda: BadStep(model.parameters(), lr=0.1).step())
tried("zero_grad", lambda: torch.optim.SGD(model.parameters(), lr=0.1).zero_grad(nothing=1))
tried("item", lambda: torch.ones(2).item())
tried("clip", lambda: torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True, norm_type="x"))
tried("shapes", lambda: model(torch.ones(2, 5)))
handle = model.register_forward_hook(hook)
tried("hook", lambda: model(torch.ones(1, 4)))
handle.remove()
model.first.weight.register_hook(hook)
tried("gradient hook", lambda: model(torch.ones(1, 4)).sum().backward())
tried("exit in a loader", lambda: [sys.exit(3) for _ in small.loader()])
tried("stack", lambda: (print([f.name for f in traceback.extract_stack()], file=sys.stderr), 1 / 0))
sys.stderr.flush()
for x, y in small.loader():
    torch.optim.SGD(model.parameters(), lr=0.1).step(lambda: model(x).missing)
