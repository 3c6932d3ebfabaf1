#!/usr/bin/env python3
"""torch.profiler in the script and gpuprof around it: the trace that the profiler writes, imported by gpuprof, must agree with
gpuprof's own profile of the same run: the same kernels and copies in the same order, their times, and the steps. Kineto by both of
CUPTI's activity interfaces, and PyTorch's profiler that is a subscriber of the second one, if cupti-python is there.

usage: kineto.py BUILD [NAME ...]     with names: only if 'kineto' is among them

GPUPROF_TORCH names the Python with a CUDA build of PyTorch 2; exit status 77 without it.
"""
import os
import sqlite3
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../../tests/e2e"))
from support import Build, Checks  # noqa: E402

SCRIPT = os.path.join(HERE, "scripts", "profiled.py")
STEPS = 6  # that the profiler of the script records
LENGTH_NS = 20  # of one kernel: it tells the steps apart
CLOCK_NS = 2000  # Kineto writes microseconds with three decimals, and converts clocks
STEP_NS = 20000  # its marks lie beside the hook's


def rows(path, sql):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    found = db.execute(sql).fetchall()
    db.close()
    return found


def kernels(path):
    return rows(path, "SELECT k.start_ns, k.end_ns - k.start_ns, s.text, grid_x, grid_y, grid_z, block_x, block_y, block_z "
                      "FROM kernel k JOIN string s ON s.id = k.name ORDER BY k.start_ns, k.id")


def copies(path):
    return rows(path, "SELECT start_ns, end_ns - start_ns, kind, bytes FROM copy ORDER BY start_ns, id")


def find(whole, part, shape):
    """Finds where the rows of `part` lie consecutively in `whole`: with the same `shape`, and lengths that agree within LENGTH_NS."""
    whole_shapes, part_shapes = [shape(r) for r in whole], [shape(r) for r in part]
    for i in range(len(whole) - len(part) + 1):
        if whole_shapes[i:i + len(part)] == part_shapes and all(
                abs(whole[i + k][1] - r[1]) <= LENGTH_NS for k, r in enumerate(part)):
            return whole[i:i + len(part)]
    return None


def close_times(own, theirs):
    """Returns the largest difference, in ns, of the lengths and of the starts relative to the first."""
    return max(max(abs(a[1] - b[1]), abs((a[0] - own[0][0]) - (b[0] - theirs[0][0]))) for a, b in zip(own, theirs))


def compare_work(checks, own, theirs):
    ours, seen = kernels(own), kernels(theirs)
    checks.check(len(seen) >= STEPS * 50, f"the trace has {len(seen)} kernels of {len(ours)}")
    # the six steps do the same work: find those of these times
    part = find(ours, seen, lambda k: k[3:])
    if not checks.check(part, "its kernels are in the profile, in order, with their launches and times"):
        return
    names = {(a[2], b[2]) for a, b in zip(part, seen)}
    checks.check(len(names) == len({a for a, _ in names}) == len({b for _, b in names}),
                 f"{len(names)} names, each of one kernel in both", str(names)[:400])
    checks.check(close_times(part, seen) <= CLOCK_NS, f"kernels start and end within {CLOCK_NS} ns of each other",
                 f"{close_times(part, seen)} ns")
    total = [sum(k[1] for k in x) for x in (part, seen)]
    checks.check(abs(total[0] - total[1]) <= len(seen), f"GPU time {total[1] / 1e6:.3f} ms in both", str(total))
    part, seen = find(copies(own), copies(theirs), lambda c: c[2:]), copies(theirs)
    checks.check(part and close_times(part, seen) <= CLOCK_NS, f"its {len(seen)} copies are in the profile, with their times")


def compare_steps(checks, build, own, theirs):
    """The trace does not contain what came before its first step."""
    sql = "SELECT to_ns - from_ns, compute_ns FROM step ORDER BY id"
    build.analyze(theirs)
    ours, seen = rows(own, sql), rows(theirs, sql)
    checks.check(len(seen) == STEPS, f"{len(seen)} steps in the trace")
    # compute is the sum of the kernels, exact in both: it says which steps these are
    at = [i for i in range(len(ours)) if [c for _, c in ours[i:i + STEPS]] == [c for _, c in seen]]
    near = at or [i for i in range(len(ours) - STEPS + 1)
                  if all(abs(ours[i + k][1] - seen[k][1]) <= 1000 for k in range(STEPS))]
    if checks.check(len(near) == 1, "they are steps of the profile: each computes as long", f"{ours} {seen}"):
        apart = [abs(ours[near[0] + k][0] - seen[k][0]) for k in range(1, STEPS)]
        checks.check(max(apart) <= STEP_NS, f"each is as long in both, within {STEP_NS} ns", str(apart))


def one(checks, build, python, device, interface, *backend):
    print(device, *backend)
    own, trace, theirs = build.path("own.gpuprof"), build.path("trace.json"), build.path("trace.gpuprof")
    done = build.run([build.gpuprof, "run", "-q", "-f", "--device", device, "-o", own, "--", python, SCRIPT, trace, *backend])
    checks.check(done.returncode == 0, "the script ends with status 0", done.stderr[-1500:])
    used = rows(own, "SELECT v.text FROM meta m JOIN string k ON k.id = m.key JOIN string v ON v.id = m.value "
                     "WHERE k.text = 'cupti_interface'")
    checks.check(used and used[-1][0] == str(interface), f"gpuprof uses CUPTI's interface {interface}", str(used))
    trace += ".gz" if backend else ""
    done = build.run([build.gpuprof, "import", "-f", "-o", theirs, trace])
    if checks.check(done.returncode == 0, "gpuprof reads the trace", done.stderr[-400:]):
        build.analyze(own)
        compare_work(checks, own, theirs)
        compare_steps(checks, build, own, theirs)
        answers = [build.analyze(x) for x in (own, trace)]
        classes = [a["verdict_class"] for a in answers]
        checks.check(classes[0] == classes[1] or "contention" in classes, f"both say '{classes[1]}'", str(classes))


def main():
    python = os.environ.get("GPUPROF_TORCH")
    if not python:
        print("skipped: Kineto's trace: set GPUPROF_TORCH to a Python with a CUDA build of PyTorch 2")
        sys.exit(77)
    if sys.argv[2:] and "kineto" not in sys.argv[2:]:
        sys.exit(77)
    build, checks = Build(sys.argv[1]), Checks()
    build.env.pop("GPUPROF_TORCH", None)
    one(checks, build, python, "virtual:h100", 1)
    one(checks, build, python, "virtual:h100,cupti=13.4", 2)
    if subprocess.run([python, "-c", "import cupti.cupti, torch.profiler._cupti.monitor"], capture_output=True).returncode == 0:
        one(checks, build, python, "virtual:h100,cupti=13.4", 2, "cupti_monitor")
    else:
        print("skipped: PyTorch's monitor: no cupti-python, or a PyTorch before 2.14")
    checks.done()


main()
