#!/usr/bin/env python3
"""gpuprof reduce as a command: it goes on where it was stopped, and bad input is one line. That it answers as the folder does is
in many_ranks.py.
Usage: reduce.py GPUPROF"""
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time

from many_ranks import Job, analyze, answer

RANKS = 40  # three parts
failed = 0


def check(good, what, more=""):
    global failed
    failed += not good
    print(f"{'ok  ' if good else 'FAIL'} {what}" + (f": {more}" if not good else ""), flush=True)


def reduce(gpuprof, *arguments):
    return subprocess.run([gpuprof, "reduce", *arguments], capture_output=True, text=True, timeout=600)


def trace(traces, rank):
    return os.path.join(traces, f"train.rank{rank}.json.gz")


def spoil(path, same_time):
    """Other bytes, as many."""
    was = os.stat(path)
    with open(path, "wb") as f:
        f.write(b"x" * was.st_size)
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns if same_time else was.st_mtime_ns + 10**9))


def slow(path):
    """A trace that takes many seconds to read: gigabytes of white space."""
    space = gzip.compress(b" " * (1 << 26), 1)
    with open(path, "wb") as f:
        f.write(gzip.compress(b'{"traceEvents":[') + space * 400 + gzip.compress(b"]}"))


def stop(gpuprof, traces, profile):
    """One part has a trace that takes long; reduce is killed once the others are done."""
    os.rename(trace(traces, 20), trace(traces, 20) + ".kept")
    slow(trace(traces, 20))
    child = subprocess.Popen([gpuprof, "reduce", "-q", "-j", "2", traces, "-o", profile], start_new_session=True)
    done, parts = [], profile + ".parts"
    for _ in range(6000):
        done = sorted(n for n in os.listdir(parts) if not n.endswith(".new")) if os.path.isdir(parts) else []
        if len(done) == 2:
            break
        time.sleep(0.02)
    os.killpg(child.pid, 9)
    child.wait()
    check(done == ["part-00000", "part-00002"] and not os.path.exists(profile), "a stopped reduce leaves the parts that are done",
          str(done))
    os.remove(trace(traces, 20))
    os.rename(trace(traces, 20) + ".kept", trace(traces, 20))


def goes_on(gpuprof, traces, profile):
    """What was read is not read again, unless it has changed."""
    before = answer(analyze(gpuprof, traces))
    stop(gpuprof, traces, profile)
    spoil(trace(traces, 3), same_time=True)
    with open(profile + ".parts/part-00002", "r+b") as f:
        f.truncate(100)
    done = reduce(gpuprof, traces, "-o", profile)
    after = answer(analyze(gpuprof, profile)) if done.returncode == 0 else {}
    check(done.returncode == 0 and before == after, "the same command goes on, and answers as the folder does",
          done.stderr + str([k for k in before if before[k] != after.get(k)]))
    check(not os.path.exists(profile + ".parts"), "the parts are gone with the profile written")
    again = reduce(gpuprof, traces, "-o", profile)
    check(again.returncode == 2 and len(again.stderr.splitlines()) == 1, "an existing profile is not replaced without -f",
          again.stderr)
    stop(gpuprof, traces, profile := profile + "2")
    spoil(trace(traces, 35), same_time=False)
    done = reduce(gpuprof, traces, "-o", profile)
    check(done.returncode == 0 and "train.rank35" in done.stderr and "train.rank3." in done.stderr and len(
        answer(analyze(gpuprof, profile))["ranks"]) == RANKS - 2, "files that changed are read again, and damaged ones named", done.stderr)


def inside(gpuprof, traces):
    """The profile may lie in the folder: a later call does not take it for a rank."""
    profile = os.path.join(traces, "job.gpuprof")
    for more in [], ["-f"]:
        done = reduce(gpuprof, traces, "-o", profile, *more)
        check(done.returncode == 0 and len(analyze(gpuprof, profile)["ranks"]) == 5, f"a profile beside the traces {more}", done.stderr)


def foreign_parts(gpuprof, traces, folder):
    """Beside the output lies a folder of parts that is none of gpuprof's: another user's link, or the user's own."""
    own, profile = os.path.join(folder, "spark"), os.path.join(folder, "lies.gpuprof")
    os.mkdir(own, 0o700)
    for name in "part-00000", "part-00001":
        with open(os.path.join(own, name), "w", encoding="ascii") as f:
            f.write("precious")
    os.symlink(own, profile + ".parts")
    linked = reduce(gpuprof, traces, "-o", profile)
    os.remove(profile + ".parts")
    os.rename(own, profile + ".parts")
    lies = reduce(gpuprof, traces, "-o", profile)
    left = sorted(os.listdir(profile + ".parts"))
    check(all(d.returncode == 2 and len(d.stderr.splitlines()) == 1 for d in (linked, lies)) and left == ["part-00000", "part-00001"],
          "a folder of parts that is not gpuprof's stays as it is", f"{linked.stderr} {lies.stderr} {left}")


def workers(process):
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as f:
        return [int(p) for p in f.read().split()]


def a_worker_dies(gpuprof, traces):
    """`analyze` reads a folder on all cores. One process reads a trace that takes long, and is killed: another does its
    share."""
    before, last = answer(analyze(gpuprof, traces)), trace(traces, RANKS - 1)
    os.rename(last, last + ".kept")
    slow(last)
    child, found = subprocess.Popen([gpuprof, "analyze", "--json", traces], stdout=subprocess.PIPE, text=True), []
    until = time.monotonic() + 20
    while time.monotonic() < until and not found and child.poll() is None:
        found = workers(child)
    time.sleep(1)
    os.rename(last + ".kept", last)
    for worker in found:
        os.kill(worker, 9)
    told = child.communicate(timeout=600)[0]
    check(found and child.returncode == 0 and answer(json.loads(told)) == before, "analyze uses several cores; the death of a process "
          "changes nothing", f"{found} {child.returncode}")


def refused(gpuprof, folder):
    nothing, other = os.path.join(folder, "nothing"), os.path.join(folder, "other.json")
    os.mkdir(nothing)
    with open(other, "w", encoding="utf-8") as f:
        f.write("{}")
    profile = os.path.join(folder, "x.gpuprof")
    for arguments in [], [nothing], [nothing, "-o", profile], [os.path.join(folder, "none"), "-o", profile], [other, "-o", profile], \
            [other, "-o", profile, "-j", "-1"], [other, "-o", os.path.join(folder, "no", "x.gpuprof")]:
        done = reduce(gpuprof, *arguments)
        check(done.returncode == 2 and len(done.stderr.splitlines()) == 1 and not os.path.exists(profile),
              f"refused in one line: reduce {' '.join(os.path.basename(a) for a in arguments)}", done.stderr)


def main():
    gpuprof = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="gpuprof-reduce-") as folder:
        traces, few = os.path.join(folder, "traces"), os.path.join(folder, "few")
        Job(RANKS, late=lambda r, s: 1500 if r == 7 else 0).write(traces)
        Job(5).write(few)
        goes_on(gpuprof, traces, os.path.join(folder, "job.gpuprof"))
        foreign_parts(gpuprof, few, folder)
        inside(gpuprof, few)
        if len(os.sched_getaffinity(0)) > 1:
            a_worker_dies(gpuprof, traces)
        refused(gpuprof, folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
