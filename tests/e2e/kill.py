#!/usr/bin/env python3
"""kill -9 of the trainer at random moments: every profile opens, is sound, and holds every step that
the trainer had finished.

usage: kill.py BUILD [TIMES]
"""
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time

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


def run_and_kill(build, profile, seconds):
    """Kills the trainer `seconds` after its first finished step. Returns gpuprof's status and the
    number of steps that the trainer said it had finished."""
    process = subprocess.Popen(
        [build.gpuprof, "run", "-f", "--device", DEVICE, "-o", profile, "--", build.train,
         "--steps", "1000000", "--sync-every", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=build.env,
        cwd=build.folder.name)
    trainer = find_trainer(process.pid)
    lines = ""
    while "step     1 " not in lines:
        line = process.stdout.readline()
        if not line:
            raise RuntimeError("train_conv ended early: " + process.stderr.read())
        lines += line
    time.sleep(seconds)
    os.kill(trainer, signal.SIGKILL)
    out, _ = process.communicate(timeout=120)
    finished = re.findall(r"^step +(\d+) .*\)$", lines + out, re.M)
    return process.returncode, int(finished[-1])


def examine(checks, profile, steps, what):
    db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
    answer = db.execute("PRAGMA integrity_check").fetchone()[0]
    checks.check(answer == "ok", f"{what}: integrity_check", answer)
    losses = db.execute("SELECT count(*) FROM kernel k JOIN string s ON s.id = k.name "
                        "WHERE s.text LIKE '%softmax_loss%'").fetchone()[0]
    checks.check(losses >= steps, f"{what}: all of {steps} finished steps are there",
                 f"only {losses}")
    db.close()


def main():
    build, checks = Build(sys.argv[1]), Checks()
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    seed = int.from_bytes(os.urandom(4), "little")
    random.seed(seed)
    print(f"seed {seed}")
    for i in range(times):
        profile = build.path(f"killed{i}.gpuprof")
        seconds = random.uniform(0, 1.0)
        what = f"kill {i + 1} after {seconds:.3f} s"
        status, steps = run_and_kill(build, profile, seconds)
        checks.check(status == -signal.SIGKILL, f"{what}: gpuprof run dies by the same signal",
                     f"status {status}")
        examine(checks, profile, steps, what)
        os.unlink(profile)
    checks.done()


if __name__ == "__main__":
    main()
