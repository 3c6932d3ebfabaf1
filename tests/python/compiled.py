#!/usr/bin/env python3
"""The Python hook beside torch.compile, on a machine without a GPU: what is seen of programs whose compiler looks at what they call.

usage: compiled.py BUILD
"""
import subprocess
import sys

from support import PYTHON, Test, facts, health, query

LOADED = """
import torch; torch.multiprocessing.set_start_method("fork")  # others import this program again
from torch.utils.data import DataLoader, TensorDataset
model = torch.nn.Linear(16, 2)
opt = torch.optim.SGD(model.parameters(), lr=1e-4)
fast = torch.compile(model, backend="eager")
for epoch in range(2):
    for x, in DataLoader(TensorDataset(torch.ones(64, 16)), batch_size=8, num_workers=2):
        opt.zero_grad()
        fast(x).sum().backward()
        opt.step()
"""
SHARDED = """
import os, sys, torch, torch.distributed as dist
from torch.distributed.fsdp import fully_shard
os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
model = torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(2)])
for block in model:
    block.compile(backend="eager")
    if sys.argv[1] == "sharded":
        fully_shard(block)
if sys.argv[1] == "sharded":
    fully_shard(model)
opt = torch.optim.SGD(model.parameters(), lr=1e-4)
for _ in range(4):
    opt.zero_grad()
    model(torch.ones(8, 16)).sum().backward()
    opt.step()
print("done")
"""


def loaded(test):
    """What a compiler must find as it was written is seen again behind it: in Python 3.11 the first compiled call hid it."""
    done, profile = test.traced([PYTHON, test.write("loaded.py", LOADED)])
    test.check(done.returncode == 0, "a compiled model", done.stderr[-500:])
    seen = {(what, worker): n for what, worker, n in
            query(profile, "SELECT what, worker, count(*) FROM loader_span GROUP BY what, worker")}
    test.check([seen.get((1, worker)) for worker in (0, 1)] == [8, 8],
               "workers that start behind the first compiled call: their fetches", seen)
    marks = dict(query(profile, "SELECT s.text, count(*) FROM range r JOIN string s ON s.id = r.name GROUP BY s.text"))
    test.check([marks.get(name) for name in ("zero_grad", "backward", "optimizer.step")] == [16] * 3,
               "all steps' parts around compiled calls", marks)


def sharded(test):
    """FSDP's own calls are left alone where a compiler may look at them; the program is known to shard all the same."""
    script = test.write("sharded.py", SHARDED)
    for what, expected in (("sharded", "fully_shard"), ("whole", None)):
        done, profile = test.traced([PYTHON, script, what])
        test.check(done.returncode == 0 and "done" in done.stdout, f"compiled blocks, {what}", done.stderr[-500:])
        said = facts(profile)
        test.check("torch.compile" in said and said.get("torch.fsdp") == expected, f"{what}: whether it shards", said)
        test.check(not health(profile), f"{what}: nothing in the health table", health(profile))


def main():
    compiles = [PYTHON, "-c", "import torch; torch.compile; import torch.distributed.fsdp as f; f.fully_shard"]
    if subprocess.run(compiles, capture_output=True, check=False).returncode:
        print("no PyTorch that compiles for", PYTHON)
        sys.exit(77)
    test = Test(sys.argv[1])
    loaded(test)
    sharded(test)
    test.done()


if __name__ == "__main__":
    main()
