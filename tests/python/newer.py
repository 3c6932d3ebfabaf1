#!/usr/bin/env python3
"""The Python hook against a stand-in for PyTorch 2.9 with a GPU (fake_torch.py): what it wraps there,
what it says of it, which settings it obeys, and that a compiler finds nothing of it.

usage: newer.py BUILD
"""
import os
import subprocess
import sys

import fake_torch
from support import PYTHON, Test, facts, health, query

TRAIN = """
import sys, torch, torch.distributed.fsdp; state = torch.distributed.fsdp._fsdp_state.FSDPState()
from torch.nn.utils import clip_grad_norm_
from torch.utils.checkpoint import checkpoint
WITH_COMPILE = "compile" in sys.argv
model = torch.nn.Module()
weights = [torch.nn.Parameter("cuda"), torch.nn.Parameter("cuda", (5,))]; torch.nn.Parameter(shape=(64, 3, 7, 7)).to("cuda")
if WITH_COMPILE:
    model = torch.compile(model, mode="reduce-overhead")
ddp = torch.nn.parallel.DistributedDataParallel(model, static_graph=True)
opt = (torch.optim.Nested if "nested" in sys.argv else torch.optim.SGD)(weights)
if "nested" in sys.argv: torch.optim.SGD(weights)
def pure(x): return helper(x)
def helper(x): return x
def update(): opt.step()
if "pure" in sys.argv: torch.compile(pure)(1)
if "function" in sys.argv: torch.compile(lambda: update())()
if "bound" in sys.argv: torch.compile()(opt.step)()
scaler = torch.amp.GradScaler() if hasattr(torch.amp, "GradScaler") else torch.amp.grad_scaler.GradScaler()
loader = torch.utils.data.DataLoader([torch.Tensor(pinned=True) for _ in range(4)])
print(loader.num_workers, loader.prefetch_factor, loader.persistent_workers, loader.pin_memory)
for x in loader:  # line 22
    before = x; state._root_pre_forward(model, (), {})
    x = x.to("cuda", memory_format=torch.channels_last)
    print(x.calls, x.format)
    opt.zero_grad()
    if "autocast" in sys.argv:
        with torch.autocast("cuda", dtype=torch.bfloat16):  # line 28
            pass
    checkpoint(lambda: None, use_reentrant=False)
    with ddp.no_sync():
        loss = torch.Tensor("cuda", ())
    scaler.scale(loss).backward()
    clip_grad_norm_(weights, 1.0)
    scaler.step(opt)
    loss.item()  # line 36
    print(loss, f"{loss:.1f}", bool(loss), loss.to("cpu").device)
    torch.cuda.synchronize()  # line 38
    loss.to("cpu", None, True); loss.to("cpu", non_blocking=True)
model.eval()
for x in loader:
    loss = torch.Tensor("cuda", ())
    loss.requires_grad = True
    loss.item()  # line 44
torch.cuda.graphs.CUDAGraph().replay()
torch.nn.parallel.data_parallel.DataParallel().forward(1)
print(opt.param_groups[0]["fused"], opt.param_groups[0]["foreach"], weights[0].format,
      torch.backends.cuda.matmul.fp32_precision, torch.backends.cudnn.benchmark)
"""


