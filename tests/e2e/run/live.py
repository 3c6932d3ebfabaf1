#!/usr/bin/env python3
"""Asking for a profile whose run goes on: each command says so in one line, with status 2, and takes nothing from the run,
whose profile is whole in the end. The program is stopped meanwhile, so that it cannot end first.

usage: live.py BUILD
"""
import glob
import os
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import DEVICE, Build, Checks

STEPS = 60


def start(build, *arguments):
    return subprocess.Popen(
        [build.gpuprof, "run", "-q", *arguments, "--device", DEVICE, "-o", "live.gpuprof", "--", build.train,
         "--steps", str(STEPS)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=build.env,
        cwd=build.folder.name)


def trainer(pid):
    """The program among gpuprof's children."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        for child in f.read().split():
            with open(f"/proc/{child}/comm", encoding="ascii") as name:
                if name.read().startswith("train_conv"):
                    return int(child)
    raise RuntimeError("no trainer")


def until_there(pattern):
    for _ in range(600):
        found = [p for p in glob.glob(pattern) if os.path.isdir(p) or os.path.getsize(p) > 0]
        if found:
            return found[0]
        time.sleep(0.1)
    raise RuntimeError(f"nothing like {pattern}")


def refused(build, checks, phrase, *arguments):
    done = build.run([build.gpuprof, *arguments])
    lines = done.stderr.splitlines()
    checks.check(done.returncode == 2 and not done.stdout and len(lines) == 1 and phrase in lines[0],
                 " ".join(os.path.basename(a) for a in arguments), f"{done.returncode} {done.stdout!r} {done.stderr!r}")


def whole(build, checks, run, what):
    out, err = run.communicate(timeout=240)
    checks.check(run.returncode == 0 and "median_step_ms=" in out and not err, f"{what}: the run ends as ever", out + err)
    db = sqlite3.connect(f"file:{build.path('live.gpuprof')}?mode=ro", uri=True)
    steps = db.execute("SELECT count(*) FROM range JOIN string s ON s.id = name WHERE s.text = 'step'").fetchone()[0]
    lost = db.execute("SELECT count(*) FROM health_note WHERE text LIKE '%lost%' OR text LIKE '%dropped%'").fetchone()[0]
    db.close()
    checks.check(steps == STEPS and lost == 0, f"{what}: nothing is lost", f"{steps} of {STEPS} steps, {lost} notes")


def main():
    build, checks = Build(sys.argv[1]), Checks()
    run = start(build)
    run.stdout.readline()
    program = trainer(run.pid)
    partial = until_there(build.path("live.gpuprof.*.partial"))
    folder = until_there(build.path(".gpuprof-*"))
    os.kill(program, signal.SIGSTOP)
    try:
        for command in (["analyze"], ["diff", "live.gpuprof"], ["gate", "live.gpuprof"], ["report", "-o", "x.html"],
                        ["export", "-o", "x.json"], ["import", "-o", "x.gpuprof"]):
            refused(build, checks, "still writing this profile", *command, "live.gpuprof")
        refused(build, checks, "still writing this profile", "analyze", partial)
        refused(build, checks, "still records into this folder", "import", folder, "-o", "x.gpuprof")
        os.symlink(folder, build.path("link"))
        refused(build, checks, "still records into this folder", "import", build.path("link"), "-o", "x.gpuprof")
        os.unlink(build.path("link"))
        checks.check(os.path.isdir(folder) and os.path.exists(partial), "the run keeps its files")
        checks.check(not glob.glob(build.path("x.*")), "nothing is written", str(os.listdir(build.folder.name)))
    finally:
        os.kill(program, signal.SIGCONT)
    whole(build, checks, run, "asked meanwhile")
    run = start(build, "-f")  # over the profile that is there: until the end that one answers
    run.stdout.readline()
    until_there(build.path("live.gpuprof.*.partial"))
    done = build.run([build.gpuprof, "analyze", "live.gpuprof"])
    checks.check(done.returncode == 0 and "Verdict" in done.stdout, "the profile before it can be read", done.stderr)
    whole(build, checks, run, "replaced")
    checks.done()


if __name__ == "__main__":
    main()
