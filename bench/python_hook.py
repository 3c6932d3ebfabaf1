#!/usr/bin/env python3
"""Measures what the Python hook costs a program: a loop of 20,000 cheap steps, and the program's start, with and without
`gpuprof run`, in pairs that take turns.

usage: python_hook.py BUILD [--budget US] [--pairs N] [--device NAME] [PYTHON ...]
    PYTHON   interpreters with PyTorch; by default /usr/bin/python3 and those of $GPUPROF_TEST_PYTHONS
    NAME     virtual:MODEL, for a CUDA build of PyTorch: also the start of a program that uses this GPU, compared with
             the same start without recording (`run --no-record`)
    exit status 1 if a step costs more than US (8) or the start of a program more than 0.3 s (0.5 s on a GPU); 77
    without PyTorch
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

LOOP = """
import json, time, torch
from torch.utils.data import DataLoader, Dataset
STEPS = 20000
class Data(Dataset):
    def __len__(self): return STEPS
    def __getitem__(self, i): return i
torch.set_num_threads(1)
w = torch.nn.Parameter(torch.ones(1))
opt = torch.optim.SGD([w], lr=1e-3)
took = []
last = time.perf_counter_ns()
for x in DataLoader(Data(), batch_size=None):
    opt.zero_grad()
    loss = (w * w).sum()
    loss.backward()
    opt.step()
    loss.item()
    now = time.perf_counter_ns()
    took.append(now - last)
    last = now
del took[:200]  # what PyTorch imports at its first steps
took.sort()
print(json.dumps([took[len(took) // 2] / 1000, sum(t > 200000 for t in took), sum(t > 1000000 for t in took)]))
"""


def loop(command):
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.split("\n")[-2])


def wall(command):
    begin = time.monotonic()
    subprocess.run(command, capture_output=True, check=True)
    return time.monotonic() - begin


def has_torch(python):
    return os.path.exists(python) and subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0


def paired(measure, program, gpuprof, count, without=()):
    """Measures pairs without and with gpuprof; which of the two comes first alternates."""
    pairs = []
    for n in range(count):
        both = [[*without, *program], [*gpuprof, *program]]
        seen = [measure(one) for one in (both if n % 2 else both[::-1])]
        pairs.append(seen if n % 2 else seen[::-1])
    return pairs


def judge(python, gpuprof, options):
    steps = paired(loop, [python, "-W", "ignore", "-c", LOOP], gpuprof, options.pairs)
    plain = statistics.median(p[0] for p, _ in steps)
    between = statistics.median(t[0] - p[0] for p, t in steps)
    # other programs only make a run longer: the shortest run of each side is the least disturbed
    costs = min(t[0] for _, t in steps) - min(p[0] for p, _ in steps)
    print(f"{python}: step {plain:.2f} us, the hook costs {costs:.2f} us (best of {len(steps)} medians over 20,000 steps on either "
          f"side; {between:+.2f} us in the median of the pairs; budget {options.budget:g} us)")
    for i, limit in ((1, "0.2"), (2, "1")):
        print(f"    stalls over {limit} ms a run: {statistics.median(p[i] for p, _ in steps):g} without, "
              f"{statistics.median(t[i] for _, t in steps):g} with")
    late = 0
    for code in ("pass", "import torch"):
        starts = paired(wall, [python, "-c", code], gpuprof, options.pairs)
        more = statistics.median(t - p for p, t in starts)
        late = max(late, more)
        print(f"    python -c '{code}': {statistics.median(p for p, _ in starts):.3f} s, with gpuprof {more:+.3f} s (budget 0.3 s)")
    return costs <= options.budget and late <= 0.3 and (not options.device or start_on(python, gpuprof, options))


def start_on(python, gpuprof, options):
    """Measures the start of a program on the GPU: PyTorch, a context and a kernel."""
    on = [*gpuprof[:-1], "--device", options.device, "--"]
    program = [python, "-c", "import torch; torch.ones(1, device='cuda').item()"]
    bare = [*on[:2], "--no-record", "-q", "--device", options.device, "--"]
    starts = paired(wall, program, on, options.pairs, bare)
    more = statistics.median(t - p for p, t in starts)
    print(f"    the first kernel on {options.device}: {statistics.median(p for p, _ in starts):.3f} s, recorded {more:+.3f} s "
          f"({min(t - p for p, t in starts):+.3f} to {max(t - p for p, t in starts):+.3f} in {len(starts)} pairs; budget 0.5 s)")
    return more <= 0.5


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("pythons", nargs="*")
    parser.add_argument("--budget", type=float, default=8.0)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--device")
    options = parser.parse_intermixed_args()
    pythons = options.pythons or ["/usr/bin/python3", *filter(None, os.environ.get("GPUPROF_TEST_PYTHONS", "").split(":"))]
    pythons = [python for python in pythons if has_torch(python)]
    if not pythons:
        print("no PyTorch for any interpreter")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="gpuprof-bench-") as folder:
        gpuprof = [os.path.join(os.path.abspath(options.build), "bin", "gpuprof"), "run", "-q", "-f", "-o",
                   os.path.join(folder, "x.gpuprof"), "--"]
        sys.exit(not all([judge(python, gpuprof, options) for python in pythons]))


if __name__ == "__main__":
    main()
