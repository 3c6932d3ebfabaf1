#!/usr/bin/env python3
"""Measures what the hook's look for repeated computing (agent/python/gpuprof_again.py) costs a call of a function of the program: by
itself, with real PyTorch on the CPU, on a model of 24 blocks. A call with another batch is looked at briefly, one with the same batch is read.

usage: python_again.py    (with a Python that has PyTorch 2)
"""
import os
import statistics
import tempfile
import time
import types

import torch

HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "agent", "python", "gpuprof_again.py")
MODEL = """
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(64), nn.Linear(64, 256), nn.Linear(256, 64)
    def forward(self, x): return x + self.down(torch.relu(self.up(self.norm(x))))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(24))
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""


def part(folder):
    hook = types.SimpleNamespace(here={"facts": None}, torch=torch, guarded=lambda f: f, FOLDER=os.path.dirname(HOOK),
                                 torch_folder=os.path.dirname(torch.__file__) + os.sep)
    again, model = types.ModuleType("again"), types.ModuleType("model")
    again.hook = hook
    with open(HOOK, encoding="utf-8") as f:
        exec(compile(f.read(), HOOK, "exec"), again.__dict__)
    exec(compile(MODEL, os.path.join(folder, "model.py"), "exec"), model.__dict__)
    return again, model


def main():
    with tempfile.TemporaryDirectory(prefix="gpuprof-bench-") as folder:
        again, model = part(folder)
        net, batch, times = model.Net(), torch.zeros(4, 64), {}
        for _ in range(50):  # a function is looked at a few times alone, so each round has its own
            for name, function, module in (("Net.forward", model.Net.forward, net), ("Block.forward", model.Block.forward, net.blocks[0])):
                for what, batches in ("another batch", [torch.zeros(4, 64) for _ in range(8)]), ("the same batch", [batch] * 3):
                    seen = again.Seen(function)
                    for one in batches:
                        begin = time.perf_counter()
                        again.begins(seen, (module, one), {})
                        again.ended(seen)
                        times.setdefault((name, what), []).append(time.perf_counter() - begin)
    for (name, what), all_of_it in times.items():
        print(f"{name:14} {what:15} {1e6 * statistics.median(all_of_it):7.1f} us a call")


main()
