#!/usr/bin/env python3
"""A job with a folder on its node's own disk (SLURM_TMPDIR): what grows lies there, the finished profile where it was asked for, and
nothing else stays. Two that want one name; requests through the profile's folder; all of gpuprof killed; a folder that cannot be used.

usage: node_disk.py BUILD
"""
import glob
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import DEVICE, Build, Checks


def command(build, output, *options, steps):
    return [build.gpuprof, "run", "-q", *options, "--device", DEVICE, "-o", output, "--", build.train, "--steps", str(steps)]


def start(build, output, *options, steps, **variables):
    run = subprocess.Popen(command(build, output, *options, steps=steps), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env={**build.env, **variables}, cwd=build.folder.name, start_new_session=True)
    run.stdout.readline()
    return run


def files(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, folders, names in os.walk(folder)
                  for name in [*names, *folders])


def steps_of(profile):
    db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
    try:
        return db.execute("SELECT (SELECT count(*) FROM range JOIN string s ON s.id = name WHERE s.text = 'step'), "
                          "(SELECT count(*) FROM result)").fetchone()
    finally:
        db.close()


def until(condition):
    """Whether that came about within a minute."""
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    return condition()


def step_now(build, where):
    """The step that gpuprof knows of; 0: none yet."""
    found = re.search(r"step (\d+)", build.run([build.gpuprof, "record", "--status", where]).stdout)
    return int(found.group(1)) if found else 0


def while_it_grows(build, checks, disk):
    run = start(build, "out/x.gpuprof", "--report", "--full", steps=600, SLURM_TMPDIR=disk)
    until(lambda: all(any(word in f for f in files(disk)) for word in (".spool", ".partial")))
    grows, beside = files(disk), files(build.path("out"))
    checks.check(any(f.endswith(".spool") for f in grows) and any(".partial" in f for f in grows), "records and profile grow on the node's disk",
                 str(grows))
    empty = [f for f in beside if os.path.isfile(build.path(f"out/{f}")) and os.path.getsize(build.path(f"out/{f}"))]
    checks.check(not empty and any(f.startswith("x.gpuprof.") for f in beside), "the name is reserved where the profile belongs", str(beside))
    checks.check(until(lambda: step_now(build, "out") > 0), "it answers through the profile's folder")
    done = build.run(command(build, "out/x.gpuprof", steps=5), SLURM_TMPDIR=disk)
    checks.check(done.returncode == 0 and "x.2.gpuprof" in files(build.path("out")), "another run with this name gets the next one",
                 done.stderr)
    os.unlink(build.path("out/x.2.gpuprof"))
    out, err = run.communicate(timeout=240)
    checks.check(run.returncode == 0 and "median_step_ms=" in out, "the run ends as ever", out + err)
    checks.check(f"report: {os.path.join('out', 'x.html')}" in err or not err, "the page lies beside the profile", err)
    # the file by which --status asked stays, as without a disk of the node
    checks.check(not files(disk) and files(build.path("out")) == ["gpuprof.record", "x.gpuprof", "x.html"], "nothing else stays",
                 str(files(disk) + files(build.path("out"))))
    steps, results = steps_of(build.path("out/x.gpuprof"))
    checks.check(steps == 600 and results > 0, "all steps and the results are in it", f"{steps} {results}")


