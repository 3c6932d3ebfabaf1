#!/usr/bin/env python3
"""Time by line of a Python program: one function that sleeps, one that computes, one that starts a program, between pieces of work
for the GPU. What the recorder sees of them from outside is in the profile; the program notices nothing."""
import os
import platform
import sqlite3
import sys

from support import Build, Checks, DEVICE

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
from fake_torch import FILES  # noqa: E402

PROGRAM = """import ctypes, subprocess, sys, time
cuda = ctypes.CDLL("libcudart.so.12")
place, size = ctypes.c_void_p(), ctypes.c_size_t(1 << 26)
assert cuda.cudaMalloc(ctypes.byref(place), size) == 0

def work():
    for kind in range(3):
        cuda.cudaMemset(place, kind, size)
    cuda.cudaDeviceSynchronize()

def sleeps():
    time.sleep(0.03)  # LINE sleeps

def computes():
    end = time.thread_time() + 0.005
    while time.thread_time() < end:  # LINE computes
        pass

def starts():
    subprocess.run(["sleep", "0.02"])  # LINE starts

for step in range(40):
    work()
    sleeps()
    computes()
    starts()
print("done", sys.gettrace(), len(sys._current_frames()))
sys.exit(3)
"""
# Work that three lines launch, in a loop whose steps the hook marks. "torch" is a stand-in: its import loads the hook.
LAUNCHES = """import ctypes, sys, torch
cuda = ctypes.CDLL("libcudart.so.12", mode=ctypes.RTLD_GLOBAL)
every = ctypes.CDLL(None)  # as a library that links the runtime finds it
place, size = ctypes.c_void_p(), ctypes.c_size_t(1 << 20)
assert cuda.cudaMalloc(ctypes.byref(place), size) == 0

class Net(torch.nn.Module):
    def forward(self):
        every.cudaMemset(place, 1, size)  # LINE one
        for _ in range(2):
            every.cudaMemset(place, 2, size)  # LINE two
net = Net()

optimizer = torch.optim.SGD([torch.nn.Parameter("cuda")])
for step in range(60):
    net()
    every.cudaMemset(place, 3, size)  # LINE three
    optimizer.step()
cuda.cudaDeviceSynchronize()
print("done", sys.gettrace(), sys.getprofile())
sys.exit(3)
"""
ASLEEP, RUNNING, READY, DISK = range(4)
# Runs its arguments where nobody may call process_vm_readv (310 on x86-64), as containers' seccomp profiles have it.
CONFINED = """import ctypes, os, struct, sys
rules = b"".join(struct.pack("HBBI", *rule) for rule in
                 ((0x20, 0, 0, 0), (0x15, 0, 1, 310), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7fff0000)))
kept = ctypes.create_string_buffer(rules)
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("rules", ctypes.c_void_p)]
libc, filters = ctypes.CDLL(None), Filter(4, ctypes.cast(kept, ctypes.c_void_p))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(filters)):
    sys.exit("no seccomp")
os.execvp(sys.argv[1], sys.argv[1:])
"""


def line_of(mark, program=PROGRAM):
    """Of the program, from 1."""
    return next(i + 1 for i, line in enumerate(program.splitlines()) if line.endswith(f"# LINE {mark}"))


def looks(db, function, line=None):
    """By state: how many looks found the thread in this function of the program, whatever it called there."""
    rows = db.execute("""WITH RECURSIVE up(sample, frame) AS (SELECT id, stack FROM stack_sample WHERE stack > 0
        UNION ALL SELECT up.sample, k.caller FROM up JOIN stack k ON k.id = up.frame WHERE k.caller > 0)
        SELECT s.state, sum(s.looks), min(k.line), max(k.line) FROM up JOIN stack_sample s ON s.id = up.sample
        JOIN stack k ON k.id = up.frame JOIN string u ON u.id = k.function JOIN string f ON f.id = k.file
        WHERE u.text = ? AND f.text LIKE '%/program.py' AND k.line BETWEEN ? AND ? GROUP BY s.state""",
                      (function, line or 1, (line or 999) + (function == "computes"))).fetchall()
    return {state: n for state, n, *_ in rows}


