#!/usr/bin/env python3
"""SIGKILL of gpuprof: the program goes on and ends as without it. Killed in front alone, the profile becomes
whole all the same; killed with the process that records, the next run tells of what is left, and `gpuprof
import` makes a profile of it.

usage: killed.py BUILD [TIMES]
"""
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import DEVICE, Build, Checks

STEPS = 30


def start(build):
    return subprocess.Popen(
        [build.gpuprof, "run", "-q", "-f", "--device", DEVICE, "-o", "killed.gpuprof", "--", build.train,
         "--steps", str(STEPS)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=build.env,
        cwd=build.folder.name, start_new_session=True)


def recorder(pid):
    """The child that leads a session of its own."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        children = [int(p) for p in f.read().split()]
    return next(p for p in children if os.getsid(p) == p)


def kernels(profile):
    db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
    count = db.execute("SELECT count(*) FROM kernel").fetchone()[0]
    sound = db.execute("PRAGMA integrity_check").fetchone()[0]
    db.close()
    return count if sound == "ok" else -1


def in_front(build, checks, what, seconds):
    """The recorder holds stderr until it is done."""
    run = start(build)
    run.stdout.readline()
    time.sleep(seconds)
    run.kill()
    out, err = run.communicate(timeout=120)
    checks.check("median_step_ms=" in out and err == "", f"{what}: the program runs to its end", f"{out!r} {err!r}")
    left = os.listdir(build.folder.name)
    checks.check(left == ["killed.gpuprof"], f"{what}: the profile is there, and nothing else", str(left))
    if left == ["killed.gpuprof"]:
        checks.check(kernels(build.path("killed.gpuprof")) > 20 * STEPS, f"{what}: it is whole")
        os.unlink(build.path("killed.gpuprof"))


def both(build, checks, what, seconds):
    run = start(build)
    run.stdout.readline()
    time.sleep(seconds)
    second = recorder(run.pid)
    os.kill(second, signal.SIGKILL)
    run.kill()
    out, _ = run.communicate(timeout=120)
    checks.check("median_step_ms=" in out, f"{what}: the program runs to its end", repr(out))
    folder = next(name for name in os.listdir(build.folder.name) if name.startswith(".gpuprof-"))
    os.utime(build.path(folder), (0, 0)) # a young one may belong to a run that begins
    told = build.run([build.gpuprof, "run", "-f", "-o", "killed.gpuprof", "--", "true"]).stderr
    checks.check(f"gpuprof import {build.path(folder)}" in told, f"{what}: the next run tells", told)
    done = build.run([build.gpuprof, "import", folder, "-o", "left.gpuprof"])
    checks.check(done.returncode == 0 and kernels(build.path("left.gpuprof")) > 0,
                 f"{what}: import makes a profile of it", done.stderr)
    left = sorted(os.listdir(build.folder.name))
    checks.check(left == ["killed.gpuprof", "left.gpuprof"], f"{what}: nothing else is left", str(left))
    for name in left:
        os.unlink(build.path(name))


def recorder_alone(build, checks):
    run = start(build)
    run.stdout.readline()
    second = recorder(run.pid)
    checks.check(os.sched_getscheduler(second) == os.SCHED_BATCH and os.sched_getscheduler(run.pid) == os.SCHED_OTHER,
                 "the recorder, and it alone, waits for its turn where all cores are busy")
    os.kill(second, signal.SIGKILL)
    out, err = run.communicate(timeout=120)
    checks.check("median_step_ms=" in out and run.returncode == 0, "recorder killed: the program's end and status",
                 f"{run.returncode} {out!r}")
    checks.check(len(err.splitlines()) == 1 and "gpuprof import " in err, "recorder killed: one line tells", err)


def main():
    build, checks = Build(sys.argv[1]), Checks()
    seed = int.from_bytes(os.urandom(4), "little")
    random.seed(seed)
    print(f"seed {seed}")
    for i in range(int(sys.argv[2]) if len(sys.argv) > 2 else 3):
        in_front(build, checks, f"gpuprof killed alone, {i + 1}", random.uniform(0, 0.5))
        both(build, checks, f"gpuprof and its recorder killed, {i + 1}", random.uniform(0, 0.2))
    recorder_alone(build, checks)
    checks.done()


if __name__ == "__main__":
    main()
