#!/usr/bin/env python3
"""Measures what recording the stacks of long calls costs: tests/programs/waits.c, which waits at six places in each step and on a
second thread, without stacks (GPUPROF_STACKS=0) and with them, in turn. The CPU figure is that of the program and gpuprof
together, as a share of one core; the difference is the cost, and the aim is 1 % of a core. Usage: stacks.py BUILD [ROUNDS [STEPS]]."""
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time


def run(build, folder, stacks, steps):
    profile = os.path.join(folder, "x.gpuprof")
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([os.path.join(build, "bin", "gpuprof"), "run", "-q", "-f", "--device", "virtual:a100-80", "-o", profile, "--",
                    os.path.join(build, "bin", "programs", "waits"), str(steps)],
                   env={**os.environ, "GPUPROF_STACKS": "1" if stacks else "0"}, stdout=subprocess.DEVNULL, check=False)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - start
    with sqlite3.connect(profile) as db:
        lengths = [row[0] for row in db.execute("select end_ns - start_ns from range r join string n on n.id = r.name where n.text = 'step'")]
        callers = db.execute("select count(*) from range r join string d on d.id = r.domain where d.text = 'caller'").fetchone()[0]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall, statistics.median(lengths) / 1e6, callers


def main():
    build = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 300
    took = {False: [], True: []}
    with tempfile.TemporaryDirectory() as folder:
        for i in range(rounds):
            for stacks in (False, True) if i % 2 == 0 else (True, False):
                took[stacks].append(run(build, folder, stacks, steps))
    print("stacks   CPU s   wall s   median step ms   long calls")
    for stacks, name in ((False, "without"), (True, "with")):
        cpu, wall, step, callers = (statistics.median(column) for column in zip(*took[stacks]))
        print(f"{name:7s}  {cpu:6.3f}  {wall:7.3f}  {step:15.4f}  {callers:11.0f}")
    cost = statistics.median((b[0] - a[0]) / b[1] for a, b in zip(took[False], took[True]))
    step = statistics.median(b[2] / a[2] for a, b in zip(took[False], took[True]))
    print(f"cost: {100 * cost:.2f} % of a core (aim: 1 %), median step {100 * (step - 1):+.2f} %")


if __name__ == "__main__":
    main()
