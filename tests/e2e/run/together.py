#!/usr/bin/env python3
"""What lives side by side: a program that refuses a second instance of itself, several runs with one output, a program
that goes on when its gpuprof was killed, and files in a folder of recordings that nobody can read to their end.

usage: together.py BUILD
"""
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import DEVICE, Build, Checks

# as scripts that must run once look for themselves: by name, and by what pidof takes for it
GUARD = """#!/bin/bash
name=$(cat /proc/$$/comm)
[ "$(pgrep -cx "$name")" -le 1 ] || { echo "pgrep finds another"; exit 1; }
pidof -x "$name" >pids
[ "$(wc -w <pids)" -le 1 ] || { echo "pidof finds another"; exit 1; }
echo alone
"""
RUNS = 4


def guard(build, checks):
    script = build.path("train_once.sh")
    with open(script, "w", encoding="ascii") as f:
        f.write(GUARD)
    os.chmod(script, 0o755)
    done = build.run([build.gpuprof, "run", "-q", "-f", "-o", "once.gpuprof", "--", script])
    checks.check((done.returncode, done.stdout) == (0, "alone\n"), "a guard against a second instance finds none",
                 f"{done.returncode} {done.stdout} {done.stderr}")


def one_output(build, checks):
    """All are started before the first has ended: each program runs, and each has a profile."""
    os.mkdir(build.path("one"))
    for force in ((), ("-f",)):
        output = build.path(f"one/x{len(force)}.gpuprof")
        runs = [subprocess.Popen([build.gpuprof, "run", "-q", *force, "-o", output, "--", "sh", "-c", "sleep 2; echo ran"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=build.env)
                for _ in range(RUNS)]
        said = [run.communicate(timeout=60) for run in runs]
        checks.check([out for out, _ in said] == ["ran\n"] * RUNS and not any(run.returncode for run in runs),
                     f"{RUNS} runs with one output {' '.join(force)}: each program runs", str(said))
    names = sorted(os.listdir(build.path("one")))
    expected = sorted(f"x{n}{m}.gpuprof" for n in (0, 1) for m in ("", ".2", ".3", ".4"))
    checks.check(names == expected, "and each has a profile of its own", str(names))


def goes_on(build, checks):
    """Its gpuprof and the recorder are killed: what is there is not taken away before it has ended."""
    os.mkdir(build.path("left"))
    run = subprocess.Popen([build.gpuprof, "run", "-q", "-o", build.path("left/x.gpuprof"), "--device", DEVICE, "--", build.train,
                            "--steps", "300"],
                           stdout=subprocess.PIPE, text=True, env=build.env, start_new_session=True)
    run.stdout.readline()
    with open(f"/proc/{run.pid}/task/{run.pid}/children", encoding="ascii") as f:
        children = [int(p) for p in f.read().split()]
    time.sleep(0.5)
    os.kill(next(p for p in children if os.getsid(p) == p), signal.SIGKILL)
    run.kill()
    run.wait()
    folder = next((os.path.join(build.path("left"), f) for f in os.listdir(build.path("left")) if f.startswith(".gpuprof-")), "")
    before = sorted(os.listdir(folder))
    done = build.run([build.gpuprof, "import", folder, "-o", "left.gpuprof"])
    checks.check(done.returncode == 2 and "still records" in done.stderr and done.stderr.count("\n") == 1
                 and sorted(os.listdir(folder)) == before, "import while the program goes on: refused, and nothing is gone",
                 f"{done.returncode} {done.stderr}")
    run.stdout.read()  # the program has it open
    time.sleep(0.2)
    done = build.run([build.gpuprof, "import", folder, "-o", "left.gpuprof"])
    checks.check(done.returncode == 0 and not os.path.exists(folder), "when it has ended it is imported", done.stderr)


def endless(build, checks):
    os.mkdir(build.path("ranks"))
    os.mkfifo(build.path("ranks/rank1.json"))
    os.symlink("/dev/zero", build.path("ranks/rank2.json"))
    shutil.copy(build.path("left.gpuprof"), build.path("ranks/rank0.gpuprof"))
    for command in (["analyze", "ranks"], ["analyze", "ranks/rank1.json"], ["analyze", "ranks/rank2.json"],
                    ["lint-trace", "ranks/rank1.json"], ["import", "ranks/rank1.json", "-o", "r.gpuprof"],
                    ["diff", "ranks/rank1.json", "ranks/rank2.json"]):
        try:
            done = subprocess.run([build.gpuprof, *command], capture_output=True, text=True, env=build.env, timeout=20,
                                  cwd=build.folder.name, check=False)
            good = done.returncode == (0 if command[1] == "ranks" else 2)
            checks.check(good, f"{' '.join(command)} ends", f"{done.returncode} {done.stderr}")
        except subprocess.TimeoutExpired:
            checks.check(False, f"{' '.join(command)} ends", "it hangs")


def main():
    build, checks = Build(sys.argv[1]), Checks()
    guard(build, checks)
    one_output(build, checks)
    goes_on(build, checks)
    endless(build, checks)
    checks.done()


main()
