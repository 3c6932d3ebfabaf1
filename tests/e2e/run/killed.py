#!/usr/bin/env python3
"""SIGKILL of gpuprof: the program goes on and ends as without it. Killed in front alone, the profile becomes
whole all the same; killed with the process that records, at whatever moment, the next run tells of what is left,
and `gpuprof import` makes a profile of it that has every record of the run, once. Killed with the program, as a
batch system does: every record of the steps that it had finished.

usage: killed.py BUILD [TIMES]
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

STEPS = 60
TABLES = ("kernel", "api", "copy", "sync", "range", "library_call", "process", "stream", "device")


def start(build, steps=STEPS):
    return subprocess.Popen(
        [build.gpuprof, "run", "-q", "-f", "--device", DEVICE, "-o", "killed.gpuprof", "--", build.train,
         "--steps", str(steps), "--sync-every", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=build.env,
        cwd=build.folder.name, start_new_session=True)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(p) for p in f.read().split()]


def recorder(pid):
    """The child that leads a session of its own."""
    return next(p for p in children(pid) if os.getsid(p) == p)


class Rows(dict):
    """And what the recording says of its health, which is not compared."""
    health = ()

    def __str__(self):
        return f"{super().__repr__()} {self.health}"


def rows(profile):
    """How many each table has; and whether names, threads and streams of them are sound."""
    if not os.path.exists(profile):
        return dict.fromkeys((*TABLES, "lost", "twice"), -1)
    db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)

    def one(query):
        return db.execute(query).fetchone()[0]

    found = Rows({t: one(f"SELECT count(*) FROM {t}") for t in TABLES})
    found.health = db.execute("SELECT (SELECT text FROM string WHERE id = code), value FROM health").fetchall()
    # What the loader's workers make ahead when the program ends depends on who had a core.
    found["range"] -= one("SELECT count(*) FROM range WHERE name = (SELECT id FROM string WHERE text = 'data.decode')")
    found["names"] = one("SELECT count(DISTINCT name) FROM kernel") + one("SELECT count(DISTINCT name) FROM api")
    found["lost"] = one("SELECT count(*) FROM api WHERE thread NOT IN (SELECT id FROM thread)") + one(
        "SELECT count(*) FROM kernel WHERE stream NOT IN (SELECT id FROM stream)")
    found["twice"] = one("SELECT count(*) - count(DISTINCT correlation) FROM kernel WHERE graph = 0")
    found["facts"] = one("SELECT count(*) FROM fact WHERE key = 'source' AND value = 'run'")
    found["sound"] = one("PRAGMA integrity_check")
    found["tables"] = one("SELECT count(*) FROM sqlite_master")
    db.close()
    return found


def whole(build):
    """What the profile of an undisturbed run has."""
    start(build).communicate(timeout=120)
    found = rows(build.path("killed.gpuprof"))
    os.unlink(build.path("killed.gpuprof"))
    return found


def spools(build):
    return [name for name in os.listdir(build.folder.name) if name.startswith(".gpuprof-")]


def imported(build, checks, what):
    """The rows of the profile that the one line makes, which the next run tells; nothing else is left of the run."""
    folder = (spools(build) or [".gpuprof-000000"])[0]
    if not checks.check(os.path.isdir(build.path(folder)), f"{what}: a folder is left", str(os.listdir(build.folder.name))):
        return rows("")
    os.utime(build.path(folder), (0, 0))  # a young one may belong to a run that begins
    told = build.run([build.gpuprof, "run", "-f", "-o", "killed.gpuprof", "--", "true"]).stderr
    checks.check(f"gpuprof import {build.path(folder)}" in told, f"{what}: the next run tells", told)
    done = build.run([build.gpuprof, "import", folder, "-o", "left.gpuprof"])
    left = sorted(os.listdir(build.folder.name))
    checks.check(done.returncode == 0 and left == ["killed.gpuprof", "left.gpuprof"], f"{what}: import, and nothing else is left",
                 f"{left} {done.stderr}")
    found = rows(build.path("left.gpuprof"))
    for name in left:
        if os.path.isfile(build.path(name)):
            os.unlink(build.path(name))
    return found


def in_front(build, checks, what, seconds, expected):
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
        found = rows(build.path("killed.gpuprof"))
        checks.check(found == expected, f"{what}: it is whole", f"{found} for {expected}")
        os.unlink(build.path("killed.gpuprof"))


def both(build, checks, what, seconds, expected):
    run = start(build)
    run.stdout.readline()
    time.sleep(seconds)
    second = recorder(run.pid)
    os.kill(second, signal.SIGKILL)
    run.kill()
    out, _ = run.communicate(timeout=120)
    checks.check("median_step_ms=" in out, f"{what}: the program runs to its end", repr(out))
    found = imported(build, checks, what)
    checks.check(found == expected, f"{what}: every record of the run is there, once", f"{found} for {expected}")


def at_the_end(build, checks, what, seconds, expected):
    """While the recorder finishes the profile: it is in place, or what is left makes it."""
    run = start(build)
    run.stdout.readline()
    second = recorder(run.pid)
    run.stdout.read()
    time.sleep(seconds)
    for pid in second, run.pid:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    run.communicate(timeout=120)
    if os.path.exists(build.path("killed.gpuprof")):
        build.run([build.gpuprof, "analyze", "killed.gpuprof"])  # which puts right what was cut off
        found, left = rows(build.path("killed.gpuprof")), "in place"
        for name in spools(build):  # nothing is in it: the next run takes it away
            os.utime(build.path(name), (0, 0))
        told = build.run([build.gpuprof, "run", "-f", "-o", "killed.gpuprof", "--", "true"]).stderr
        checks.check("gpuprof import" not in told and not spools(build), f"{what}: nothing is left to import", told)
        os.unlink(build.path("killed.gpuprof"))
    else:
        found, left = imported(build, checks, what), "left"
    checks.check(found == expected, f"{what}: every record of the run is there, once ({left})", f"{found} for {expected}")


def everything(build, checks, what, seconds):
    """As a batch system kills a job: no process is left that could do anything."""
    run = start(build, 1000000)
    run.stdout.readline()
    time.sleep(seconds)
    os.kill(recorder(run.pid), signal.SIGSTOP)  # it reads no more, the program goes on a little
    time.sleep(0.1)
    os.kill(recorder(run.pid), signal.SIGKILL)
    os.killpg(run.pid, signal.SIGKILL)
    out, _ = run.communicate(timeout=120)
    steps = len(re.findall(r"^step +\d+ .*\)$", out, re.M))
    found = imported(build, checks, what)
    checks.check(found["range"] >= 7 * (steps - 1) and found["kernel"] >= steps * 300 and found["lost"] == found["twice"] == 0 and found["sound"] == "ok",
                 f"{what}: every record of {steps} finished steps is there, once", str(found))


def before_the_program(build, checks, expected):
    """In front, between its fork and the program's start, which a library puts off for this test."""
    late = build.path("late.so")
    source = ("#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <unistd.h>\n"
              "int execvp(const char *f, char *const a[]) { usleep(1000000); "
              "return ((int (*)(const char *, char *const *))dlsym(RTLD_NEXT, \"execvp\"))(f, a); }\n")
    made = subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", late, "-ldl"], input=source, text=True, check=False)
    if made.returncode != 0:
        print("no compiler here: the moment before the program's start is left out")
        return
    build.env["LD_PRELOAD"] = late
    run = start(build)
    del build.env["LD_PRELOAD"]
    time.sleep(0.6)
    run.kill()
    out, err = run.communicate(timeout=120)
    os.unlink(late)
    checks.check("median_step_ms=" in out and err == "", "killed before the program began: it runs", f"{out!r} {err!r}")
    left = os.listdir(build.folder.name)
    checks.check(left == ["killed.gpuprof"], "killed before the program began: the profile is there, and nothing else", str(left))
    if left == ["killed.gpuprof"]:
        found = rows(build.path("killed.gpuprof"))
        checks.check(found == expected, "killed before the program began: it is whole", f"{found} for {expected}")
        os.unlink(build.path("killed.gpuprof"))


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


