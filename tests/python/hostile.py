#!/usr/bin/env python3
"""The Python hook in programs whose names, numbers and settings are hostile: bytes that are no text, objects that fail when
somebody looks at them, texts of megabytes. The program prints what it prints without gpuprof, ends as without it, and the
profile can be read. Random; the seed is printed.

usage: hostile.py BUILD [TIMES [SEED]]
"""
import json
import os
import random
import re
import sys

import fake_torch
from support import PYTHON, Test, facts, health

PROGRAM = r"""
import random, sys, torch
from torch.nn.utils import clip_grad_norm_
r, looks = random.Random(int(sys.argv[1])), random.Random()  # how often somebody looks is no matter of the program's

class Fails(str):
    def __str__(self, *how): raise looks.choice(ERRORS)("looked at")
    __repr__ = __bool__ = __int__ = __index__ = __len__ = __eq__ = __lt__ = __format__ = __str__
    __hash__ = str.__hash__

class Silent(Exception):
    def __repr__(self): raise ValueError("no words")
    __str__ = __repr__

class Surrogate(Exception):
    def __repr__(self): return "\udc80\ud800"
    __str__ = __repr__

class Attribute:
    def __getattr__(self, name): raise looks.choice(ERRORS)(name)

class Other:
    def __get__(self, one, owner): raise Silent()

ERRORS = [ValueError, Silent, Surrogate, RuntimeError, AttributeError]
TEXTS = ["", "x", "\udc80", "\ud800\udfff", "\0", "a\0b", "\n\r\x1b[31m", "=;,=;", "a" * 3000000, "\u202e", "%s%n", "\U0010ffff" * 70000]
NUMBERS = [0, -1, 1 << 31, -(1 << 63), 1 << 64, 10 ** 4000, float("nan"), float("inf"), 1e308, True, None]
def text(): return r.choice(TEXTS)
def value(): return r.choice([lambda: r.choice(NUMBERS), text, Fails, Attribute, lambda: [], lambda: b"\xff", lambda: type])()
def named(base, **members):
    name = text().replace("\0", "0")
    try:
        made = type(name, (base,), members)
    except UnicodeError:  # Python itself takes no such name
        made = type("x", (base,), members)
    for key in "__module__", "__qualname__":
        if r.random() < 0.5:
            try: setattr(made, key, r.choice([text(), value()]) if key == "__module__" else text())
            except Exception: pass
    return made

class Data(list):
    pass
data = named(Data)(torch.Tensor(pinned=r.random() < 0.5) for _ in range(3))
model = named(torch.nn.Module)()
optimizer = named(torch.optim.SGD)([torch.nn.Parameter("cuda")], lr=value(), foreach=value(), fused=value())
torch.__version__ = r.choice(["2.9.0", text(), value()])
for place, names in ((torch.backends.cudnn, ("benchmark", "deterministic")), (torch.backends, ("fp32_precision",)), (torch.backends.cuda.matmul, ("fp32_precision",))):
    for name in names:
        if r.random() < 0.4: setattr(place, name, value())
loader = torch.utils.data.DataLoader(data)
for name in "num_workers", "batch_size", "prefetch_factor", "persistent_workers", "pin_memory":
    if r.random() < 0.3: setattr(loader, name, value())
if r.random() < 0.3: model.training = value()
if r.random() < 0.3: optimizer.param_groups[0][text()] = value()
if r.random() < 0.2: optimizer.defaults = value()
ddp = torch.nn.parallel.DistributedDataParallel(model)
for name in "bucket_bytes_cap", "static_graph", "gradient_as_bucket_view":
    if r.random() < 0.3: setattr(ddp, name, value())
for step in range(4):
    for x in loader:
        x = x.to("cuda")
        if r.random() < 0.3: x.shape = value()
        if r.random() < 0.3: x.dtype = value()
        optimizer.zero_grad()
        loss = torch.Tensor("cuda", ())
        loss.backward()
        clip_grad_norm_([], 1.0)
        optimizer.step()
        print(step, loss.item())
print("over", r.random())
"""
SETTINGS = ["num_workers", "pin_memory", "precision", "optimizer", "zero_grad", "set_to_none", "cudnn_benchmark", "non_blocking", "bucket_cap_mb",
            "prefetch_factor", "persistent_workers", "channels_last", "compile", "static_graph", "no_such"]


