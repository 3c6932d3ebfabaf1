#!/usr/bin/env python3
"""gpuprof gets no core: it is stopped while the program records thousands of calls and ranges. All of them are in the profile,
those with a thread of the agent beside them (train_conv) and those without (ranges alone), and in their order.

usage: stalled.py BUILD
"""
import os
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import DEVICE, Build, Checks

STALLED_S = 30  # at most: it is left alone when the program has ended
STEPS = 150  # of some 160 calls: three times what one ring takes
SMALL = ["--steps", str(STEPS), "--data", "fixed", "--image", "32", "--batch", "4", "--cudnn", "heuristic"]
RANGES = 50000  # of each of four threads


def family(pid):
    """[(pid, name, state)] of a process and its children."""
    found = []
    for line in subprocess.run(["ps", "-eo", "pid=,ppid=,state=,comm="], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        own, parent, state, name = line.split(None, 3)
        if pid in (int(own), int(parent)):
            found.append((int(own), name, state))
    return found


def is_program(pid, program):
    """gpuprof has a process that takes on the program's name for a while."""
    try:
        return os.path.samefile(f"/proc/{pid}/exe", program)
    except OSError:
        return False


def stalled(build, profile, program):
    """Runs it, and stops all processes of gpuprof from the first sight of it to its end, for STALLED_S at most.
    (status, stderr)"""
    run = subprocess.Popen([build.gpuprof, "run", "-q", "-f", "--device", DEVICE, "-o", profile, "--", *program],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=build.env, cwd=build.folder.name)
    own, ours = None, []
    while run.poll() is None and not ours:
        seen = family(run.pid)
        own = next((pid for pid, _, _ in seen if is_program(pid, program[0])), None)
        if own:
            ours = [pid for pid, n, _ in seen if n == "gpuprof"]
    for pid in ours:
        os.kill(pid, signal.SIGSTOP)
    until = time.monotonic() + STALLED_S
    while time.monotonic() < until and not any(pid == own and state == "Z" for pid, _, state in family(run.pid)):
        time.sleep(0.05)
    for pid in ours:
        os.kill(pid, signal.SIGCONT)
    err = run.communicate(timeout=240)[1]
    return run.returncode, err


def ask(profile, query):
    db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
    rows = db.execute(query).fetchall()
    db.close()
    return rows


def health(profile):
    return dict(ask(profile, "SELECT s.text, sum(h.value) FROM health h JOIN string s ON s.id = h.code GROUP BY 1"))


def calls(build, checks):
    plain, profile = build.path("plain.gpuprof"), build.path("stalled.gpuprof")
    build.run([build.gpuprof, "run", "-q", "-f", "--device", DEVICE, "-o", plain, "--", build.train, *SMALL])
    status, err = stalled(build, profile, [build.train, *SMALL])
    if not checks.check(status == 0, "calls: the program ends well", f"{status} {err[-300:]}"):
        return
    for table in ("library_call", "kernel", "range"):
        there, wanted = (ask(p, f"SELECT count(*) FROM {table}")[0][0] for p in (profile, plain))
        checks.check(there == wanted > STEPS, f"calls: all rows of {table}", f"{there} of {wanted}")
    noted, lost = health(profile), build.analyze(profile)["health"]["dropped"]
    checks.check(lost == 0, "calls: none lost", str(noted))
    checks.check(noted.get("rings-left", 0) > 0, "calls: they were more than one ring takes", str(noted))
    late = ask(profile, "SELECT count(*) FROM (SELECT start_ns, max(start_ns) OVER (PARTITION BY thread ORDER BY id) AS newest "
                        "FROM library_call) WHERE start_ns < newest")[0][0]
    checks.check(late == 0, "calls: in the order of their thread", f"{late} came late")


def ranges(build, checks):
    profile = build.path("burst.gpuprof")
    status, err = stalled(build, profile, [os.path.join(build.bin, "agent_many"), "burst", str(RANGES)])
    if not checks.check(status == 0, "ranges: the program ends well", f"{status} {err[-300:]}"):
        return
    there, noted = ask(profile, "SELECT count(*) FROM range")[0][0], health(profile)
    checks.check(there == 4 * RANGES, "ranges: all there", f"{there} of {4 * RANGES}, {noted}")
    checks.check(build.analyze(profile)["health"]["dropped"] == 0, "ranges: none lost", str(noted))


def main():
    build, checks = Build(sys.argv[1]), Checks()
    calls(build, checks)
    ranges(build, checks)
    checks.done()


if __name__ == "__main__":
    main()
