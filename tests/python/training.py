#!/usr/bin/env python3
"""The Python hook in PyTorch programs on a machine without a GPU: the same output as without; what it
saw; the findings name file and line; settings are obeyed or refused, and said so.

usage: training.py BUILD [seen]     seen: without the programs that test what stays the same
"""
import json
import os
import sys

from support import PYTHON, Test, facts, have_torch, health, query

TRAIN = """
import sys, time, warnings
import torch
from torch.utils.data import DataLoader, Dataset
WORKERS = int(sys.argv[1]) if len(sys.argv) > 1 else 0
EPOCHS = int(sys.argv[3]) if len(sys.argv) > 3 else 2
class Slow(Dataset):
    def __len__(self): return 320
    def __getitem__(self, i):
        time.sleep(0.001)
        return torch.full((16,), float(i)), i % 2
def main():
    torch.manual_seed(1)
    model = torch.nn.Linear(16, 2)
    opt = torch.optim.SGD(model.parameters(), lr=1e-4)
    loss_fn = torch.nn.CrossEntropyLoss()
    total = 0.0
    loader = DataLoader(Slow(), batch_size=16, num_workers=WORKERS,
                        multiprocessing_context=sys.argv[2] if len(sys.argv) > 2 else None)
    for epoch in range(EPOCHS):
        for x, y in loader:  # line 21
            opt.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            opt.step()
            total += loss.item()  # line 26
    print('loss', round(total, 3))
if __name__ == '__main__':
    main()
"""
HEAD = """
import sys, os, inspect, pickle, torch; torch.multiprocessing.set_start_method("fork")  # others import this program again
from torch.utils.data import DataLoader, Dataset, IterableDataset
class Data(Dataset):
    def __init__(self, bad=-1, ragged=False): self.bad, self.ragged = bad, ragged
    def __len__(self): return 8
    def __getitem__(self, i):
        if i == self.bad: raise KeyError('bad sample')
        return torch.zeros(i + 1 if self.ragged else 2)
"""
SAME = {
    "dataset raises": "for _ in DataLoader(Data(3)): pass",
    "dataset raises in a worker": "for _ in DataLoader(Data(3), num_workers=2): pass",
    "ragged batch": "for _ in DataLoader(Data(ragged=True), batch_size=4): pass",
    "ragged batch in a worker":
        "for _ in DataLoader(Data(ragged=True), batch_size=4, num_workers=1): pass",
    "wrong loader argument": "DataLoader(Data(), num_workers=-1)",
    "item of many": "torch.zeros(3).item()",
    "bool of many": "bool(torch.zeros(3))",
    "numpy with grad": "torch.zeros(3, requires_grad=True).numpy()",
    "backward twice": "x = torch.ones(1, requires_grad=True); y = (x * x).sum()\n"
                      "y.backward(); y.backward()",
    "backward of no scalar": "torch.ones(3, requires_grad=True).backward()",
    "printing": "print(torch.arange(6.), torch.tensor(3).item(), torch.ones(2).tolist(), "
                "int(torch.tensor(4)), torch.nonzero(torch.tensor([0, 1])), bool(torch.tensor(0)))",
    "introspection":
        "print(inspect.signature(DataLoader), inspect.signature(DataLoader.__init__),\n"
        "      torch.Tensor.item.__name__, callable(torch.Tensor.cpu),\n"
        "      isinstance(pickle.loads(pickle.dumps(torch.utils.data._utils.worker._worker_loop)),\n"
        "      type(lambda: 0)), sys.modules.get('gpuprof_torch'), len(sys.meta_path))",
    "pickled methods":
        "import functools, copy\n"
        "for f in (torch.Tensor.item, torch.Tensor.to, functools.partial(torch.Tensor.cpu)):\n"
        "  print(pickle.loads(pickle.dumps(copy.deepcopy(f)))(torch.ones(1), *['cpu'][:f == "
        "torch.Tensor.to]))",
    "subclass of Tensor":
        "class T(torch.Tensor):\n  @classmethod\n  def __torch_function__(c, f, t, a=(), k=None):\n"
        "    print(getattr(f, '__name__', f)); return super().__torch_function__(f, t, a, k or {})\n"
        "x = torch.ones(1).as_subclass(T); print(x.item(), x.cpu().tolist(), bool(x))",
    "script": "@torch.jit.script\ndef f(x: torch.Tensor) -> float:\n  return float(x.item()) + 1\n",
    "scripted module": "m = torch.jit.script(torch.nn.Linear(2, 2)); print(m(torch.ones(1, 2)).shape)",
    "two optimizers and a scheduler":
        "p = [torch.nn.Parameter(torch.ones(1)) for _ in range(2)]\n"
        "a, b = torch.optim.Adam(p[:1]), torch.optim.SGD(p[1:], 0.1)\n"
        "s = torch.optim.lr_scheduler.StepLR(b, 2)\n"
        "for i in range(4):\n  a.zero_grad(); b.zero_grad(); (p[0] * p[1]).sum().backward()\n"
        "  a.step(); b.step(); s.step()\nprint(p, s.get_last_lr(), pickle.loads(pickle.dumps(a)))",
    "os._exit": "x = torch.ones(2).tolist(); print(x, flush=True); os._exit(3)",
    "SIGKILL": "print(torch.ones(1).item(), flush=True); os.kill(os.getpid(), 9)",
    "stack of a reader": "import traceback\nclass D(Data):\n  def __getitem__(self, i):\n"
                         "    if i == 0: traceback.print_stack()\n    return 1\nlist(DataLoader(D()))",
    "warning's place": "import warnings\nclass D(Data):\n  def __getitem__(self, i):\n"
                       "    warnings.warn('w', stacklevel=4); return 1\nlist(DataLoader(D()))",
}


