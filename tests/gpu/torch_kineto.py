#!/usr/bin/env python3
"""A loop of which torch.profiler records steps 10 to 20, and writes TRACE.json.

The same steps lie inside the NVTX range `kineto window`, so that another profiler can count what
Kineto counted. usage: torch_kineto.py TRACE.json [--device cpu]
"""
import contextlib
import sys

import torch
from torch.profiler import ProfilerAction, ProfilerActivity, profile

STEPS, FIRST, LAST = 30, 10, 20


@contextlib.contextmanager
def window(gpu):
    """Nothing of the steps before or after it runs inside."""
    if gpu:
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_push("kineto window")
    yield
    if gpu:
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()


def main():
    device = "cpu" if "cpu" in sys.argv[2:] else "cuda"
    gpu = device == "cuda"
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 64, 7, 2, 3), torch.nn.BatchNorm2d(64), torch.nn.ReLU(),
        torch.nn.Conv2d(64, 128, 3, 2, 1), torch.nn.BatchNorm2d(128), torch.nn.ReLU(),
        torch.nn.Conv2d(128, 128, 3, 2, 1), torch.nn.Flatten(),
        torch.nn.Linear(128 * 16 * 16, 100)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x, y = torch.randn(64 if gpu else 4, 3, 128, 128), torch.arange(64 if gpu else 4)
    losses = []

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())

    def steps(first, last, watching=None):
        for n in range(first, last):
            step()
            if watching and n + 1 < last:
                watching.step()  # ends a ProfilerStep range and begins the next

    steps(0, FIRST)
    kinds = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * gpu
    with profile(activities=kinds, schedule=lambda n: ProfilerAction.RECORD) as watching:
        with window(gpu):
            steps(FIRST, LAST, watching)
    watching.export_chrome_trace(sys.argv[1])
    steps(LAST, STEPS)
    for loss in losses:
        print(f"loss={loss.item()!r}")


if __name__ == "__main__":
    main()
