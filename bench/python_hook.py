#!/usr/bin/env python3
"""What the Python hook costs a training step: 10,000 cheap steps with and without `gpuprof run`.

usage: python_hook.py BUILD [--budget US]    status 1 when a step costs more than US (10); 77 no PyTorch
"""
import os
import subprocess
import sys
import tempfile

PYTHON = "/usr/bin/python3"
LOOP = """
import time, torch
from torch.utils.data import DataLoader, Dataset
class Data(Dataset):
    def __len__(self): return 10000
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
took.sort()
print(took[len(took) // 2] / 1000)
"""


def median_us(command):
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def main():
    build = os.path.abspath(sys.argv[1])
    budget = float(sys.argv[3]) if sys.argv[2:3] == ["--budget"] else 10.0
    if not os.path.exists(PYTHON) or subprocess.run([PYTHON, "-c", "import torch"],
                                                    capture_output=True).returncode:
        print("no PyTorch for", PYTHON)
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="gpuprof-bench-") as folder:
        program = [PYTHON, "-c", LOOP]
        traced = [os.path.join(build, "bin", "gpuprof"), "run", "-q", "-f", "-o",
                  os.path.join(folder, "x.gpuprof"), "--", *program]
        pairs = [(median_us(program), median_us(traced)) for _ in range(5)]
    plain, hooked = (min(column) for column in zip(*pairs))
    print(f"step {plain:.2f} us, with the hook {hooked:.2f} us: it costs {hooked - plain:.2f} us "
          f"(best of 5 medians over 10,000 steps; budget {budget:g} us)")
    sys.exit(hooked - plain > budget)


if __name__ == "__main__":
    main()