def scheduled(build, checks):
    """The kernel schedules each session as a group: the recorder's has the priority of the program's."""
    if not os.path.exists("/proc/self/autogroup"):
        print("skipped  autogroup: this kernel has none")
        return
    run = subprocess.Popen(["sh", "-c", 'echo 3 >/proc/self/autogroup; sleep 0.5; exec "$@"', "sh", build.gpuprof, "run", "-q", "-f", "-o", "killed.gpuprof",
                            "--", "sh", "-c", "echo runs; sleep 1"], stdout=subprocess.PIPE, text=True, env=build.env, cwd=build.folder.name,
                           start_new_session=True)
    run.stdout.readline()
    with open(f"/proc/{recorder(run.pid)}/autogroup", encoding="ascii") as f:
        group = f.read()
    run.communicate(timeout=60)
    checks.check(group.endswith("nice 3\n"), "the recorder has the priority of the program's session", group)
    os.unlink(build.path("killed.gpuprof"))


COUNTS = """
import signal, time
got = []
signal.signal(signal.SIGUSR1, lambda number, frame: got.append(number))
print('ready', flush=True)
end = time.monotonic() + 2.5
while time.monotonic() < end:
    time.sleep(0.02)
print('got', len(got), flush=True)
"""


def witness_alone(build, checks):
    """It tells apart what is sent to gpuprof alone and to its group."""
    run = subprocess.Popen([build.gpuprof, "run", "-q", "-o", "killed.gpuprof", "--", sys.executable, "-c", COUNTS],
                           stdout=subprocess.PIPE, text=True, env=build.env, cwd=build.folder.name, start_new_session=True)
    run.stdout.readline()
    for _ in range(2):
        for pid in children(run.pid):
            with open(f"/proc/{pid}/comm", encoding="ascii") as f:
                if f.read() == "witness\n":
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.3)
        os.killpg(run.pid, signal.SIGUSR1)
        time.sleep(0.3)
    run.send_signal(signal.SIGUSR1)
    out = run.communicate(timeout=60)[0]
    checks.check((out, run.returncode) == ("got 3\n", 0), "witness killed: three signals come once each", f"{run.returncode} {out!r}")
    os.unlink(build.path("killed.gpuprof"))


def main():
    build, checks = Build(sys.argv[1]), Checks()
    seed = int.from_bytes(os.urandom(4), "little")
    random.seed(seed)
    print(f"seed {seed}")
    expected = whole(build)
    for i in range(int(sys.argv[2]) if len(sys.argv) > 2 else 3):
        in_front(build, checks, f"gpuprof killed alone, {i + 1}", random.uniform(0, 0.5), expected)
        both(build, checks, f"gpuprof and its recorder killed, {i + 1}", random.uniform(0, 1.2), expected)
        at_the_end(build, checks, f"both killed at the end, {i + 1}", random.uniform(0, 0.05), expected)
        everything(build, checks, f"the job killed, {i + 1}", random.uniform(0, 1.2))
    before_the_program(build, checks, expected)
    recorder_alone(build, checks)
    scheduled(build, checks)
    witness_alone(build, checks)
    checks.done()


if __name__ == "__main__":
    main()