def without_steps(build, checks):
    """Who asks where a run is gets a word also when no process can say."""
    os.makedirs(build.path("early"))
    run = subprocess.Popen([build.gpuprof, "run", "-q", "-o", "early/x.gpuprof", "--", "sleep", "60"], env=build.env, cwd=build.folder.name,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 30
        while not any(f.startswith(".gpuprof-") for f in os.listdir(build.path("early"))) and time.monotonic() < end:
            time.sleep(0.05)
        for where in ("early", str(run.pid)):
            done = build.run([build.gpuprof, "record", "--status", where])
            checks.check(done.returncode == 0 and not done.stdout and "has marked a step yet" in done.stderr,
                         f"--status {'of a folder' if where == 'early' else 'of a process'} before the first step", done.stdout + done.stderr)
    finally:
        run.terminate()
        run.wait(60)


def two_in_a_folder(build, checks, disk):
    runs = [start(build, "both/", steps=20, SLURM_TMPDIR=disk) for _ in range(2)]
    for run in runs:
        run.communicate(timeout=240)
    made = glob.glob(build.path("both/*.gpuprof"))
    checks.check(len(made) == 2 and all(steps_of(p)[0] == 20 for p in made) and not files(disk), "two runs into one folder lose nothing",
                 str(files(build.path("both")) + files(disk)))


def killed(build, checks, disk):
    run = start(build, "killed.gpuprof", steps=100000, SLURM_TMPDIR=disk)
    until(lambda: step_now(build, str(run.pid)) > 40)
    with open(f"/proc/{run.pid}/task/{run.pid}/children", encoding="ascii") as f:
        for pid in f.read().split():  # the recorder is in a session of its own
            os.kill(int(pid), signal.SIGKILL)
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    left = glob.glob(os.path.join(disk, ".gpuprof-*"))
    for name in left:
        os.utime(name, (time.time() - 100,) * 2)  # one that is young may belong to a run that begins
    loud = [word for word in command(build, "next.gpuprof", steps=5) if word != "-q"]
    done = build.run(loud, SLURM_TMPDIR=disk)
    told = [line for line in done.stderr.splitlines() if "gpuprof import" in line]
    checks.check(len(left) == 1 and len(told) == 1 and left[0] in told[0], "the next run on this node tells of what a killed one left", done.stderr)
    done = build.run([build.gpuprof, "import", *left, "-o", "recovered.gpuprof"])
    checks.check(done.returncode == 0 and steps_of(build.path("recovered.gpuprof"))[0] > 5 and not files(disk), "import makes a profile of it",
                 done.stderr + str(files(disk)))
    for name in glob.glob(build.path("killed.gpuprof.*.partial")):
        os.utime(name, (time.time() - 100,) * 2)  # one that is young may be about to be locked
    build.run(command(build, "killed.gpuprof", steps=5), SLURM_TMPDIR=disk)
    stay = [f for f in files(build.folder.name) if "partial" in f or ".gpuprof-" in f]
    checks.check(not stay, "the reserved name goes with the next run", str(stay))


def armed(build, checks, disk):
    run = start(build, "armed.gpuprof", "--armed", steps=400, SLURM_TMPDIR=disk)
    done = build.run([build.gpuprof, "record", str(run.pid), "--steps", "5"])
    run.communicate(timeout=240)
    checks.check(done.returncode == 0 and steps_of(build.path("armed.w1.gpuprof"))[0] >= 5 and not files(disk), "so does a window that is asked for",
                 done.stderr + str(files(disk)))


def elsewhere(build, checks):
    for value in ("relative", build.path("missing"), ""):
        done = build.run(command(build, "beside.gpuprof", "-f", steps=3), SLURM_TMPDIR=value)
        checks.check(done.returncode == 0 and os.path.exists(build.path("beside.gpuprof")), f"SLURM_TMPDIR={value!r}: it grows beside the profile",
                     done.stderr)


def container(build, checks, disk):
    """A container seldom sees the disk of the node, so the records stay beside the profile."""
    runtime = build.path("apptainer")
    with open(runtime, "w", encoding="ascii") as f:
        f.write('#!/bin/sh\nls -A "$SLURM_TMPDIR"\nexec "$@"\n')
    os.chmod(runtime, 0o755)
    words = command(build, "contained.gpuprof", steps=5)
    words.insert(words.index("--") + 1, runtime)
    done = build.run(words, SLURM_TMPDIR=disk)
    checks.check(done.returncode == 0 and ".gpuprof-" not in done.stdout and steps_of(build.path("contained.gpuprof"))[0] == 5,
                 "what a container records grows beside the profile", done.stdout + done.stderr)


def main():
    build, checks = Build(sys.argv[1]), Checks()
    disk = build.path("disk")
    os.mkdir(disk)
    os.mkdir(build.path("out"))
    without_steps(build, checks)
    while_it_grows(build, checks, disk)
    two_in_a_folder(build, checks, disk)
    killed(build, checks, disk)
    armed(build, checks, disk)
    elsewhere(build, checks)
    container(build, checks, disk)
    checks.done()


if __name__ == "__main__":
    main()
