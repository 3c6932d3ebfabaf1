#!/usr/bin/env python3
"""A storm of launches from 1, 4, 16 and 64 threads: every kernel is recorded, with its launch, also where gpuprof itself gets
no core and no disk while the storm lasts.

usage: storm.py BUILD [LAUNCHES]
"""
import os
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from support import Build, Checks  # noqa: E402

THREADS = (1, 4, 16, 64)
MOST = 320000  # kernels of a storm during which gpuprof reads along
STOPPED = 16  # threads while gpuprof is stopped: each fills rings of its own, so that more show nothing new
ENDS_WITHIN_S = 120


def family(pid):
    """[(pid, name, state)] of a process and its children."""
    found = []
    for line in subprocess.run(["ps", "-eo", "pid=,ppid=,state=,comm="], capture_output=True, text=True).stdout.splitlines():
        own, parent, state, name = line.split(None, 3)
        if pid in (int(own), int(parent)):
            found.append((int(own), name, state))
    return found


def stopped_while_it_lasts(command):
    """Runs it, and stops every process of gpuprof from the first sight of the storm to its end. (status, stderr)"""
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    ours = []
    while run.poll() is None and not ours:
        time.sleep(0.05)
        seen = family(run.pid)
        if any(name.startswith("storm") for _, name, _ in seen):
            time.sleep(0.3)  # by then the agent has its spool
            ours = [pid for pid, name, _ in seen if name.startswith("gpuprof")]
    for pid in ours:
        os.kill(pid, signal.SIGSTOP)
    until = time.monotonic() + ENDS_WITHIN_S
    while time.monotonic() < until and not any(name.startswith("storm") and state == "Z" for _, name, state in family(run.pid)):
        time.sleep(0.1)  # it has ended, and nobody has seen it yet
    for pid in ours:
        os.kill(pid, signal.SIGCONT)
    err = run.communicate()[1]
    return run.returncode, err


def main():
    build, checks = Build(sys.argv[1]), Checks()
    each = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    storm = os.path.join(build.bin, "programs", "storm")
    for threads, stopped in [(threads, False) for threads in THREADS] + [(STOPPED, True)]:
        launches = each if stopped else min(each, MOST // threads)
        profile, what = build.path("storm.gpuprof"), f"{threads} threads" + (", gpuprof stopped" if stopped else "")
        command = [build.gpuprof, "run", "-q", "-f", "--device", "virtual:h100", "-o", profile, "--", storm, str(threads),
                   str(launches)]
        if stopped:
            status, err = stopped_while_it_lasts(command)
        else:
            done = build.run(command)
            status, err = done.returncode, done.stderr
        if not checks.check(status == 0, f"{what}: the program ends well", err[-500:]):
            continue
        with sqlite3.connect(profile) as db:
            kernels, = db.execute("select count(*) from kernel").fetchone()
            joined, = db.execute("select count(*) from kernel k join api a on a.correlation = k.correlation and "
                                 "a.process = k.process").fetchone()
            lost = build.analyze(profile)["health"]["dropped"]
        wanted = threads * launches
        checks.check((kernels, joined, lost) == (wanted, wanted, 0), f"{what}: all records kept",
                     f"{kernels} kernels, {joined} with their launch, {lost} lost, of {wanted}")
    checks.done()


main()