# Whether the broken batch is there before its turn: PyTorch raises from one of two lines.
RACES = ("dataset raises in a worker",)
# Programs of their own. The others are children of one, so that PyTorch is imported once for all.
ALONE = (*RACES, "dataset raises", "introspection", "os._exit", "SIGKILL")
CHILDREN = """
def child(name, path):
    print("----", name, flush=True)
    print("----", name, file=sys.stderr, flush=True)
    pid = os.fork()
    if pid == 0:
        status = 0
        try:
            exec(compile(open(path).read(), path, "exec"), globals())
        except SystemExit as end:
            status = end.code
        except BaseException:
            sys.excepthook(*sys.exc_info())
            status = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    print("status", os.waitpid(pid, 0)[1], flush=True)
for case in sys.argv[1:]:
    child(*case.split("="))
"""


def spans(profile):
    return {(what, worker): (n, ns) for what, worker, n, ns in query(
        profile, "SELECT what, worker, count(*), avg(end_ns - start_ns) FROM loader_span "
                 "GROUP BY what, worker")}


def ranges(profile):
    return dict(query(profile, "SELECT s.text, count(*) FROM range r JOIN string s "
                               "ON s.id = r.name GROUP BY s.text"))


def main_process(test, script):
    """Returns what the program does without gpuprof."""
    profile = test.same("num_workers=0", [PYTHON, script])
    seen, marks, said = spans(profile), ranges(profile), facts(profile)
    test.check(seen.get((1, -1), (0, 0))[0] == 40, "40 batches made in the main process", seen)
    test.check(seen[(1, -1)][1] > 16e6, "each takes 16 samples of 1 ms", seen)
    test.check(seen.get((0, -1), (0, 0))[0] == 40, "waits: 40 batches", seen)
    test.check(seen.get((4, -1), (0,))[0] == seen.get((5, -1), (0,))[0] == 2,
               "2 loops over them begin and end", seen)
    for name, count in (("gpuprof.step", 39), ("backward", 40), ("zero_grad", 40),
                        ("read .item() train.py:26", 40)):
        test.check(marks.get(name) == count, f"{count} of '{name}'", marks)
    test.check(said.get("torch.loader.where") == "train.py:21", "line of the loop", said)
    test.check("num_workers=0" in said.get("torch.loader", ""), "settings of the loader", said)
    test.check("SGD" in said.get("torch.optimizer", ""), "class of the optimizer", said)
    test.check(said.get("torch.optimizer.groups") == "1 of 1 kinds", "groups of the optimizer", said)
    test.check(not health(profile), "nothing in the health table", health(profile))

    done = test.run([test.gpuprof, "analyze", "--json", profile])
    result = json.loads(done.stdout)
    first = (result.get("findings") or [{}])[0]
    test.check("data-loading" in json.dumps(first), "data loading is the first finding", first)
    test.check("train.py:21" in json.dumps(first), "it names file and line", first)
    text = test.run([test.gpuprof, "analyze", profile]).stdout
    test.check("waiting for data" in text and "GPU idle" not in text,
               "the parts of a step are told, none of them of a GPU", text[:900])
    test.check("(no GPU)" in text or "on the CPU" in text, "it says that there was no GPU work", text[:900])
    return test.plain


