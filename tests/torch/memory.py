#!/usr/bin/env python3
"""Memory of small PyTorch trainings on the virtual GPU: the peak is what PyTorch says itself, to the byte; the largest batch that
fits lies where gpuprof says; a program that runs out of memory is told in which module and line; and what is in use at any moment is what PyTorch says, in its
own trace and in `gpuprof run --memory`.

usage: memory.py BUILD [NAME ...]

GPUPROF_TORCH names the Python with a CUDA build of PyTorch 2; status 77 without it.
"""
import os
import sqlite3
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from support import Build, Checks, pytorch_ended  # noqa: E402

# Printed behind each step: PyTorch's own peak.
LOOP = """
import sys, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
batch = int(sys.argv[1])
{model}
net = net.cuda()
optimizer = torch.optim.{optimizer}(net.parameters(), lr=1e-3)
data = torch.zeros(1).expand({steps} * batch, *{sample})
for (x,) in DataLoader(TensorDataset(data), batch_size=batch):
    print("peak", torch.cuda.max_memory_allocated())
    loss = net(x.cuda()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
BLOCK = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(512, 2048), nn.Linear(2048, 512)
    def forward(self, x):
        wide = self.up(x)
        return x + self.down(torch.relu(wide))
net = nn.Sequential(*[Block() for _ in range(6)])
"""
CONVOLUTIONS = """
def layer(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU())
net = nn.Sequential(layer(3, 64), layer(64, 64), nn.MaxPool2d(2), layer(64, 128), layer(128, 128), nn.AdaptiveAvgPool2d(1))
"""
ATTENTION = "net = nn.Sequential(*[nn.TransformerEncoderLayer(256, 4, 1024, 0.0, batch_first=True) for _ in range(4)])"
RECURRENT = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.LSTM(256, 512, 2, batch_first=True), nn.Linear(512, 2000)
    def forward(self, x):
        return self.out(self.rnn(x)[0])
net = Net()
"""
FROZEN = BLOCK + "for p in net[:4].parameters(): p.requires_grad_(False)\n"
# model, optimizer, one sample, batch, steps
PROGRAMS = {
    "blocks": (BLOCK, "AdamW", (512,), 4096),
    "convolutions": (CONVOLUTIONS, "SGD", (3, 64, 64), 64),
    "attention": (ATTENTION, "AdamW", (128, 256), 32),
    "recurrent": (RECURRENT, "Adam", (64, 256), 64),
    "frozen": (FROZEN, "AdamW", (512,), 32768),
}
WITHIN = 0.02  # beyond the largest batch


def run(build, python, name, batch, steps):
    """Returns how it ended, and its memory as JSON."""
    model, optimizer, sample, _ = PROGRAMS[name]
    path, profile = build.path(f"{name}.py"), build.path(f"{name}.gpuprof")
    with open(path, "w", encoding="utf-8") as f:
        f.write(LOOP.format(model=model, optimizer=optimizer, sample=sample, steps=steps))
    done = build.run([build.gpuprof, "run", "-q", "-f", "--device", "virtual:t4", "-o", profile, "--", python, path, str(batch)])
    return done, build.analyze(profile)["memory"] or {}


def check(build, checks, python, name):
    batch = PROGRAMS[name][3]
    done, memory = run(build, python, name, batch, 12)
    if not checks.check(pytorch_ended(done) and memory.get("peak"), f"{name} ends well", done.stderr[-300:]):
        return
    peak, own = memory["peak"], [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("peak")]
    checks.check(peak["in_use_bytes"] in own[2:], f"{name}: the peak is PyTorch's own", f"{peak['in_use_bytes']}, {own}")
    fits = peak["largest_batch"] or {"times_low": 0, "times_likely": 0, "times_high": 0}
    low, high = int(batch * fits["times_low"]), int(batch * fits["times_high"] * (1 + WITHIN)) + 1
    print(f"        {name}: about {batch * fits['times_likely']:.0f}, {low} to {high}")
    done, _ = run(build, python, name, low, 4)
    checks.check(pytorch_ended(done), f"{name}: a batch of {low} fits", done.stderr[-200:])
    done, memory = run(build, python, name, high, 4)
    checks.check(done.returncode != 0 and memory.get("failed"), f"{name}: a batch of {high} does not", done.stdout[-200:])
    where = str((memory.get("failed") or {}).get("where"))
    checks.check(f"{name}.py:" in where, f"{name}: the line is told", where)


# At a hundred moments PyTorch says what is in use, as the name of a range in its own trace.
CURVE = """
import random, sys, torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function
random.seed(7)
net = nn.Sequential(*[nn.Sequential(nn.Linear(512, 512), nn.ReLU()) for _ in range(8)]).cuda()
optimizer = torch.optim.Adam(net.parameters())
def moment(*_):
    if random.random() < 0.5:
        with record_function(f"in use {torch.cuda.memory_allocated()}"):
            pass
