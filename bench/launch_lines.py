#!/usr/bin/env python3
"""Measures what recording the program's lines costs the steps in which it is on: an eager PyTorch step of some hundred launches,
called through nested modules, on the virtual GPU. Each step with lines is compared with the two steps beside it without lines, in
processor time of the whole process. The same difference among steps without lines is subtracted. The aim is 3 %.
Usage: launch_lines.py BUILD PYTHON [ROUNDS [STEPS]]; PYTHON has a CUDA build of PyTorch 2."""
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile

PROGRAM = """import json, sys, time, torch
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64))
    def forward(self, x):
        return x + self.body(x)
model = torch.nn.Sequential(*[torch.nn.Sequential(Block(), Block()) for _ in range(10)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
x = torch.randn(32, 64, device="cuda")
took, last = [], time.process_time_ns()
for step in range(int(sys.argv[1])):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
    now = time.process_time_ns()
    took.append(now - last)
    last = now
print(json.dumps(took))
"""
WARM = 20  # steps until everything is loaded


def run(build, python, folder, steps):
    """A step counts as one with lines if a stretch of recorded lines covers it."""
    profile, script = os.path.join(folder, "x.gpuprof"), os.path.join(folder, "program.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    done = subprocess.run([os.path.join(build, "bin", "gpuprof"), "run", "-q", "-f", "--device", "virtual:a100-80", "-o", profile, "--",
                           python, script, str(steps)], stdout=subprocess.PIPE, text=True, check=True)
    with sqlite3.connect(profile) as db:
        marks = db.execute("SELECT r.start_ns, r.end_ns FROM range r JOIN string s ON s.id = r.name WHERE s.text = 'gpuprof.step' "
                           "ORDER BY 1").fetchall()
        stretches = db.execute("SELECT start_ns, end_ns FROM launch_line WHERE what = 0").fetchall()
        launches = db.execute("SELECT count(*) FROM kernel").fetchone()[0] / steps
    carry = {i + 1 for i, (start, end) in enumerate(marks) for a, b in stretches
             if min(b, end) - max(a, start) > 0.8 * (end - start)}
    took = json.loads(done.stdout)
    assert carry, "no step carries lines"
    beside = {i: took[i] / ((took[i - 1] + took[i + 1]) / 2) - 1 for i in range(WARM, len(took) - 1)}
    with_lines = [x for i, x in beside.items() if i in carry and not {i - 1, i + 1} & carry]
    without = [x for i, x in beside.items() if not {i - 1, i, i + 1} & carry]
    return statistics.median(with_lines) - statistics.median(without), len(carry), launches


def main():
    build, python = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    steps = int(sys.argv[4]) if len(sys.argv) > 4 else 800
    cost = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            one, carry, launches = run(build, python, folder, steps)
            cost.append(one)
            print(f"{carry} of {steps} steps carry lines, {launches:.0f} kernels a step: {100 * one:+.2f} %", flush=True)
    print(f"steps with lines: {100 * statistics.median(cost):+.2f} % (rounds {100 * min(cost):+.2f} to {100 * max(cost):+.2f} %)")


if __name__ == "__main__":
    main()