def check_samples(checks, db):
    asleep = looks(db, "sleeps", line_of("sleeps"))
    checks.check(asleep.get(ASLEEP, 0) > 20, "sleeps() is asleep, at its line", str(asleep))
    computes = looks(db, "computes", line_of("computes"))
    checks.check(computes.get(RUNNING, 0) + computes.get(READY, 0) > computes.get(ASLEEP, 0),
                 "computes() computes, or waits for a core", str(computes))
    starts = looks(db, "starts", line_of("starts"))
    checks.check(starts.get(ASLEEP, 0) > 10, "starts() is asleep in another program", str(starts))
    module = looks(db, "<module>")
    checks.check(sum(module.values()) >= sum(asleep.values()) + sum(starts.values()), "all stacks begin in the program", str(module))
    calls = db.execute("SELECT DISTINCT t.text FROM stack_sample s JOIN string t ON t.id = s.call JOIN stack k ON k.id = s.stack "
                       "JOIN string u ON u.id = k.function WHERE u.text = 'sleeps' AND s.state = 0").fetchall()
    checks.check(calls == [("nanosleep",)], "sleeps() sleeps in nanosleep", str(calls))
    outside = db.execute("SELECT count(*) FROM stack_sample s JOIN process p ON p.id = s.process WHERE s.start_ns < p.start_ns "
                         "OR s.end_ns > p.end_ns OR s.end_ns < s.start_ns").fetchone()
    checks.check(outside == (0,), "no sample lies outside its process", str(outside))
    source = db.execute("SELECT DISTINCT s.text FROM stack k JOIN string s ON s.id = k.source WHERE k.line = ? AND s.text <> ''", (line_of("starts"),)).fetchall()
    checks.check(source == [('subprocess.run(["sleep", "0.02"])  # LINE starts',)], "the profile has the text of a line", str(source))
    hook = db.execute("SELECT count(*) FROM stack k JOIN string f ON f.id = k.file WHERE f.text LIKE '%/gpuprof\_%' ESCAPE '\\'").fetchone()
    checks.check(hook == (0,), "no frame is the hook's", str(hook))


def check_answer(checks, analysis):
    """The GPU idles in these lines, and each is named with what it does."""
    step = analysis["lines"]["step"]["lines"]
    of = {line["function"]: line for line in reversed(step)}  # the line that takes most of it
    checks.check(set(of) >= {"sleeps", "computes", "starts"}, "the three functions are named", str(list(of)))
    for name, calls in ("sleeps", None), ("starts", "subprocess.run"):
        line = of.get(name, {})
        checks.check(line.get("place") == f"program.py:{line_of(name)}" and line.get("calls") == calls, f"{name}() at its line",
                     str(line))
        checks.check(line.get("does_ms", {}).get("sleeps", 0) * 2 > line.get("ms", 0), f"{name}() sleeps", str(line))
    total = sum(line["ms"] for line in step)
    checks.check(0 < total <= analysis["lines"]["step"]["ms"] * 1.001, "the lines take no more than there is", str(total))
    checks.check("program.py:" in analysis["why"], "the verdict names a line", analysis["why"])


def check_confined(build, checks, command, out):
    if platform.machine() != "x86_64":
        return
    done = build.run([sys.executable, "-c", CONFINED, *command])
    checks.check(done.returncode == 3 and done.stdout.startswith("done"), "without process_vm_readv: same output and status",
                 done.stdout + done.stderr[-300:])
    with sqlite3.connect(out) as db:
        said = db.execute("SELECT count(*), min(text) FROM health_note WHERE code = 'no-samples'").fetchone()
        rows = db.execute("SELECT (SELECT count(*) FROM stack_sample), (SELECT count(*) FROM memset)").fetchone()
    checks.check(said[0] == 1 and "seccomp" in said[1], "... the health table says so, once", str(said))
    checks.check(rows[0] == 0 and rows[1] >= 120, "... and all the rest is there", str(rows))