for layer in net:
    layer.register_forward_hook(moment)
    layer.register_full_backward_hook(moment)
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True) as recorded:
    for _ in range(20):
        net(torch.randn(256, 512, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        moment()
print("peak", torch.cuda.max_memory_allocated())
recorded.export_chrome_trace(sys.argv[1])
"""


def moments_of(profile, within_ns):
    """How many moments PyTorch spoke of in names of ranges, and those at which the profile says something else, though the clocks
    may differ by as much."""
    db = sqlite3.connect(profile)
    moments = db.execute("SELECT r.start_ns, CAST(substr(s.text, 8) AS INTEGER) FROM range r JOIN string s ON s.id = r.name "
                         "WHERE s.text LIKE 'in use %'").fetchall()
    wrong = []
    for at, told in moments:
        found = db.execute("SELECT in_use_bytes FROM allocation WHERE time_ns <= ? ORDER BY time_ns DESC, id DESC LIMIT 1", (at,)).fetchall()
        found += db.execute("SELECT in_use_bytes FROM allocation WHERE abs(time_ns - ?) < ?", (at, within_ns)).fetchall()
        if (told,) not in found:
            wrong.append((at, told, found[:3]))
    db.close()
    return len(moments), wrong


def check_curve(build, checks, python):
    """PyTorch's trace, whose pieces gpuprof reads: at each moment, and at the peak, as many bytes are in use as PyTorch says."""
    path, trace, profile = build.path("curve.py"), build.path("curve.json"), build.path("curve.gpuprof")
    with open(path, "w", encoding="utf-8") as f:
        f.write(CURVE)
    done = build.run([build.gpuprof, "run", "-q", "-f", "--device", "virtual:t4", "-o", profile, "--", python, path, trace])
    if not checks.check(pytorch_ended(done) and os.path.exists(trace), "the curve's program ends well", done.stderr[-300:]):
        return
    build.run([build.gpuprof, "import", "-q", "-f", trace, "-o", profile])
    moments, wrong = moments_of(profile, 0)
    checks.check(moments >= 100 and not wrong, f"at {moments} moments as much is in use as PyTorch says", str(wrong[:3]))
    peak = build.analyze(profile)["memory"]["recorded"]["peak_bytes"]
    checks.check(f"peak {peak}" in done.stdout.splitlines(), "and at the peak", f"{peak}, {done.stdout}")


# The same of gpuprof's own recording. PyTorch's statistics round the pieces up; that of what was asked for does not.
PIECES = """
import random, torch
from torch import nn
random.seed(7)
net = nn.Sequential(*[nn.Sequential(nn.Linear(512, 512), nn.ReLU()) for _ in range(8)]).cuda()
optimizer = torch.optim.Adam(net.parameters())
def moment(*_):
    if random.random() < 0.5:
        with torch.cuda.nvtx.range("in use " + str(torch.cuda.memory_stats()["requested_bytes.all.current"])):
            pass
for layer in net:
    layer.register_forward_hook(moment)
    layer.register_full_backward_hook(moment)
for _ in range(20):
    net(torch.randn(256, 512, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    moment()
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"])
"""


CLOCKS_NS = 300000  # PyTorch's history has a clock of its own, which it relates to the others once


def check_pieces(build, checks, python):
    """`run --memory`: at each moment, and at the peak, the program has asked for as many bytes as PyTorch says, line by line."""
    path, profile = build.path("pieces.py"), build.path("pieces.gpuprof")
    with open(path, "w", encoding="utf-8") as f:
        f.write(PIECES)
    done = build.run([build.gpuprof, "run", "-q", "-f", "--memory", "--device", "virtual:t4", "-o", profile, "--", python, path])
    if not checks.check(pytorch_ended(done), "the program with its memory's lines ends well", done.stderr[-300:]):
        return
    moments, wrong = moments_of(profile, CLOCKS_NS)
    checks.check(moments >= 100 and not wrong, f"at {moments} moments as much was asked for as PyTorch says", str(wrong[:3]))
    recorded = build.analyze(profile)["memory"]["recorded"]
    checks.check(f"peak {recorded['peak_bytes']}" in done.stdout.splitlines(), "and at the peak", f"{recorded}, {done.stdout}")
    held = sum(h["bytes"] for h in recorded["holders"]) + recorded["others_bytes"]
    lines = {h["line"] for h in recorded["holders"]}
    checks.check(held == recorded["peak_bytes"] and any(str(line).startswith("pieces.py:15") for line in lines),
                 "which lines hold", str(recorded["holders"]))


def main():
    build, checks = Build(sys.argv[1]), Checks()
    python = os.environ.get("GPUPROF_TORCH")
    if not python:
        print("skipped: GPUPROF_TORCH names no Python")
        return 77
    for name in [n for n in sys.argv[2:] if n in PROGRAMS] or ([] if sys.argv[2:] else list(PROGRAMS)):
        check(build, checks, python, name)
    if not sys.argv[2:] or "curve" in sys.argv[2:]:
        check_curve(build, checks, python)
    if not sys.argv[2:] or "pieces" in sys.argv[2:]:
        check_pieces(build, checks, python)
    checks.done()
    return 0


sys.exit(main())