# What hook.h promises of what is watched, asked of the agent itself.
CONTRACT = """
import ctypes, gc, sys, types, weakref
agent = ctypes.PyDLL(None)
p, n, s = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
agent.gpuprof_hook_wrap.restype = ctypes.py_object
agent.gpuprof_hook_wrap.argtypes = [ctypes.py_object, n, s, s, p]
agent.gpuprof_hook_attach.restype = p
agent.gpuprof_hook_attach.argtypes = [ctypes.py_object, n, s, s, n, p]
agent.gpuprof_hook_detach.argtypes = [p]
KINDS = NOTE, AFTER, RESULT, RANGE = [agent.gpuprof_hook_kind(k) for k in (b"NOTE", b"AFTER", b"RESULT", b"RANGE")]
def attach(f, kind, note=None):
    return agent.gpuprof_hook_attach(f, kind, b"name", b"", 1, id(note) if note else None)
def wrap(f, kind, note=None):
    return agent.gpuprof_hook_wrap(f, kind, b"name", b"", id(note) if note else None)
def plain(a, b=2):
    if a is None: raise LookupError("none")
    return a + b
def watched(kind, note=None):
    # plain itself, then another one in its place: both are asked the same
    handle = attach(plain, kind, note)
    yield plain
    agent.gpuprof_hook_detach(handle)
    yield wrap(plain, kind, note)
heard = []
def twice(*args, **kwargs):
    heard.append((args, kwargs))
    return len(heard) % 2 == 0
for f in watched(NOTE, twice): print([f(1), f(1, b=5), f(2)], heard)
for f in watched(AFTER, print): f(1, 1)
for f in watched(RESULT, print): f(3)
for error in (ValueError, KeyboardInterrupt, SystemExit):
    def note(*args): raise error("in a note")
    for kind in (NOTE, AFTER, RESULT):
        for f in watched(kind, note):
            try: print(error.__name__, KINDS.index(kind), f(1))
            except BaseException as what:
                print(error.__name__, KINDS.index(kind), "came through", what.__traceback__.tb_next is None)
for kind in (NOTE, AFTER, RESULT, RANGE):
    for f in watched(kind):
        try: f(None)
        except LookupError as what: print(KINDS.index(kind), what, what.__traceback__.tb_next.tb_next is None)
class C:
    def m(self, x): return (self.y, x)
    y = 4
was = vars(C)["m"]
handle = attach(was, RANGE)
print(C().m(5), C.m(C(), 6), C.m.__name__, vars(C)["m"] is was, isinstance(was, types.FunctionType))
agent.gpuprof_hook_detach(handle)
print(type(was) is types.FunctionType, C().m(7))
gone = weakref.ref(was)
del C.m, was
print(gone() is None)
for f in (len, str.upper, dict.fromkeys, print, C, C(), None, 3, staticmethod(plain)):
    print(bool(attach(f, NOTE)), end=" ")
print(len([1]), "x".upper(), bool(attach(types.FunctionType(plain.__code__, {}), NOTE)))
class Callable:
    def __call__(self): return 1
held, note = Callable(), Callable()
gone = [weakref.ref(held), weakref.ref(note)]
f = wrap(held, NOTE, note)
del held, note
print(f(), f.__class__ is Callable, [r() is None for r in gone])
del f
gc.collect()
print([r() is None for r in gone])
before = sys.getrefcount(plain), sys.getrefcount(twice), sys.getrefcount("b")
handle = attach(plain, NOTE, lambda *a, **k: None)
for i in range(100000): plain(1, b=i)
after = sys.getrefcount(plain), sys.getrefcount(twice), sys.getrefcount("b")
print([b - a for a, b in zip(before, after)])
print([bool(attach(plain, kind)) for kind in (-1, 1000)], wrap(plain, 1000) is plain, agent.gpuprof_hook_kind(b"NONE"))
"""

# A second optimizer takes the place of the first one: in a full row of them no other is free.
REPLACED = """
import torch
weights = [torch.nn.Parameter("cuda")]
row = [torch.optim.SGD(weights) for _ in range(2000)]
for at in range(1000, 1040):  # which of the free places comes next is the allocator's matter
    row[at].step()
    place, names = id(row[at]), sorted(vars(row[at]))
    row[at] = None
    others = []
    while len(others) < 5000 and place not in map(id, others[-1:]): others.append(torch.optim.Nested(weights))
    if id(others[-1]) == place: break
print(id(others[-1]) == place, names == sorted(vars(others[-1])))
others[-1].step()
"""