def check_launches(build, checks):
    """Launches of single steps carry their lines, and only those."""
    script, out = build.path("launches.py"), build.path("launches.gpuprof")
    with open(script, "w", encoding="utf-8") as file:
        file.write(LAUNCHES)
    for name, text in FILES.items():
        os.makedirs(os.path.dirname(build.path(name)), exist_ok=True)
        with open(build.path(name), "w", encoding="utf-8") as file:
            file.write(text)
    command = [build.gpuprof, "run", "-q", "-f", "--device", DEVICE, "-o", out, "--", sys.executable, script]
    plain = build.run([build.gpuprof, "run", "--no-record", "--device", DEVICE, "--", sys.executable, script])
    done = build.run(command)
    checks.check((done.stdout, done.returncode) == (plain.stdout, 3), "launches: same output and status", done.stdout + done.stderr[-300:])
    with sqlite3.connect(out) as db:
        rows = db.execute("SELECT line, function, way, launches FROM line_gpu_time WHERE file = ? ORDER BY line", (script,)).fetchall()
        n = rows[0][3] if rows else 0
        wanted = [(line_of("one", LAUNCHES), "Net.forward", "own", n), (line_of("two", LAUNCHES), "Net.forward", "own", 2 * n),
                  (line_of("three", LAUNCHES), "<module>", "own", n)]
        checks.check(rows == wanted, "launches: each line with its work", f"{rows} {wanted}")
        checks.check(5 <= n < 60, "launches: in single steps", str(n))
        share = db.execute("SELECT sum(stack > 0) * 1.0 / count(*) FROM launched").fetchone()[0]
        checks.check(share == 1.0, "launches: none without a line", str(share))
        if sys.version_info >= (3, 11):  # its name is known after the first step
            modules = db.execute("SELECT module, launches FROM module_gpu_time ORDER BY module").fetchall()
            checks.check(modules in ([("", 4 * k), ("Net", 3 * (n - k)), ("outside a module", n - k)] for k in (1, 2, 3)), "launches: each in its module", str(modules))
        said = db.execute("SELECT text FROM health_note WHERE code IN ('no-launch-lines', 'python-hook')").fetchall()
        checks.check(said == [], "launches: no trouble", str(said))
    build.run(command, GPUPROF_LINES="0")
    with sqlite3.connect(out) as db:
        n = db.execute("SELECT count(*) FROM launch_line").fetchone()
        checks.check(n == (0,), "GPUPROF_LINES=0: none", str(n))


def main():
    build, checks = Build(sys.argv[1]), Checks()
    script, out = build.path("program.py"), build.path("lines.gpuprof")
    with open(script, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    plain = build.run([build.gpuprof, "run", "--no-record", "--device", DEVICE, "--", sys.executable, script])
    command = [build.gpuprof, "run", "-q", "-f", "--device", DEVICE, "-o", out, "--", sys.executable, script]
    done = build.run(command)
    checks.check((done.stdout, done.returncode) == (plain.stdout, 3), "same output and status", done.stdout + done.stderr[-300:])
    with sqlite3.connect(out) as db:
        check_samples(checks, db)
    check_answer(checks, build.analyze(out))
    check_confined(build, checks, command, out)
    build.run(command, GPUPROF_SAMPLES="0")
    with sqlite3.connect(out) as db:
        n = db.execute("SELECT (SELECT count(*) FROM stack_sample) + (SELECT count(*) FROM stack)").fetchone()
        checks.check(n == (0,), "GPUPROF_SAMPLES=0: none", str(n))
    check_launches(build, checks)
    checks.done()


if __name__ == "__main__":
    main()