SEEN = """
import torch
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset
class Data(Dataset):
    def __len__(self): return 12
    def __getitem__(self, i): return torch.full((3, 8, 8), float(i)), i % 2
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                            torch.nn.Linear(144, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-4); torch.use_deterministic_algorithms(True, warn_only=True)
loader = DataLoader(Data(), batch_size=4)  # line 12
for epoch in range(2):
    model.train()
    for x, y in loader:  # line 15
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=AUTOCAST):  # line 17
            out = model(x)
        out = checkpoint(torch.sin, out.float(), use_reentrant=False)  # line 19
        loss = torch.nn.functional.cross_entropy(out, y)
        with torch.autograd.set_detect_anomaly(True):
            loss.backward()  # line 22
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # line 23
        opt.step()
    model.eval()
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.item()  # line 28
print(loss, f"{loss:.3f}")
"""


def settings(test):
    """What a program says of itself only by what it does."""
    script = test.write("seen.py", SEEN.replace("AUTOCAST", "True"))
    profile = test.same("settings", [PYTHON, script])
    said, marks = facts(profile), ranges(profile)
    test.check(not health(profile), "nothing in the health table", health(profile))
    for key, text in {
            "torch.loader.made": "seen.py:12", "torch.loader.where": "seen.py:15",
            "torch.batch": "float32 4x3x8x8, int64 4", "torch.autocast": "cpu bfloat16",
            "torch.autocast.where": "seen.py:17", "torch.checkpoint": "used at seen.py:19",
            "torch.anomaly_mode": "True", "torch.anomaly_mode.where": "seen.py:21",
            "torch.fills_new.where": "seen.py:11", "torch.clip_grad": "used at seen.py:23", "torch.weights.memory_format": "contiguous",
            "torch.evaluation.grad_enabled": "seen.py:28"}.items():
        test.check(said.get(key) == text, f"fact {key}", said.get(key))
    reads = {name: n for name, n in marks.items() if name.startswith(("read", "sync", "copy"))}
    test.check(reads == {"read .item() seen.py:28": 6, "read print() seen.py:29": 1,
                         "read format() seen.py:29": 1}, "the program's reads, not PyTorch's own",
               reads)

    done, profile = test.traced([PYTHON, script], GPUPROF_MODULES="1")
    marks = ranges(profile)
    test.check(marks.get("0 (Conv2d)") == 12 and marks.get("model (Sequential)") == 12,
               "ranges of modules", marks)

    script = test.write("seen.py", SEEN.replace("AUTOCAST", "False"))
    plain = test.run([PYTHON, script])
    done, profile = test.traced([PYTHON, script],
                                GPUPROF_APPLY="precision=bf16;channels_last=1;optimizer=foreach")
    said = facts(profile)
    test.check(done.returncode == 0 and done.stdout != plain.stdout, "bf16: it computes otherwise",
               done.stderr[-500:])
    test.check(said.get("apply.precision", "").startswith("applied: autocast"), "bf16 applied", said)
    test.check(said.get("torch.weights.memory_format") == "channels_last", "channels_last applied",
               said)
    test.check(said.get("apply.optimizer", "").startswith("refused: it pays"), "foreach refused",
               said)


