#!/usr/bin/env python3
"""Measures what a long run costs when it is recorded lightly: train_conv without recording, with `run --light`, as by default (in full until
enough is known), and with `--full`. The four take turns (A B C D D C B A ...). Of each the processor time of the program's thread, which launches,
and the pace that it prints; the profile's size, and the share of the run in it. On the virtual GPU recording has no price on the device, and
the program's thread pays what the agent and the virtual CUPTI take; CUPTI 13.0.1, which it imitates, is told to be turned off.
Usage: light.py BUILD [ROUNDS [STEPS]]."""
import os
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile

ARMS = {"nothing": ["--no-record"], "light": ["--light"], "default": [], "full": ["--full"]}
PROGRAM = ["--data", "fixed", "--depth", "18", "--batch", "8"]


def child(file, program):
    """Between gpuprof and the program: writes what its first thread computed, in s."""
    pid = os.spawnvp(os.P_NOWAIT, program[0], program)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT) # it has ended, and /proc still knows it
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
        used = int(f.read().split()[0]) / 1e9
    with open(file, "w", encoding="ascii") as f:
        f.write(str(used))
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def measure(build, folder, arm, steps):
    profile, file = os.path.join(folder, "x.gpuprof"), os.path.join(folder, "cpu")
    command = [os.path.join(build, "bin", "gpuprof"), "run", "-q", "-f", "--device", "virtual:a100-80", *ARMS[arm]]
    command += ["-o", profile] if arm != "nothing" else []
    command += ["--", sys.executable, "-S", os.path.abspath(__file__), "--child", file, os.path.join(build, "bin", "train_conv"), *PROGRAM,
                "--steps", str(steps)]
    out = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "GPUPROF_CUPTI_PAUSES": "1"}).stdout
    with open(file, encoding="ascii") as f:
        found = {"cpu": 1e3 * float(f.read()) / steps, "pace": float(re.search(r"pace_step_ms=([0-9.]+)", out).group(1))}
    if arm == "nothing":
        return {**found, "mb": 0, "pct": 0}
    with sqlite3.connect(f"file:{profile}?mode=ro", uri=True) as db:
        part, whole = db.execute("SELECT (SELECT sum(end_ns - start_ns) FROM recorded), max(end_ns - start_ns) FROM process").fetchone()
    return {**found, "mb": os.path.getsize(profile) / 1e6, "pct": 100 * part / whole if part else 100}


def main():
    build = sys.argv[1]
    rounds, steps = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((2, 5), (3, 8000)))
    took = {arm: [] for arm in ARMS}
    with tempfile.TemporaryDirectory() as folder:
        for i in range(rounds):
            for arm in list(ARMS)[::1 if i % 2 == 0 else -1]:
                took[arm].append(measure(build, folder, arm, steps))
    print(f"{steps} steps, {rounds} rounds, load {os.getloadavg()[0]:.1f}")
    print("recorded   recorded %   profile MB   cpu ms a step   ratio (median of pairs; min, max)   pace ms   ratio (median; min, max)")
    for arm, of in took.items():
        ratio = {key: sorted(b[key] / a[key] for a, b in zip(took["nothing"], of)) for key in ("cpu", "pace")}
        middle = {key: statistics.median(x[key] for x in of) for key in of[0]}
        cpu, pace = (f"{statistics.median(r):.4f} ({r[0]:.4f}, {r[-1]:.4f})" for r in (ratio["cpu"], ratio["pace"]))
        print(f"{arm:9s}  {middle['pct']:9.2f}   {middle['mb']:10.1f}   {middle['cpu']:13.3f}   {cpu:33s}   {middle['pace']:7.3f}   {pace}")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "--child":
        child(sys.argv[2], sys.argv[3:])
    main()