def hostile_settings(r):
    """At most four parts of 30,000 bytes: Linux takes 131,072 bytes for one variable (execve(2), MAX_ARG_STRLEN)."""
    def part():
        values = [b"1", b"-1", b"9" * 400, b"", b"\xff\xfe", b"1e999", b"x" * 30000, b"\x1b[31m", b"tf32", b"fused", b"True", b"\xed\xa0\x80"]
        name = r.choice([r.choice(SETTINGS).encode(), bytes(r.randrange(1, 256) for _ in range(r.randrange(9)))])
        return name + r.choice([b"=", b"=", b"", b"=="]) + r.choice(values)
    return r.choice([b";", b","]).join(part() for _ in range(r.randrange(5)))


# what else the hook and the agent read of the environment
VARIABLES = ["GPUPROF_WINDOW", "GPUPROF_LINES", "GPUPROF_STACKS", "GPUPROF_HOOK", "GPUPROF_MODULES", "GPUPROF_MEMORY", "GPUPROF_PYTHON", "GPUPROF_CUPTI",
             "GPUPROF_CUPTI_PAUSES", "GPUPROF_CHAIN_NVTX", "GPUPROF_CHAIN_INJECTION", "PYTHONPYCACHEPREFIX", "OMP_NUM_THREADS"]
# `gpuprof run` refuses unknown values of these, so that they come from behind it
REFUSED = {"GPUPROF_LINES", "GPUPROF_STACKS", "GPUPROF_HOOK", "GPUPROF_CUPTI_PAUSES"}


def hostile_environment(r):
    def value():
        return r.choice([b"", b"0", b"1", b"-1", b"steps", b"every=", b"every=0,window=-1", b"every=9999999999999999999,window=1", b"/",
                         b"9" * 400, b"\xff\xfe/\xed\xa0\x80", b"x" * 60000, b"%s%n", b"a:b;c=d,,", bytes(r.randrange(1, 256) for _ in range(40))])
    return {name: os.fsdecode(value()) for name in r.sample(VARIABLES, r.randrange(4))}


def comparable(text):
    return re.sub(r"0x[0-9a-f]+", "0x", text)


def one(test, program, path, seed):
    r = random.Random(seed)
    variables = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **hostile_environment(r)}
    late = ["env", *(f"{name}={variables.pop(name)}" for name in sorted(REFUSED & variables.keys()))]
    plain = test.run([PYTHON, program, str(seed)], **variables)
    # settings change what a program does, so half of the runs have none and are compared to the byte
    if r.random() < 0.5:
        variables["GPUPROF_APPLY"] = os.fsdecode(hostile_settings(r))
    done, profile = test.traced([*late, PYTHON, program, str(seed)], **variables)
    what = f"seed {seed}, {[word[:80] for word in late[1:]]}" + "".join(
        f", {name}={value[:60]!r}" for name, value in variables.items() if not name.startswith("PYTHON"))
    if "GPUPROF_APPLY" in variables:
        test.check(done.returncode >= 0 and "python-hook" not in done.stderr and "gpuprof_" not in done.stderr, f"{what}: no fault of ours",
                   f"{done.returncode} {done.stderr[-500:]}")
    else:
        same = (plain.returncode, comparable(plain.stdout), comparable(plain.stderr)) == (done.returncode, comparable(done.stdout), comparable(done.stderr))
        test.check(same, f"{what}: as without gpuprof", f"{plain.returncode} {plain.stderr[-300:]} and {done.returncode} {done.stderr[-700:]}")
    faults = [text for code, text in health(profile) if code == "python-hook" and "PyTorch hook" in text[12:]]
    test.check(not faults, f"{what}: what fails is said in words", faults)
    answer = test.run([test.gpuprof, "analyze", "--json", profile])
    try:
        json.loads(answer.stdout)
        good = answer.returncode == 0
    except ValueError:
        good = False
    test.check(good, f"{what}: the profile can be read", f"{answer.returncode} {answer.stderr[-300:]}")


def folder_without_text(test):
    """PyTorch lies in a folder whose name is no UTF-8."""
    folder = os.path.join(test.folder.name, "caf\udce9")
    os.rename(fake_torch.write(test, "plain"), folder)
    done, profile = test.traced([PYTHON, test.path("hostile.py"), "2"], PYTHONPATH=folder)
    faults = [text for code, text in health(profile) if code == "python-hook" and "UnicodeEncodeError" in text]
    test.check(done.returncode == 0 and not faults and "torch.version" in facts(profile), "a folder whose name is no UTF-8: PyTorch is seen",
               f"{done.returncode} {done.stderr[-300:]} {faults}")


def main():
    test = Test(sys.argv[1])
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    first = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(1 << 30)
    path, program = fake_torch.write(test, "fake"), test.write("hostile.py", PROGRAM)
    path = os.path.dirname(os.path.join(path, ""))
    for seed in range(first, first + times):
        one(test, program, path, seed)
    folder_without_text(test)
    test.done()


main()
