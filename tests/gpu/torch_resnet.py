#!/usr/bin/env python3
"""ResNet-50 in PyTorch, trained the ways people train it, for the checks on a real card.

Prints `loss=VALUE` for each step and `median_step_ms=VALUE` last. The pictures are generated; the
model stands in this file, so that torchvision is not needed. Without --workers the batches lie on
the device; with it they come from a DataLoader (0 = the training thread makes them). --device cpu
with --size 32 rehearses all of it without a card. Runs with PyTorch 1.13 and newer, alone or under
torchrun.
"""
import argparse
import contextlib
import os
import statistics
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # before CUDA starts

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

CLASSES, POOL = 100, 64


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn1, self.bn2, self.bn3 = (nn.BatchNorm2d(n) for n in (width, width, outputs))
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                                          nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        return F.relu(self.bn3(self.conv3(y)) + self.shortcut(x))


class ResNet50(nn.Module):
    """pool: a window of 3 as published, or of 2, whose gradient is the same in every run."""

    def __init__(self, pool=3):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64),
                                  nn.ReLU(), nn.MaxPool2d(pool, 2, pool // 2 if pool > 2 else 0))
        layers, inputs = [], 64
        for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for i in range(count):
                layers.append(Bottleneck(inputs, width, stride if i == 0 else 1))
                inputs = 4 * width
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(inputs, CLASSES)

    def forward(self, x):
        return self.head(self.body(self.stem(x)).mean((2, 3)))


class Pictures(torch.utils.data.Dataset):
    """Generated pictures. decode: some 10 ms of CPU work each, as decoding and augmenting cost."""

    def __init__(self, count, size, decode):
        self.count, self.size, self.decode = count, size, decode
        make = torch.Generator().manual_seed(7)
        self.pool = torch.randint(0, 256, (POOL, 3, size, size), dtype=torch.uint8, generator=make)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        picture = self.pool[i % POOL].float().div_(255)
        if self.decode:
            large = F.interpolate(picture[None], scale_factor=3, mode="bicubic",
                                  align_corners=False)
            large = F.avg_pool2d(large, 5, 1, 2)
            picture = F.interpolate(large, size=(self.size, self.size), mode="bilinear",
                                    align_corners=False)[0]
        return picture.sub_(0.5).div_(0.25), i % CLASSES


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--mode", choices=("eager", "amp", "compile", "graphs"), default="eager")
    p.add_argument("--steps", type=int, default=24)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--size", type=int, default=224, help="pixels on a side")
    p.add_argument("--workers", type=int, default=None)
    p.add_argument("--pin", type=int, choices=(0, 1), default=1)
    p.add_argument("--decode", action="store_true", help="pictures that cost CPU time")
    p.add_argument("--item-every", type=int, default=0, help="read the loss every N steps")
    p.add_argument("--tf32", action="store_true")
    p.add_argument("--channels-last", action="store_true")
    p.add_argument("--profiler", action="store_true", help="torch.profiler over the middle steps")
    p.add_argument("--profiler-whole", default="", help="cuda or cuda,cpu: over all steps")
    p.add_argument("--deterministic", action="store_true")
    p.add_argument("--device", default="cuda")
    return p.parse_args()


def settings(o):
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = not o.deterministic
    torch.backends.cudnn.deterministic = o.deterministic
    torch.backends.cudnn.allow_tf32 = o.tf32
    torch.backends.cuda.matmul.allow_tf32 = o.tf32


def batches(o, count):
    """count batches on the device. Pinned ones are copied without waiting for them."""
    data = Pictures(count * o.batch, o.size, o.decode)
    if o.workers is None:
        pairs = [data[i] for i in range(o.batch)]
        x = to_device(o, torch.stack([p for p, _ in pairs]))
        y = torch.tensor([c for _, c in pairs]).to(o.device)
        for _ in range(count):
            yield x, y
        return
    pin = bool(o.pin) and o.device != "cpu"
    loader = torch.utils.data.DataLoader(data, batch_size=o.batch, num_workers=o.workers,
                                         pin_memory=pin)
    for x, y in loader:
        yield to_device(o, x, pin), y.to(o.device, non_blocking=pin)


def to_device(o, x, pin=False):
    if o.channels_last:
        return x.to(o.device, non_blocking=pin, memory_format=torch.channels_last)
    return x.to(o.device, non_blocking=pin)


class Trainer:
    def __init__(self, o):
        self.o = o
        model = ResNet50(2 if o.deterministic else 3).to(o.device)
        if o.channels_last:
            model = model.to(memory_format=torch.channels_last)
        if "RANK" in os.environ:
            model = nn.parallel.DistributedDataParallel(model)
        if o.mode == "compile":
            if not hasattr(torch, "compile"):
                sys.exit("torch_resnet.py: this PyTorch has no torch.compile")
            model = torch.compile(model)
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
        kind = torch.device(o.device).type
        half = kind == "cpu" or torch.cuda.is_bf16_supported()
        self.dtype = torch.bfloat16 if half else torch.float16
        self.kind = kind
        self.scaler = torch.cuda.amp.GradScaler() if o.mode == "amp" and not half else None

    def forward(self, x, y):
        amp = self.o.mode != "eager"
        with torch.autocast(self.kind, dtype=self.dtype, enabled=amp,
                            cache_enabled=self.o.mode != "graphs"):
            return F.cross_entropy(self.model(x), y)

    def step(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.forward(x, y)
        if self.scaler:
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            loss.backward()
            self.optimizer.step()
        return loss.detach()


class Graphed:
    """The trainer's step captured once and replayed: inputs are copied into the graph's own."""

    def __init__(self, trainer, x, y):
        self.x, self.y = x.clone(memory_format=torch.preserve_format), y.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                trainer.step(self.x, self.y)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        trainer.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(self.graph):
            loss = trainer.forward(self.x, self.y)
            loss.backward()
            trainer.optimizer.step()
        self.loss = loss.detach()

    def step(self, x, y):
        self.x.copy_(x, non_blocking=True)
        self.y.copy_(y, non_blocking=True)
        self.graph.replay()
        return self.loss.clone()


def profiler(o):
    """The torch.profiler block that was asked for; step() on it after each step."""
    from torch.profiler import ProfilerActivity, profile, schedule
    if o.profiler_whole:
        kinds = [getattr(ProfilerActivity, k.strip().upper()) for k in o.profiler_whole.split(",")]
        return profile(activities=kinds)
    if o.profiler:
        third = max(o.steps // 3, 2)
        return profile(schedule=schedule(wait=third - 1, warmup=1, active=third, repeat=1),
                       on_trace_ready=lambda p: None)
    return contextlib.nullcontext()


class Clock:
    """Ends of steps, as the device reaches them; no step waits for it."""

    def __init__(self, gpu):
        self.gpu, self.ends = gpu, []

    def tick(self):
        if self.gpu:
            self.ends.append(torch.cuda.Event(enable_timing=True))
            self.ends[-1].record()
        else:
            self.ends.append(time.perf_counter())

    def median_ms(self):
        if self.gpu:
            torch.cuda.synchronize()
        pairs = list(zip(self.ends, self.ends[1:]))
        took = [a.elapsed_time(b) if self.gpu else 1e3 * (b - a) for a, b in pairs]
        return statistics.median(took[len(took) // 3:]) if took else float("nan")


def train(o):
    runner, losses, clock = Trainer(o), [], Clock(torch.device(o.device).type == "cuda")
    with profiler(o) as watching:
        for n, (x, y) in enumerate(batches(o, o.steps)):
            if o.mode == "graphs" and n == 0:
                runner = Graphed(runner, x, y)
            losses.append(runner.step(x, y))
            clock.tick()
            if o.item_every and (n + 1) % o.item_every == 0:
                losses[-1].item()
            if watching:
                watching.step()
        took_ms = clock.median_ms()
    return [loss.item() for loss in losses], took_ms


def main():
    o = arguments()
    if o.device != "cpu" and not torch.cuda.is_available():
        sys.exit("torch_resnet.py: PyTorch sees no GPU here; --device cpu rehearses without one")
    settings(o)
    rank = int(os.environ.get("RANK", 0))
    if "RANK" in os.environ:
        if o.device == "cuda":
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
        torch.distributed.init_process_group("gloo" if o.device == "cpu" else "nccl")
    losses, took_ms = train(o)
    if rank == 0:
        for loss in losses:
            print(f"loss={loss!r}")
        print(f"median_step_ms={took_ms:.3f}")
    if "RANK" in os.environ:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
