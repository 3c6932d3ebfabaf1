#!/usr/bin/env python3
"""Small PyTorch programs whose step time depends on how data is loaded. `bench/loading.py` tries advice on them.

usage: loading_programs.py NAME [EPOCHS]
"""
import gc
import queue
import sys
import threading
import time

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info


DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def burn(ms):
    """Uses this much CPU time of the calling thread, however busy the machine is."""
    end = time.thread_time() + ms / 1e3
    while time.thread_time() < end:
        pass


class Made(Dataset):
    """Samples that cost CPU time, sleep (as for a disk or a network), and have a size."""

    def __init__(self, samples, cpu_ms=0.0, sleep_ms=0.0, floats=16):
        self.samples, self.cpu_ms, self.sleep_ms, self.floats = samples, cpu_ms, sleep_ms, floats

    def __len__(self):
        return self.samples

    def __getitem__(self, i):
        if self.cpu_ms:
            burn(self.cpu_ms)
        if self.sleep_ms:
            time.sleep(self.sleep_ms / 1e3)
        return torch.full((self.floats,), float(i)), i % 2


class Scaled(Made):
    """Samples made by tensor operations, which release Python's lock for other threads."""

    def __getitem__(self, i):
        image = torch.nn.functional.interpolate(torch.rand(1, 3, 400, 400), size=(224, 224), mode="bilinear")
        return ((image - 0.5) / 0.2)[0, 0, 0, :self.floats].clone(), i % 2


class Uneven(Made):
    """One sample in 64 takes sixty times as long."""

    def __getitem__(self, i):
        burn(60 * self.cpu_ms if i % 64 == 0 else self.cpu_ms)
        return torch.full((self.floats,), float(i)), i % 2


class Stream(IterableDataset):
    """Gives all samples to every worker that asks."""

    def __init__(self, samples, cpu_ms):
        self.samples, self.cpu_ms = samples, cpu_ms

    def __iter__(self):
        for i in range(self.samples):
            burn(self.cpu_ms)
            yield torch.full((16,), float(i)), i % 2


class Sharded(Stream):
    def __iter__(self):
        worker = get_worker_info()
        for i in range(self.samples):
            if worker is None or i % worker.num_workers == worker.id:
                burn(self.cpu_ms)
                yield torch.full((16,), float(i)), i % 2


class Loader(DataLoader):
    """A subclass of DataLoader that the program defines itself."""


def slow_collate(samples):
    burn(12)
    return torch.stack([x for x, _ in samples]), torch.tensor([y for _, y in samples])


class Trainer:
    """Gradient steps that take about `ms` of one core."""

    def __init__(self, floats=16, ms=0.0):
        self.model = torch.nn.Linear(floats, 2).to(DEVICE)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4)
        self.ms = ms

    def step(self, x, y):
        x, y = x.to(DEVICE), y.to(DEVICE)
        self.optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(self.model(x), y)
        if self.ms:
            burn(self.ms)
        loss.backward()
        self.optimizer.step()

    def epochs(self, n, loader):
        for _ in range(n):
            for x, y in loader:
                self.step(x, y)


def validate(trainer, loader):
    with torch.no_grad():
        for x, _ in loader:
            trainer.model(x.to(DEVICE))


# ---- programs: each is given the number of epochs -----------------------------------------------

def cpu_inline(n):
    Trainer(ms=10).epochs(n, DataLoader(Made(40 * 16, cpu_ms=0.6), batch_size=16))


def io_inline(n):
    Trainer(ms=4).epochs(n, DataLoader(Made(40 * 16, sleep_ms=1), batch_size=16))


def mixed_inline(n):
    Trainer(ms=6).epochs(n, DataLoader(Made(40 * 16, cpu_ms=0.3, sleep_ms=0.6), batch_size=16))


def tiny_inline(n):
    Trainer().epochs(n, DataLoader(Made(400 * 2), batch_size=2))


def tiny_beside_work(n):
    Trainer(ms=0.6).epochs(n, DataLoader(Made(300 * 4), batch_size=4))


def tiny_workers(n):
    Trainer().epochs(n, DataLoader(Made(400 * 2), batch_size=2, num_workers=2, persistent_workers=True))


def crowded_workers(n):
    Trainer(ms=4).epochs(n, DataLoader(Made(60 * 16, cpu_ms=0.7), batch_size=16, num_workers=6,
                                       persistent_workers=True))


def crowded_trainer(n):
    """The training itself uses all cores."""
    torch.set_num_threads(2)
    trainer, weights = Trainer(), torch.ones(700, 700)
    for _ in range(n):
        for x, y in DataLoader(Made(40 * 16, cpu_ms=0.5), batch_size=16):
            for _ in range(4):
                weights @ weights
            trainer.step(x, y)