def contract(test, python):
    done, profile = test.traced([python, test.write("contract.py", CONTRACT)])
    want = "[3, 6, 4] [((1,), {}), ((1,), {'b': 5})]\n"
    want += "[3, 6, 4] [((1,), {}), ((1,), {'b': 5}), ((1,), {}), ((1,), {'b': 5})]\n"
    want += "1 1\n1 1\n5\n5\n"
    want += "".join(f"ValueError {kind} 3\n" * 2 for kind in range(3))
    for error in ("KeyboardInterrupt", "SystemExit"):
        want += "".join(f"{error} {kind} came through True\n" * 2 for kind in range(3))
    want += "".join(f"{kind} none True\n" * 2 for kind in range(4))
    want += "(4, 5) (4, 6) m True True\nTrue (4, 7)\nTrue\n"
    want += "True True False True False False False False False 1 X True\n"
    want += "1 True [False, False]\n[True, True]\n[1, 0, 0]\n[False, False] True -1\n"
    test.check(done.stdout == want, "what is watched does what hook.h says",
               f"{done.stdout!r} instead of {want!r}; {done.stderr[-500:]}")


def ranges(profile):
    return dict(query(profile, "SELECT s.text, count(*) FROM range r JOIN string s "
                               "ON s.id = r.name GROUP BY s.text"))


def plain(test, program, fake):
    done = test.run(program, PYTHONPATH=fake)
    test.check(done.returncode == 0, "the stand-in works without gpuprof", done.stderr[-600:])
    profile = test.same("newer", [*program, "autocast"], PYTHONPATH=fake)
    said, marks = facts(profile), ranges(profile)
    test.check(not health(profile), "nothing in the health table", health(profile))
    for key, text in {
            "torch.loader.where": "train.py:22", "torch.batch": "float32 2x3x4x4",
            "torch.input": "float32 2x3x4x4 channels_last",
            "torch.weights.memory_format": "contiguous", "torch.autocast": "cuda bfloat16",
            "torch.autocast.where": "train.py:28", "torch.grad_scaler": "used",
            "torch.matmul.precision": "none", "torch.cudnn.precision": "none",
            "torch.attention": "flash", "torch.ddp.no_sync": "used at train.py:31",
            "torch.clip_grad": "used at train.py:34", "torch.checkpoint": "used at train.py:30",
            "torch.fsdp": "fully_shard", "torch.cuda_graph": "replayed at train.py:45",
            "torch.data_parallel": "DataParallel(device_ids=[0, 1]) at train.py:46",
            "torch.optimizer": "SGD(foreach=None, fused=None)",
            "torch.parameters": "2 tensors, 101 numbers, float32, on cuda",
            "torch.evaluation.grad_enabled": "train.py:44"}.items():
        test.check(said.get(key) == text, f"fact {key}", said.get(key))
    test.check("static_graph=True" in said.get("torch.ddp", ""), "fact torch.ddp", said)
    for name, count in {"sync .item() train.py:36": 4, "sync .to() train.py:37": 4,
                        "sync print() train.py:37": 4, "sync format() train.py:37": 4,
                        "sync bool() train.py:37": 4, "copy .to() train.py:24": 4,
                        "sync torch.cuda.synchronize() train.py:38": 4, "optimizer.step": 4,
                        "gpuprof.step": 3, "backward": 4, "zero_grad": 4}.items():
        test.check(marks.get(name) == count, f"{count} of '{name}'", marks)
    test.check(not any(":39" in name for name in marks), "copies that do not wait are none", marks)


def replaced(test, python, fake):
    profile = test.same("an optimizer in the place of another", [python, test.write("replaced.py", REPLACED)],
                        PYTHONPATH=fake)
    test.check(test.plain.stdout == "True True\n", "one is where the other was", test.plain.stdout)
    said = facts(profile).get("torch.optimizer", "")
    test.check(said.startswith("Nested("), "and is told of at its first step", said)