PROFILED = """
import time, torch
from torch.profiler import ProfilerActivity, profile, schedule
model = torch.nn.Linear(16, 2)
opt = torch.optim.SGD(model.parameters(), lr=1e-4, foreach=True)
def written(prof):
    time.sleep(0.5)
    print("written", len(prof.key_averages()) > 0)
with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=5, warmup=1, active=3, repeat=1),
             on_trace_ready=written) as prof:
    for step in range(24):
        opt.zero_grad()
        model(torch.ones(4, 16)).sum().backward()
        time.sleep(0.02)
        opt.step()
        prof.step()
"""


def profiler_of_its_own(test):
    """The profiler writes its trace in one step of many: no cost of the loop."""
    done, profile = test.traced([PYTHON, test.write("profiled.py", PROFILED)])
    test.check(done.returncode == 0 and done.stdout == "written True\n", "a program with torch.profiler",
               done.stderr[-500:])
    test.check(ranges(profile).get("torch.profiler", 0) >= 24, "calls of torch.profiler", ranges(profile))
    test.check("torch.clip_grad" not in facts(profile), "nothing is clipped", facts(profile))
    steps = json.loads(test.run([test.gpuprof, "analyze", "--json", profile]).stdout)["steps"]
    test.check(steps.get("profiled", {}).get("count", 0) >= 1 and steps["profiled"]["all_ms"] > 500,
               "the step in which it writes is left out", steps)
    test.check(steps["max_ms"] < 500 and steps["used"] >= 15, "the others count", steps)


