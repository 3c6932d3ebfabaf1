#!/usr/bin/env python3
"""SIGKILL of each process of a run (gpuprof in front, its recorder, its witness, the program), alone and in pairs, at any moment
from the start to the end. A program that is not killed ends as ever; what was recorded is in the profile, or in what the next
run tells of, once and whole; the front that is left dies as the program died; no process and no file stays behind.

usage: kills.py BUILD [TIMES]
"""
import itertools
import os
import random
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import Build, Checks
from killed import children, rows, spools, start, whole

ROLES = ("front", "recorder", "witness", "program")
SETS = [*itertools.combinations(ROLES, 1), *itertools.combinations(ROLES, 2)]


def roles(front):
    """The processes that are there by now."""
    found = {"front": front}
    for pid in children(front):
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as f:
                name = f.read().strip()
            # the recorder is started first, and leads a session of its own a little later
            recorder = os.getsid(pid) == pid or "recorder" not in found and name == "gpuprof"
            found["recorder" if recorder else "witness" if name == "witness" else "program"] = pid
        except OSError:
            continue
    return found


def still_there(mark):
    """The processes of this attempt, also those that nobody had seen: they have its mark in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if mark in f.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            continue
    return found


def left_of(build):
    """The rows of what is left, None: nothing was recorded. The next run takes the rest away."""
    for name in os.listdir(build.folder.name):
        os.utime(build.path(name), (0, 0))
    there = os.path.exists(build.path("killed.gpuprof"))
    found = rows(build.path("killed.gpuprof")) if there else None
    told = build.run([build.gpuprof, "run", "-f", "-o", "killed.gpuprof", "--", "true"]).stderr
    for folder in re.findall(r"gpuprof import (\S+)", told):
        done = build.run([build.gpuprof, "import", "-f", folder, "-o", "left.gpuprof"])
        if done.returncode == 0 and not there:
            found = rows(build.path("left.gpuprof"))
        elif done.returncode == 0 or there:
            return f"a profile, and what is left: {told} {done.stderr}"
    left = sorted(set(os.listdir(build.folder.name)) - {"killed.gpuprof", "left.gpuprof"})
    for name in os.listdir(build.folder.name):
        if os.path.isfile(build.path(name)):
            os.unlink(build.path(name))
    return f"left behind: {left}, {told}" if left or spools(build) else found


def is_counted(found, expected):
    """What is not there was lost while nobody emptied the rings, and health says of how much."""
    missing = sum(max(0, expected[key] - found[key]) for key in expected if isinstance(expected[key], int)) if found else 0
    return 0 < missing == dict(found.health).get("ring-full", 0)


def attempt(build, which, seconds, expected):
    """What is wrong, '' = nothing."""
    build.env["KILLS_ATTEMPT"] = mark = f"{os.getpid()}-{time.monotonic_ns()}"
    run = start(build)
    del build.env["KILLS_ATTEMPT"]
    time.sleep(seconds)
    seen = roles(run.pid)
    killed = [role for role in which if role in seen]
    for role in random.sample(killed, len(killed)):
        try:
            os.kill(seen[role], signal.SIGKILL)
        except ProcessLookupError:
            pass
    out, err = run.communicate(timeout=120)
    end = time.monotonic() + 30
    while (stays := still_there(f"KILLS_ATTEMPT={mark}".encode())) and time.monotonic() < end:
        time.sleep(0.05)
    steps, ended = len(re.findall(r"^step +\d+ .*\)$", out, re.M)), "median_step_ms=" in out
    found = left_of(build)
    what = f"{'+'.join(killed)} after {seconds:.3f} s, {steps} steps, status {run.returncode}, {err!r}: "
    if stays:
        return what + f"{stays} are still there"
    if isinstance(found, str):
        return what + found
    if "program" in seen and "program" not in killed and not ended:
        return what + "the program did not end as ever"
    if "front" not in killed and ended != (run.returncode == 0) and not ("program" in killed and run.returncode == -signal.SIGKILL):
        return what + "the status is not the program's"
    if ended and found != expected and not is_counted(found, expected):
        return what + f"not every record of the run is there, once: {found} for {expected}"
    if not ended and found and not (found["kernel"] >= steps * 300 and found["lost"] == found["twice"] == 0 and found["sound"] == "ok"):
        return what + f"not every record of the finished steps is there: {found}"
    if steps > 1 and not found:
        return what + "nothing is left of them"
    return ""


def main():
    build, checks = Build(sys.argv[1]), Checks()
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 2 * len(SETS)
    seed = int.from_bytes(os.urandom(4), "little")
    random.seed(seed)
    print(f"seed {seed}")
    began = time.monotonic()
    expected = whole(build)
    lasts = time.monotonic() - began
    for i in range(times):
        which = SETS[i % len(SETS)]
        wrong = attempt(build, which, random.uniform(0, 1.05 * lasts), expected)
        checks.check(not wrong, f"kill {i + 1}, {' and '.join(which)}", wrong)
    checks.done()


main()