def short_epochs(n):
    loader = DataLoader(Made(8 * 16, cpu_ms=0.3), batch_size=16, num_workers=2)
    Trainer(ms=4).epochs(5 * n, loader)


def short_epochs_spawn(n):
    loader = DataLoader(Made(12 * 16, cpu_ms=0.3), batch_size=16, num_workers=1,
                        multiprocessing_context="spawn")
    Trainer(ms=4).epochs(n + 3, loader)


def short_epochs_anew(n):
    trainer = Trainer(ms=4)
    for _ in range(5 * n):
        for x, y in DataLoader(Made(8 * 16, cpu_ms=0.3), batch_size=16, num_workers=2):
            trainer.step(x, y)


def short_epochs_inline(n):
    Trainer(ms=5).epochs(8 * n, DataLoader(Made(4 * 16, cpu_ms=0.5), batch_size=16))


def stream(n):
    Trainer(ms=6).epochs(n, DataLoader(Stream(40 * 16, 0.5), batch_size=16))


def stream_sharded(n):
    Trainer(ms=6).epochs(n, DataLoader(Sharded(40 * 16, 0.5), batch_size=16))


def two_loaders(n):
    trainer = Trainer(ms=6)
    train = DataLoader(Made(40 * 16, sleep_ms=1), batch_size=16)
    val = DataLoader(Made(10 * 16), batch_size=16)
    for _ in range(n):
        for name, loader in (("train", train), ("val", val)):
            for x, y in loader:
                if name == "train":
                    trainer.step(x, y)


def subclass(n):
    Trainer(ms=6).epochs(n, Loader(Made(40 * 16, sleep_ms=1), batch_size=16))


def prefetch_thread(n):
    trainer, ready = Trainer(ms=6), queue.Queue(2)
    loader = DataLoader(Made(40 * 16, sleep_ms=1), batch_size=16)

    def read():
        for _ in range(n):
            for batch in loader:
                ready.put(batch)
        ready.put(None)

    threading.Thread(target=read, daemon=True).start()
    while (batch := ready.get()) is not None:
        trainer.step(*batch)


def collate(n):
    Trainer(ms=10).epochs(n, DataLoader(Made(40 * 16), batch_size=16, collate_fn=slow_collate))


def large_batches(n):
    Trainer(floats=1 << 16, ms=2).epochs(n, DataLoader(Made(40 * 32, floats=1 << 16), batch_size=32))


def large_workers(n):
    Trainer(floats=1 << 16, ms=2).epochs(n, DataLoader(Made(40 * 32, floats=1 << 16), batch_size=32,
                                                       num_workers=2, persistent_workers=True))


def garbage(n):
    held = [[i, {"x": i}] for i in range(300_000)]
    trainer = Trainer(ms=1)
    for _ in range(n):
        for x, y in DataLoader(Made(40 * 16), batch_size=16):
            gc.collect()
            trainer.step(x, y)
    return held


def garbage_made(n):
    held = [[i, {"x": i}] for i in range(300_000)]
    trainer = Trainer(ms=1)
    for _ in range(n):
        for x, y in DataLoader(Made(40 * 16), batch_size=16):
            held[-1] = [[] for _ in range(60_000)]
            trainer.step(x, y)
    return held


def uneven(n):
    loader = DataLoader(Uneven(80 * 16, cpu_ms=0.05), batch_size=16, num_workers=1, persistent_workers=True)
    Trainer(ms=5).epochs(n, loader)


def fed(n):
    Trainer(ms=8).epochs(n, DataLoader(Made(40 * 16, cpu_ms=0.2), batch_size=16, num_workers=1,
                                       persistent_workers=True))


def io_workers(n):
    Trainer(ms=2).epochs(n, DataLoader(Made(60 * 16, sleep_ms=2), batch_size=16, num_workers=2,
                                       persistent_workers=True))


# ---- with a GPU, on which the step takes no time -------------------------------------------------

def gpu_python(n):
    """The queue of the worker's batches waits for Python's lock."""
    Trainer().epochs(n, DataLoader(Made(50 * 16, cpu_ms=1), batch_size=16, num_workers=1, persistent_workers=True))


def gpu_tensors(n):
    Trainer().epochs(n, DataLoader(Scaled(50 * 16), batch_size=16, num_workers=1, persistent_workers=True))


def gpu_io(n):
    Trainer().epochs(n, DataLoader(Made(50 * 16, sleep_ms=2), batch_size=16, num_workers=1, persistent_workers=True))


def gpu_inline(n):
    Trainer(ms=10).epochs(n, DataLoader(Scaled(40 * 16), batch_size=16))


if __name__ == "__main__":
    torch.manual_seed(1)
    program = globals()[sys.argv[1]]
    if program is not crowded_trainer:
        torch.set_num_threads(1)
    program(int(sys.argv[2]) if len(sys.argv) > 2 else 4)
    print("done")