def scripts_for_a_card(test):
    """tests/gpu's PyTorch programs still run; what they do on a card is its own check."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gpu")
    program = [PYTHON, os.path.join(folder, "torch_resnet.py"), "--device", "cpu", "--size", "32",
               "--batch", "2", "--steps", "3", "--deterministic", "--mode", "amp",
               "--channels-last", "--workers", "0", "--item-every", "1", "--profiler"]
    done, profile = test.traced(program)
    test.check(done.stdout.count("loss=") == 3 and "median_step_ms=" in done.stdout,
               "torch_resnet.py on a CPU", done.stderr[-500:])
    test.check(facts(profile).get("torch.weights.memory_format") == "channels_last"
               and facts(profile).get("torch.autocast") == "cpu bfloat16", "and what it does is seen",
               facts(profile))
    trace = test.path("trace.json")
    done = test.run([PYTHON, os.path.join(folder, "torch_kineto.py"), trace, "--device", "cpu"])
    test.check(done.stdout.count("loss=") == 30 and os.path.getsize(trace) > 1000,
               "torch_kineto.py on a CPU", done.stderr[-500:])


def workers(test, script):
    for method, epochs in (("fork", 2), ("spawn", 1), ("forkserver", 2)):
        profile = test.same(f"two workers, {method}", [PYTHON, script, "2", method, str(epochs)])
        seen = spans(profile)
        made = [seen.get((1, worker), (0, 0)) for worker in (0, 1)]
        test.check([n for n, _ in made] == [10 * epochs] * 2, f"{method}: both workers' fetches", seen)
        test.check(min(ns for _, ns in made) > 16e6, f"{method}: their times", seen)
        processes = query(profile, "SELECT count(DISTINCT process) FROM loader_span "
                                   "WHERE worker >= 0")[0][0]
        test.check(processes == 2 * epochs, f"{method}: two workers in each epoch", processes)
        test.check(not health(profile), f"{method}: nothing in the health table", health(profile))


def obeyed(test, script, plain):
    done, profile = test.traced([PYTHON, script], GPUPROF_APPLY="num_workers=2;zero_grad=none;"
                                "precision=tf32;cudnn_benchmark=1;pin_memory=1;optimizer=fused;"
                                "channels_last=1")
    said, seen = facts(profile), spans(profile)
    test.check(done.stdout == plain.stdout and done.stderr == plain.stderr, "settings: same output",
               done.stderr[-500:])
    test.check(said.get("apply.num_workers", "").startswith("applied: 0 -> 2"), "num_workers applied", said)
    test.check((1, 1) in seen and (1, -1) not in seen, "two workers make the batches", seen)
    for setting in ("zero_grad", "precision", "cudnn_benchmark"):
        test.check(said.get(f"apply.{setting}", "").startswith("applied"), f"{setting} applied", said)
    for setting in ("pin_memory", "optimizer", "channels_last"):
        test.check(said.get(f"apply.{setting}", "").startswith("refused"), f"{setting} refused", said)
    test.check(said.get("torch.matmul.allow_tf32") == "True" or said.get("torch.matmul.precision") == "tf32",
               "TF32 is on", said)
    iterable = HEAD + ("class I(IterableDataset):\n  def __iter__(self): return iter(range(3))\n"
                       "print(list(DataLoader(I())))")
    done, profile = test.traced([PYTHON, "-c", iterable], GPUPROF_APPLY="num_workers=2")
    test.check(done.stdout.count("tensor") == 3, "an IterableDataset is not multiplied", done.stdout)
    test.check(facts(profile).get("apply.num_workers", "").startswith("refused"), "and it is said",
               facts(profile))
    code = HEAD + ("print(len(list(DataLoader(Data(), num_workers=2, prefetch_factor=4, timeout=60, "
                   "persistent_workers=True, multiprocessing_context='spawn'))))")
    done, profile = test.traced([PYTHON, "-c", code], GPUPROF_APPLY="num_workers=0")
    test.check(done.returncode == 0 and done.stdout.strip().isdigit(),
               "without workers, what is for them is left out", done.stderr[-500:])
    test.check(facts(profile).get("apply.num_workers") == "applied: 2 -> 0", "and it is said, too",
               facts(profile))


def ddp(test):
    code = ("import torch.distributed as d\n"
            f"d.init_process_group('gloo', 'file://' + {test.path('meet')!r} + str(os.getpid()),"
            " rank=0, world_size=1)\n"
            "m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))\n"
            "m(torch.ones(1, 2)).sum().backward(); print('done')\n")
    if test.run([PYTHON, "-c", HEAD + code]).returncode:
        print("        no gloo here: DDP left out")
        return
    profile = test.same("DDP", [PYTHON, "-c", HEAD + code])
    test.check("bucket_bytes_cap" in facts(profile).get("torch.ddp", ""), "settings of DDP",
               facts(profile))


def children(test):
    """Each in a process of its own, all from one that has imported PyTorch."""
    cases = []
    for number, (what, code) in enumerate(SAME.items()):
        if what not in ALONE:
            cases.append(f"{what}={test.write(f'case{number}.py', code + chr(10))}")
    profile = test.same("children", [PYTHON, test.write("same.py", HEAD + CHILDREN), *cases])
    test.check(query(profile, "SELECT count(*) FROM process")[0][0] > len(cases) // 2,
               "children that record anything are in the profile", query(profile, "SELECT pid FROM process"))


def main():
    if not have_torch():
        print("no PyTorch for", PYTHON)
        sys.exit(77)
    test = Test(sys.argv[1])
    script = test.write("train.py", TRAIN)
    plain = main_process(test, script)
    settings(test)
    profiler_of_its_own(test)
    obeyed(test, script, plain)
    if "seen" in sys.argv[2:]:
        test.done()
    workers(test, script)
    scripts_for_a_card(test)
    ddp(test)
    for what in ALONE:
        test.same(what, [PYTHON, test.write("same.py", HEAD + SAME[what] + "\n")], races=what in RACES)
    children(test)
    test.done()


if __name__ == "__main__":
    main()
