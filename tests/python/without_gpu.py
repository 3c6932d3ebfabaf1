"""Runs without a GPU are first-class: what is said of PyTorch programs on a CPU, and what is not.

    without_gpu.py BUILD          77 without PyTorch
"""
import json
import re
import sys

from support import PYTHON, Test, have_torch

# Validation after every ten steps; a sample costs 0.2 ms, a batch 3.2 ms.
TRAIN = """
import gc, time, torch
from torch.utils.data import Dataset, DataLoader
class Data(Dataset):
    def __init__(self, n): self.n = n
    def __len__(self): return self.n
    def __getitem__(self, i):
        time.sleep(0.0002)
        return torch.full((64,), float(i)), i % 2
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
train, test = DataLoader(Data(160), batch_size=16), DataLoader(Data(640), batch_size=64)
for epoch in range(5):
    model.train()
    for x, y in train:
        optimizer.zero_grad()
        out = model(x)
        time.sleep(0.004)  # forward, as far as anybody can tell
        torch.nn.functional.cross_entropy(out, y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        for x, y in test:
            model(x)
print("done")
"""

INFER = """
import time, torch
from torch.utils.data import TensorDataset, DataLoader
model = torch.nn.Linear(64, 2).eval()
with torch.no_grad():
    for (x,) in DataLoader(TensorDataset(torch.ones(640, 64)), batch_size=16):
        model(x)
        time.sleep(0.005)
"""

# Lock-step by gloo; rank 1 comes late.
RANKS = """
import time, torch, torch.distributed as dist
dist.init_process_group("gloo")
torch.set_num_threads(1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
for i in range(24):
    optimizer.zero_grad()
    out = model(torch.ones(16, 64))
    time.sleep(0.03 if dist.get_rank() == 1 else 0.002)
    out.sum().backward()
    optimizer.step()
dist.barrier()
"""

# As torchrun does it, which does not run in every version.
LAUNCH = """
import os, socket, subprocess, sys
with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
ranks = [subprocess.Popen([sys.executable, sys.argv[1]], env={
    **os.environ, "RANK": str(r), "LOCAL_RANK": str(r), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}) for r in range(2)]
sys.exit(max(r.wait() for r in ranks))
"""

NOTHING = """
import torch
print(torch.ones(3).sum().item())
"""

SILLY = ("GPU idle", "GPU busy", "gpuprof run CMD", "or gpuprof run", "on a GPU it would",
         "Run it on a GPU", "ProfilerActivity", "1 times", "unknown GPU")


def look(t, name, command, **variables):
    """Runs it, and reads all that is said of it."""
    profile = t.same(name, command, **variables)
    kept = t.path(f"{name}.gpuprof")
    t.run(["cp", profile, kept])
    said = json.loads(t.run([t.gpuprof, "analyze", "--json", kept]).stdout)
    texts = {"terminal": t.run([t.gpuprof, "analyze", kept]).stdout,
             "everything": t.run([t.gpuprof, "analyze", "-v", kept]).stdout,
             "markdown": t.run([t.gpuprof, "analyze", "--markdown", kept]).stdout}
    t.run([t.gpuprof, "report", kept, "-o", t.path(name + ".html")])
    with open(t.path(name + ".html"), encoding="utf-8") as file:
        texts["page"] = file.read().split('<script type="application/octet-stream"')[0]
    for where, text in texts.items():
        flat = " ".join(text.split())
        found = [flat[max(0, at.start() - 60):][:120] for words in SILLY for at in [re.search(r"(?<![\d.])" + words, flat)] if at]
        t.check(not found, f"{name}, {where}: nothing about a GPU that is not there", found)
    parts = said["breakdown_ms"]
    t.check(abs(sum(parts.values()) - said["breakdown_of_ms"]) < 1e-5,
            f"{name}: the parts sum to the step", parts)
    return kept, said, texts


def training(t):
    kept, said, texts = look(t, "train", [PYTHON, t.write("train.py", TRAIN)])
    parts = said["breakdown_ms"]
    for part, least in (("data", 2), ("forward", 3.9), ("backward", 0.01), ("optimizer", 0.001),
                        ("validation", 3)):
        t.check(parts[part] >= least, f"train: {part} takes {least} ms and more", parts)
    t.check(said["breakdown_of"] == "mean" and said["breakdown_of_ms"] == said["steps"]["pace_ms"],
            "train: validation recurs, so the step is the mean", said["steps"])
    t.check("average" in said["verdict"], "train: the verdict says so", said["verdict"])
    t.check(all("validation" in text for text in texts.values()), "train: validation is told everywhere")
    gate = t.run([t.gpuprof, "gate", kept, kept])
    t.check(gate.returncode in (0, 3) and "mean step" in gate.stdout,
            "gate does not find a run slower than itself", gate.stdout + gate.stderr)
    diff = t.run([t.gpuprof, "diff", kept, kept])
    t.check(diff.returncode == 0 and "per step" in diff.stdout, "diff compares", diff.stdout + diff.stderr)


def inference(t):
    _, said, texts = look(t, "infer", [PYTHON, t.write("infer.py", INFER)])
    t.check(said["steps"]["unit"] == "batch" and said["steps"]["count"] >= 39
            and said["steps"]["median_ms"] > 5, "infer: one batch is one step", said["steps"])
    t.check(re.search(r"Rate +[\d.]+ batches per second, [\d.,]+ samples per second \(batches of 16\)",
                      texts["terminal"]), "infer: throughput", texts["terminal"])
    t.check("batch" in said["verdict"] and "step" not in said["verdict"], "infer: the verdict speaks of batches",
            said["verdict"])


def ranks(t):
    t.write("ranks.py", RANKS)
    done, profile = t.traced([PYTHON, t.write("launch.py", LAUNCH), t.path("ranks.py")])
    if not t.check(done.returncode == 0, "ranks: two of them run", done.stderr[-900:]):
        return
    said = json.loads(t.run([t.gpuprof, "analyze", "--json", profile]).stdout)
    t.check(said["verdict_class"] == "straggler" and "rank 1" in said["verdict"], "ranks: the late one is named",
            said["verdict"] + said["why"])
    late = {r["rank"]: r["late_ms"] for r in said["ranks"]}
    t.check(late.get(0) == 0 and 15 < late.get(1, 0) < 90, "ranks: by how much", said["ranks"])
    for r in said["ranks"]:
        t.check(abs(sum(r["parts_ms"].values()) - r["step_mean_ms"]) < 1e-4, "ranks: parts sum to the step", r)
    page = t.path("ranks.html")
    t.run([t.gpuprof, "report", profile, "-o", page])
    with open(page, encoding="utf-8") as file:
        t.check("rank 1 (late)" in file.read(), "ranks: the page names it")


def nothing(t):
    _, said, texts = look(t, "nothing", [PYTHON, t.write("nothing.py", NOTHING)])
    t.check(said["verdict_class"] == "not-enough-data" and "repeated no optimizer step" in said["why"],
            "nothing: says that nothing repeats", said["why"])
    t.check("several steps" in said["next"], "nothing: and what would be a loop", said["next"])


def main():
    if not have_torch():
        print("skipped: no PyTorch in /usr/bin/python3")
        sys.exit(77)
    t = Test(sys.argv[1])
    training(t)
    inference(t)
    ranks(t)
    nothing(t)
    t.done()


main()
