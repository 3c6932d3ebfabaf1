#!/usr/bin/env python3
"""gpuprof-mpi makes the profile that `gpuprof reduce` makes, row for row, whatever number of processes reads; and whatever
goes wrong is one line. Skips (77) where gpuprof-mpi was not built or MPI's launcher is missing.
Usage: mpi.py GPUPROF GPUPROF-MPI MPIRUN"""
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from reduce import slow
from many_ranks import Job, damaged, one_late

# Open MPI starts no job of root, and none of more processes than cores, unless asked.
ASKED = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
         "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
KILLED = "BAD TERMINATION"  # what MPICH's launcher says; it kills the other processes at once
failed = 0
program = launcher = ""


def check(good, what, more=""):
    global failed
    failed += not good
    print(f"{'ok  ' if good else 'FAIL'} {what}" + (f": {more}" if not good else ""), flush=True)


def start(processes, *arguments):
    return subprocess.Popen([launcher, "-n", str(processes), program, *arguments], env={**os.environ, **ASKED}, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


def finish(job, seconds=240):
    """Status and gpuprof's own lines, or the launcher's; None where the job hangs."""
    try:
        out, err = job.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        job.communicate()
        return None, ["it hangs"]
    return job.returncode, [line for line in (out + err).splitlines() if line.startswith("gpuprof: ") or KILLED in line]


def mpi(processes, *arguments):
    return finish(start(processes, *arguments))


def rows(profile):
    """All tables but the stored answer, whose time of writing differs."""
    with sqlite3.connect(f"file:{profile}?mode=ro", uri=True) as db:
        return [line for line in db.iterdump() if not line.startswith('INSERT INTO "result"')]


def told(gpuprof, profile):
    """Of profiles of one name, in folders of their own."""
    done = subprocess.run([gpuprof, "analyze", "--json", os.path.basename(profile)], cwd=os.path.dirname(profile),
                          capture_output=True, text=True, timeout=600)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


def same(gpuprof, ranks, scenario, counts):
    with tempfile.TemporaryDirectory(prefix="gpuprof-mpi-") as top:
        traces, one = os.path.join(top, "traces"), os.path.join(top, "one", "job.gpuprof")
        os.mkdir(os.path.dirname(one))
        scenario(ranks, traces)
        by_one = subprocess.run([gpuprof, "reduce", traces, "-o", one], capture_output=True, text=True, timeout=600)
        for n in counts:
            other = os.path.join(top, str(n), "job.gpuprof")
            os.mkdir(os.path.dirname(other))
            status, lines = mpi(n, traces, "-o", other)
            what = f"{ranks} ranks, {scenario.__name__}, {n} processes"
            check(status == 0 and lines == [line.replace(one, other) for line in by_one.stderr.splitlines()],
                  f"{what}: says what reduce says", f"{status} {lines} {by_one.stderr}")
            check(os.path.exists(other) and rows(one) == rows(other), f"{what}: the same rows")
            first = told(gpuprof, one)
            check("verdict" in first and first == told(gpuprof, other), f"{what}: the same answer")
            check(os.listdir(os.path.dirname(other)) == ["job.gpuprof"], f"{what}: leaves the profile alone",
                  str(os.listdir(os.path.dirname(other))))


def refused(top, traces):
    """One line of one process, status 2, and no profile."""
    nothing, other, profile = (os.path.join(top, n) for n in ("nothing", "other.json", "x.gpuprof"))
    os.mkdir(nothing)
    with open(other, "w", encoding="utf-8") as f:
        f.write("{}")
    for arguments in [], [traces], [nothing, "-o", profile], [os.path.join(top, "none"), "-o", profile], [other, "-o", profile], \
            [traces, "-o", profile, "--jbs"], [traces, "-o", os.path.join(top, "no", "x.gpuprof")], [traces, "-o", nothing]:
        status, lines = mpi(3, *arguments)
        check(status == 2 and len(lines) == 1 and not os.path.exists(profile),
              f"refused in one line: gpuprof-mpi {' '.join(os.path.basename(a) for a in arguments)}", f"{status} {lines}")
    status, lines = mpi(2, traces, "-o", profile)
    again, more = mpi(2, traces, "-o", profile)
    check(status == 0 and again == 2 and len(more) == 1, "an existing profile is not replaced without -f", f"{lines} {more}")
    status, lines = mpi(2, "-f", "-q", traces, "-o", profile)
    check(status == 0 and not lines, "but with -f; --quiet", f"{status} {lines}")


def process(job, number):
    """Its id, by the launcher's variables; None."""
    wanted = {f"{name}={number}".encode() for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                variables = f.read().split(b"\0")
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if words[0] == program.encode() and job.encode() in words and wanted & set(variables):
            return int(pid)
    return None


def dies(top):
    """A process is killed while it reads its share: the job ends, and the process that writes says so."""
    traces, profile = os.path.join(top, "halves"), os.path.join(top, "killed.gpuprof")
    Job(4).write(traces)
    last = os.path.join(traces, "train.rank3.json.gz")
    slow(last)
    job = start(2, traces, "-o", profile)
    victim = process(profile, 1)
    check(victim is not None, "a process reads its trace", f"{victim}")
    if victim:
        os.kill(victim, signal.SIGKILL)
    status, lines = finish(job, 60)
    check(status not in (0, None) and len(lines) == 1 and ("process died" in lines[0] or KILLED in lines[0]) and not os.path.exists(profile),
          "a process that dies ends the job in one line", f"{status} {lines}")


def main():
    global program, launcher
    gpuprof, program, launcher = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
    if not os.path.exists(program) or not shutil.which(launcher):
        print("skipped: no MPI, so no gpuprof-mpi")
        return 77
    same(gpuprof, 8, one_late, [1, 2, 3, 11])
    same(gpuprof, 8, damaged, [2, 3])
    same(gpuprof, 64, one_late, [3])
    same(gpuprof, 64, damaged, [2])
    with tempfile.TemporaryDirectory(prefix="gpuprof-mpi-") as top:
        traces = os.path.join(top, "traces")
        Job(5).write(traces)
        refused(top, traces)
        dies(top)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
