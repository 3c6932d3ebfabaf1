#!/usr/bin/env python3
"""What recording costs a step of ResNet-50 in PyTorch, within one process: blocks of steps in turn
without a profiler and with one, so that the same algorithms, clocks and host serve both.

    torch_overhead.py [--batch N,N...] [--steps-of-block N] [--rounds N] WAY...

WAY: off, range (between cudaProfilerStart and Stop, which gpuprof run --range cuda-profiler obeys),
kineto-gpu and kineto-all (torch.profiler with CUDA activities, and with CPU activities as well).
Prints for each way and batch size N WAY_N_step_ms=... and WAY_N_host_ms=... (the launching
thread's own CPU time): the median over the rounds of the mean step of a block, and each round's;
and WAY_N_step_pct=... and WAY_N_host_pct=..., how much longer than `off` in the same round.
"""
import argparse
import resource
import statistics
import time

import torch
from torch.profiler import ProfilerActivity, profile

import torch_resnet

SETTLE, SETTLE_S = 3, 0.2  # of a block before its clock starts: profilers start up in them, or record on for queued work


class Range:
    def __enter__(self):
        torch.cuda.cudart().cudaProfilerStart()

    def __exit__(self, *_):
        torch.cuda.cudart().cudaProfilerStop()


class Off:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


WAYS = {"off": Off, "range": Range, "kineto-gpu": lambda: profile(activities=[ProfilerActivity.CUDA]),
        "kineto-all": lambda: profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])}


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("ways", nargs="+", choices=list(WAYS))
    p.add_argument("--batch", default="4")
    p.add_argument("--steps-of-block", type=int, default=20)
    p.add_argument("--rounds", type=int, default=8)
    return p.parse_args()


def thread_cpu():
    used = resource.getrusage(resource.RUSAGE_THREAD)
    return used.ru_utime + used.ru_stime


def block(step, way, count):
    """Milliseconds of a step, by the clock and of this thread's CPU time."""
    with WAYS[way]():
        settled = time.perf_counter() + SETTLE_S
        for _ in range(SETTLE):
            step()
        while time.perf_counter() < settled:
            step()
        torch.cuda.synchronize()
        began, cpu = time.perf_counter(), thread_cpu()
        for _ in range(count):
            step()
        queued = thread_cpu()
        torch.cuda.synchronize()
        return 1e3 * (time.perf_counter() - began) / count, 1e3 * (queued - cpu) / count


def measure(o, batch):
    settings = argparse.Namespace(mode="amp", batch=batch, size=224, channels_last=True, deterministic=True, tf32=True,
                                  device="cuda", workers=None, decode=False)
    torch_resnet.settings(settings)
    trainer = torch_resnet.Trainer(settings)
    x, y = next(torch_resnet.batches(settings, 1))
    for _ in range(10):
        trainer.step(x, y)
    found = {way: [] for way in o.ways}
    for n in range(o.rounds):
        for way in o.ways[n % len(o.ways):] + o.ways[:n % len(o.ways)]:
            found[way].append(block(lambda: trainer.step(x, y), way, o.steps_of_block))
    for way, rounds in found.items():
        for k, of in enumerate(("step", "host")):
            ms = [r[k] for r in rounds]
            more = [100 * (r[k] / off[k] - 1) for r, off in zip(rounds, found["off"])]
            print(f"{way}_{batch}_{of}_ms={statistics.median(ms):.4f}", *(f"{v:.2f}" for v in ms))
            print(f"{way}_{batch}_{of}_pct={statistics.median(more):.3f}", *(f"{v:.1f}" for v in more))


def main():
    o = arguments()
    for batch in o.batch.split(","):
        measure(o, int(batch))


if __name__ == "__main__":
    main()
