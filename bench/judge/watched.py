"""Runs a program and watches it from outside: watched.py steps|losses FILE N PROGRAM [ARGUMENT ...]

steps   times N steps of its first optimizer: waits for the GPU every fifth step of the last two thirds, and writes the lower
        quartile of these fives, in ms per step: what other programs do on the cores only adds time.
losses  runs it on the CPU, whatever it says of a GPU, without autocast, and writes the first N values at which backward passes
        begin. Then it ends.
"""
import contextlib
import importlib.util
import os
import random
import runpy
import statistics
import sys
import time

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.overrides import TorchFunctionMode

BLOCK = 5
what, to, n = sys.argv[1], sys.argv[2], int(sys.argv[3])


def write(words):
    with open(to, "w", encoding="utf-8") as f:
        f.write(words)


def watch_steps():
    seen = {"first": None, "steps": 0}
    times = []

    def stepped(optimizer, *_):
        seen["first"] = seen["first"] or id(optimizer)
        if id(optimizer) != seen["first"]:
            return
        seen["steps"] += 1
        if seen["steps"] >= n // 3 and (seen["steps"] - n // 3) % BLOCK == 0:
            torch.cuda.synchronize()
            times.append(time.perf_counter())
            if len(times) > 3:
                write(str(1000 * statistics.quantiles([b - a for a, b in zip(times, times[1:])], n=4)[0] / BLOCK))

    register_optimizer_step_post_hook(stepped)


def is_gpu(value):
    return isinstance(value, str) and value.split(":")[0] == "cuda" or isinstance(value, torch.device) and value.type == "cuda"


class OnCpu(TorchFunctionMode):
    losses = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in (torch.Tensor.cuda, torch.Tensor.pin_memory):
            return args[0]
        if func is torch.Tensor.backward:
            self.losses.append(float(args[0].detach()))
            if len(self.losses) == n:
                write(" ".join(map(repr, self.losses)))
                sys.stdout.flush()
                os._exit(0)
        cpu = {k: torch.device("cpu") if is_gpu(v) else v for k, v in (kwargs or {}).items()}
        return func(*(torch.device("cpu") if is_gpu(a) else a for a in args), **cpu)


def watch_losses():
    torch.autocast = torch.amp.autocast = lambda *_, **__: contextlib.nullcontext() # 16 bits take minutes there
    torch.cuda.synchronize = torch.cuda.empty_cache = lambda *_: None
    torch.manual_seed(1)
    random.seed(1)
    if importlib.util.find_spec("numpy"):
        importlib.import_module("numpy").random.seed(1)
    OnCpu().__enter__()


(watch_steps if what == "steps" else watch_losses)()
sys.argv = sys.argv[4:]
sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
