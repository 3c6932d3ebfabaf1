#!/usr/bin/env python3
"""kill -9 of the trainer at random moments: every profile opens, is sound, and holds every step that
the trainer had finished, with the names of all its kernels.

usage: kill.py BUILD [TIMES [--early]]

Half of the kills fall within a second of the first finished step, a quarter within 100 ms of it, and
a quarter within 400 ms of the program's start, most of them before that step. --early: none
later than 100 ms after the first step (`kill.py build 1000 --early` takes ten minutes).
"""
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import DEVICE, Build, Checks


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(p) for p in f.read().split()]


def find_trainer(pid):
    """The descendant of `pid` that runs train_conv, once it does."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        queue = [pid]
        while queue:
            at = queue.pop()
            try:
                queue += children(at)
                if os.readlink(f"/proc/{at}/exe").endswith("/train_conv"):
                    return at
            except OSError:
                continue
        time.sleep(0.005)
    raise RuntimeError("train_conv did not start within 30 s")


def run_and_kill(build, profile, seconds, after_step):
    """Kills the trainer `seconds` after its start, or after its first finished step. Returns
    gpuprof's status and the number of steps that the trainer said it had finished."""
    process = subprocess.Popen(
        [build.gpuprof, "run", "-f", "--device", DEVICE, "-o", profile, "--", build.train,
         "--steps", "1000000", "--sync-every", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=build.env,
        cwd=build.folder.name)
    trainer = find_trainer(process.pid)
    lines = ""
    while after_step and "step     1 " not in lines:
        line = process.stdout.readline()
        if not line:
            raise RuntimeError("train_conv ended early: " + process.stderr.read())
        lines += line
    time.sleep(seconds)
    os.kill(trainer, signal.SIGKILL)
    out, _ = process.communicate(timeout=120)
    finished = re.findall(r"^step +(\d+) .*\)$", lines + out, re.M)
    return process.returncode, int(finished[-1]) if finished else 0


def examine(checks, profile, steps, what):
    """Returns how many kernels behind the last marked step have no name."""
    db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)

    def one(query, *values):
        return db.execute(query, values).fetchone()[0]

    answer = one("PRAGMA integrity_check")
    checks.check(answer == "ok", f"{what}: integrity_check", answer)
    text = "FROM {0} x JOIN string s ON s.id = x.name WHERE s.text "
    marked, end = db.execute("SELECT count(*), ifnull(max(x.end_ns), 0) " +
                             text.format("range") + "= 'step'").fetchone()
    checks.check(marked >= steps - 1, f"{what}: the marks of {steps} finished steps are there",
                 f"only {marked}")  # a step prints its line just before it is marked as over
    unnamed = "SELECT count(*) " + text.format("kernel") + "LIKE 'kernel@%'"
    lost = one(unnamed + " AND x.start_ns < ?", end)
    checks.check(lost == 0, f"{what}: every kernel of {marked} marked steps has its name",
                 f"{lost} have none")
    calls = one("SELECT count(*) " + text.format("api") + "LIKE '% call %' AND x.start_ns < ?", end)
    checks.check(calls == 0, f"{what}: every call of them, too", f"{calls} have none")
    behind = one(unnamed)
    losses = one("SELECT count(*) " + text.format("kernel") + "LIKE '%softmax_loss%'")
    checks.check(losses >= marked and losses + behind >= steps,
                 f"{what}: the kernels of all {steps} finished steps are there", f"only {losses}, and {marked} marks")
    said = one("SELECT ifnull(sum(value), 0) FROM health JOIN string s ON s.id = code "
               "WHERE s.text = 'names-missing'")
    checks.check(said == behind, f"{what}: says how many kernels have no name",
                 f"{said} for {behind}")
    db.close()
    return behind


def main():
    build, checks = Build(sys.argv[1]), Checks()
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    early = "--early" in sys.argv
    seed = int.from_bytes(os.urandom(4), "little")
    random.seed(seed)
    print(f"seed {seed}")
    killed_in_time = without = 0
    for i in range(times):
        profile = build.path(f"killed{i}.gpuprof")
        after_step = i % 4 != 3
        seconds = random.uniform(0, 0.4 if not after_step else 1.0 if not early and i % 2 else 0.1)
        what = f"kill {i + 1}, {seconds:.3f} s after {'step 1' if after_step else 'start'}"
        status, steps = run_and_kill(build, profile, seconds, after_step)
        checks.check(status == -signal.SIGKILL, f"{what}: gpuprof run dies by the same signal",
                     f"status {status}")
        if not os.path.exists(profile):  # nothing had been recorded yet
            checks.check(steps == 0, f"{what}: a profile", "none")
            continue
        killed_in_time += 1
        without += examine(checks, profile, steps, what) > 0
        os.unlink(profile)
    print(f"{killed_in_time} of {times} profiles; in {without} of them kernels behind the last "
          f"mark have no name")
    checks.done()


if __name__ == "__main__":
    main()