def compiled(test, program, fake):
    profile = test.same("compile", [*program, "compile"], PYTHONPATH=fake)
    test.check("mode='reduce-overhead'" in facts(profile).get("torch.compile", ""),
               "fact torch.compile", facts(profile))
    test.check(ranges(profile).get("gpuprof.step") == 3 and ranges(profile).get("optimizer.step") == 4,
               "its steps are seen, though the compiler took PyTorch's wrapper off", ranges(profile))
    done, profile = test.traced([*program, "compile"], PYTHONPATH=fake, GPUPROF_HOOK="steps")
    test.check(ranges(profile) == {"gpuprof.step": 3}, "GPUPROF_HOOK=steps: too", ranges(profile))
    profile = test.same("compiled function", [*program, "pure", "compile"], PYTHONPATH=fake)
    test.check(ranges(profile).get("gpuprof.step") == 3, "a compiled function that takes no step",
               ranges(profile))
    # Only Python 3.11 needs another type for what is watched, so that steps are given up there. What the compiler finds is in
    # the output, which is the same.
    version = subprocess.run([PYTHON, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=True)
    steps = None if version.stdout.split() == ["3", "11"] else 4
    for how in (["function"], ["compile", "function"], ["bound"]):
        profile = test.same(f"compiled step ({' '.join(how)})", [*program, *how], PYTHONPATH=fake)
        test.check(ranges(profile).get("gpuprof.step") == steps and not health(profile),
                   f"a compiled function finds the step as it was written; {steps} steps seen", ranges(profile))
    profile = test.same("nested", [*program, "nested"], PYTHONPATH=fake)
    test.check(ranges(profile).get("gpuprof.step") == 3, "a step inside a step is none of its own",
               ranges(profile))


def settings(test, program, fake):
    done, profile = test.traced(
        program, PYTHONPATH=fake,
        GPUPROF_APPLY="num_workers=2,prefetch_factor=4,persistent_workers=1,pin_memory=1,"
                      "non_blocking=1,cudnn_benchmark=1,precision=bf16,channels_last=1,"
                      "zero_grad=none,optimizer=fused,sync_every=9,other=1")
    said = facts(profile)
    test.check(done.returncode == 0, "settings: status", done.stderr[-600:])
    test.check(not health(profile), "nothing in the health table", health(profile))
    lines = done.stdout.splitlines()
    test.check(lines[0] == "2 4 True True", "the DataLoader's four", lines[0])
    test.check("[('to', True)] channels_last" in lines, "non_blocking", lines)
    test.check(lines[-1] == "True None channels_last none True", "optimizer, weights, switches",
               lines[-1])
    entered = [line for line in lines if line.startswith(("autocast", "backward"))]
    test.check(entered[:6] == ["autocast on torch.bfloat16", "autocast off", "backward"] * 2,
               "autocast from the batch to the backward pass", entered)
    for setting in ("num_workers", "prefetch_factor", "persistent_workers", "pin_memory",
                 "non_blocking", "cudnn_benchmark", "precision", "channels_last", "zero_grad",
                 "optimizer"):
        test.check(said.get(f"apply.{setting}", "").startswith("applied"), f"{setting} acknowledged",
                   said.get(f"apply.{setting}"))
    for setting in ("sync_every", "other"):
        test.check(said.get(f"apply.{setting}", "").startswith("refused"), f"{setting} refused",
                   said.get(f"apply.{setting}"))
    done, profile = test.traced([*program, "autocast"], PYTHONPATH=fake,
                                GPUPROF_APPLY="precision=bf16;num_workers=0")
    said = facts(profile)
    test.check(said.get("apply.precision") == "refused: the program uses autocast itself",
               "autocast of the program has precedence", said.get("apply.precision"))
    done, profile = test.traced(program, PYTHONPATH=fake, GPUPROF_APPLY="precision=tf32")
    test.check(done.stdout.splitlines()[-1].split()[3] == "tf32", "TF32 by the newer switch",
               done.stdout[-300:])


def steps_alone(test, program, fake):
    done, profile = test.traced(program, PYTHONPATH=fake, GPUPROF_HOOK="steps",
                                GPUPROF_APPLY="num_workers=1;non_blocking=1")
    marks = ranges(profile)
    test.check(marks == {"gpuprof.step": 3}, "GPUPROF_HOOK=steps: nothing but steps", marks)
    for setting in ("num_workers", "non_blocking"):
        test.check(facts(profile).get(f"apply.{setting}", "").startswith("applied"), f"and settings: {setting}",
                   facts(profile))
    test.check("[('to', True)] channels_last" in done.stdout.splitlines(), "copies no longer wait", done.stdout)


# What PyTorch would note: before the first entry 364 bytes are in use, and at the end 1,064. The entry of 64 of them is dropped.
PIECES = """
import os, sys, time, torch
memory = torch.cuda.memory
torch.cuda.memory_stats = torch.cuda.mem_get_info = None
torch.cuda.is_initialized, torch.cuda.is_current_stream_capturing = lambda: True, lambda: False
torch._C._cuda_init()
if "itself" in sys.argv: memory._record_memory_history(None)
below = {"filename": torch.__file__, "line": 1, "name": "linear"}, {"filename": "/opt/site-packages/x.py", "line": 2, "name": "x"}
frames = [*below, {"filename": __file__, "line": 5, "name": "forward"}]
memory.old.append({"filename": __file__, "line": 2, "name": "build"})
for action, size, of in ("segment_alloc", 2048, frames), ("alloc", 1000, frames), ("alloc", 500, []), ("free_requested", 300, frames), \\
        ("free_completed", 300, frames), ("free_completed", 500, []):
    memory.history.append({"action": action, "addr": 4096, "size": size, "time_us": time.time_ns() // 1000, "frames": of})
if "library" in sys.argv:  # it runs the loop: its line stands for what is asked for below the program's one call
    folder = os.path.dirname(torch.__file__)
    for part in "autograd", "optim":
        memory.history.append({"action": "alloc", "addr": 9000, "size": 8, "time_us": time.time_ns() // 1000,
                               "frames": [{"filename": f"{folder}/{part}/x.py", "line": 3, "name": "y"}, *frames[1:]]})
import atexit; atexit._run_exitfuncs()
print(memory.kept)
"""


def pieces(test, python, fake):
    program = [python, test.write("pieces.py", PIECES)]
    ask = """SELECT a.bytes, a.in_use_bytes, a.held_bytes, coalesce(f.text, ''), coalesce(n.text, ''), coalesce(s.line, 0)
             FROM allocation a LEFT JOIN stack s ON s.id = a.stack LEFT JOIN string f ON f.id = s.file
             LEFT JOIN string n ON n.id = s.function ORDER BY a.id"""
    done, profile = test.traced(program, PYTHONPATH=fake, GPUPROF_MEMORY="1")
    rows = query(profile, ask)
    test.check(rows == [(64, 364, 2048, program[1], "build", 2), (1000, 1364, 4096, program[1], "forward", 5), (500, 1864, 4096, "", "", 0),
                        (-300, 1564, 4096, "", "", 0), (-500, 1064, 4096, "", "", 0)], "pieces of memory, what is in use and held, and the program's line", rows)
    test.check("['all', None]" in done.stdout.splitlines(), "PyTorch's history is on for that time alone", done.stdout)
    done, profile = test.traced([*program, "library"], PYTHONPATH=fake, GPUPROF_MEMORY="1")
    lines = [row[3:] for row in query(profile, ask) if row[0] == 1000]
    test.check(lines == [("/opt/site-packages/x.py", "x", 2)], "where a library runs the loop its line asks", lines)
    done, profile = test.traced([*program, "itself"], PYTHONPATH=fake, GPUPROF_MEMORY="1")
    test.check(query(profile, ask) == [] and "['all', None]" in done.stdout.splitlines(),
               "a program that keeps the history itself is left alone", done.stdout)
    test.check(any("memory history" in str(text) for text in health(profile)), "and health says so", health(profile))
    done, profile = test.traced(program, PYTHONPATH=fake)
    test.check(query(profile, ask) == [] and "[]" in done.stdout.splitlines(), "nothing unless it is asked for", done.stdout)


def main():
    test = Test(sys.argv[1])
    python = PYTHON if os.path.exists(PYTHON) else sys.executable
    fake = fake_torch.write(test, "fake")
    program = [python, test.write("train.py", TRAIN)]
    contract(test, python)
    plain(test, program, fake)
    replaced(test, python, fake)
    compiled(test, program, fake)
    settings(test, program, fake)
    steps_alone(test, program, fake)
    pieces(test, python, fake)
    test.done()


if __name__ == "__main__":
    main()
