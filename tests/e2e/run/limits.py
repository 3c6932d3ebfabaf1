#!/usr/bin/env python3
"""Machines that are short of something: a disk that is full from the beginning, or fills up while the
program runs, few file descriptors for many processes, and a container that may use a fifth of a core. The program is what it is without gpuprof;
what could not be recorded is said. Left out where no file system may be mounted.

usage: limits.py BUILD
"""
import os
import re
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import DEVICE, Build, Checks

KERNELS = "SELECT count(*) FROM kernel"
STEPS = ["--steps", "24", "--defect", "launch-bound"]
FILLED = """
mount -t tmpfs -o size=$1 none "$2" || exit 77
cd "$2" || exit 77
shift 2
"$@"
status=$?
cp -- *.gpuprof .. 2>/dev/null
ls >../left
exit $status
"""
FILLS = '"$0" "$@" & sleep $PAUSE; dd if=/dev/zero of=rest bs=64k status=none 2>/dev/null; wait $!'
A_FIFTH = """
top=/sys/fs/cgroup
mount -t tmpfs none $top 2>/dev/null || { mount -t tmpfs none /sys/fs && mkdir $top; } || exit 77
mkdir $top/cpu && mount -t cgroup -o cpu none $top/cpu 2>/dev/null || exit 77
mkdir $top/cpu/gpuprof-$$ && cd $top/cpu/gpuprof-$$ || exit 77
echo 100000 >cpu.cfs_period_us && echo 20000 >cpu.cfs_quota_us && echo $$ >tasks || exit 77
cd "$1"
shift
"$@"
status=$?
echo $$ >$top/cpu/tasks
rmdir $top/cpu/gpuprof-$$
exit $status
"""
SPINS = "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass\nprint('spun')"


def apart():
    """How to get a view of the file systems of one's own; None: not here."""
    for how in (["unshare", "-m"], ["unshare", "-rm"]):
        try:
            if subprocess.run([*how, "sh", "-c", "mount -t tmpfs none /mnt"],
                              capture_output=True, check=False).returncode == 0:
                return how
        except OSError:
            return None
    return None


def ask(profile, query):
    db = sqlite3.connect(profile)
    rows = db.execute(query).fetchall()
    db.close()
    return rows


def said(text):
    """What the trainer says, but for times."""
    return re.sub(r"[0-9.]+ ms|=[0-9.]+|\(.*\)", "", text)


def full_disk(build, checks, how):
    plain = build.run([build.gpuprof, "run", "-q", "-f", "-o", "all.gpuprof", "--device", DEVICE, "--", build.train, *STEPS])
    all_there = ask(build.path("all.gpuprof"), KERNELS)[0][0]
    os.unlink(build.path("all.gpuprof"))
    os.mkdir(build.path("disk"))
    settled = False
    # On a slow machine the disk may be full before the program's first record: then it fills later.
    for size, fills, noted in (("512k", 0, {"no-spool"}), ("3m", 0, {"no-ring", "disk-full"}), ("12m", 0, set()), ("16m", 0, set()),
                               ("20m", 0, set()), *(("24m", pause, set()) for pause in (0.3, 0.6, 1.2))):
        if settled:
            continue
        what = f"a disk of {size}" + (" that fills up" if fills else "")
        program = ["sh", "-c", FILLS, build.train, *STEPS] if fills else [build.train, *STEPS]
        run = build.run([*how, "sh", "-c", FILLED, "-", size, build.path("disk"), build.gpuprof, "run", "-q",
                         "-o", "a.gpuprof", "--device", DEVICE, "--", *program], PAUSE=str(fills))
        checks.check(run.returncode == 0 and said(run.stdout) == said(plain.stdout),
                     f"{what}: status and output", f"{run.returncode}, {run.stdout[-300:]}, {run.stderr[-300:]}")
        with open(build.path("left"), encoding="utf-8") as f:
            left = set(f.read().split()) - {"a.gpuprof", "rest"}
        checks.check(not left, f"{what}: nothing left behind", str(left))
        notes = dict(ask(build.path("a.gpuprof"), "SELECT s.text, h.value FROM health h JOIN string s ON s.id = h.code"))
        checks.check(noted <= notes.keys(), f"{what}: noted", str(notes))
        there, dropped = ask(build.path("a.gpuprof"), KERNELS)[0][0], notes.get("cupti-dropped", 0)
        settled = bool(fills) and "disk-full" not in notes
        if not noted and (settled or not 0 < fills < 1):  # a collector that gets no core in time costs records: these are counted
            checks.check("disk-full" not in notes and 0 < there <= all_there <= there + dropped,
                         f"{what}: every kernel is kept, or counted", f"{there} and {dropped} of {all_there}, {notes}")
        os.unlink(build.path("a.gpuprof"))


def many_processes(build, checks):
    """More at once than gpuprof may open files, and one that runs a program after the other."""
    many = os.path.join(build.bin, "agent_many")
    for how, n, said_last in (("children", 200, "200 children\n"), ("chain", 12, "the last\n")):
        run = build.run(["sh", "-c", 'ulimit -n 64; exec "$@"', "-", build.gpuprof, "run", "-q", "-o", f"{how}.gpuprof",
                         "--", many, how, str(n)])
        checks.check((run.returncode, run.stdout) == (0, said_last), f"{n} processes, {how}: status and output",
                     f"{run.returncode}, {run.stdout}, {run.stderr[-300:]}")
        seen = ask(build.path(f"{how}.gpuprof"), "SELECT (SELECT count(*) FROM process), (SELECT count(*) FROM range), "
                   "(SELECT group_concat(s.text) FROM health h JOIN string s ON s.id = h.code)")[0]
        checks.check(seen[:2] == (n, 10 * n), f"{n} processes, {how}: all of them, and their ranges", str(seen))


def no_room(build, checks):
    """Nothing of the program can be recorded: nobody says that it used no GPU, and --strict fails."""
    for how, status in (((), 0), (("--strict",), 125)):
        run = build.run([build.gpuprof, "run", "-f", *how, "--device", DEVICE, "-o", "none.gpuprof", "--", "sh", "-c",
                         'ulimit -f 100; exec "$@"', "-", build.train, *STEPS])
        checks.check(run.returncode == status and run.stdout.count("median_step_ms") == 1,
                     f"no room for a spool {' '.join(how)}: status {status}", f"{run.returncode} {run.stderr}")
        wrong = [w for w in ("used no GPU", "GPU work", "nothing to change", "marked no step") if w in run.stderr]
        checks.check("no room for its spool" in run.stderr and "(ulimit -f)" in " ".join(run.stderr.split()) and not wrong, f"no room {' '.join(how)}: the verdict says so",
                     f"{wrong} {run.stderr}")


def no_proc(build, checks, how):
    run = build.run([*how, "sh", "-c", 'umount -l /proc && exec "$@"', "-", build.gpuprof, "run", "--device", DEVICE, "--", "true"])
    checks.check(run.returncode in (2, 125) and "/proc is not mounted" in run.stderr and len(run.stderr.splitlines()) == 1,
                 "no /proc: one line says so", f"{run.returncode} {run.stderr}")


def narrow(build, checks):
    """A stack, or files, of almost no size."""
    for how, status, text in (("-s 64", 0, "Verdict"), ("-s 128", 0, "Verdict"), ("-f 100", 125, "(ulimit -f)")):
        run = build.run(["bash", "-c", f'ulimit {how}; exec "$@"', "-", build.gpuprof, "run", "-f", "--device", DEVICE, "-o",
                         "narrow.gpuprof", "--", build.train, "--steps", "3"])
        checks.check(run.returncode == status and text in run.stderr, f"ulimit {how}: {text}", f"{run.returncode} {run.stderr[-500:]}")
        if os.path.exists(build.path("narrow.gpuprof")):
            os.unlink(build.path("narrow.gpuprof"))
        left = [name for name in os.listdir(build.folder.name) if "narrow" in name or name.startswith(".gpuprof")]
        checks.check(not left, f"ulimit {how}: nothing left behind", str(left))


def fifth_of_a_core(build, checks, how):
    run = build.run([*how, "sh", "-c", A_FIFTH, "-", build.folder.name, build.gpuprof, "run", "-q", "-o",
                     "fifth.gpuprof", "--device", DEVICE, "--", sys.executable, "-c", SPINS])
    if run.returncode == 77:
        print("        no group with a CPU limit here: left out")
        return
    checks.check((run.returncode, run.stdout) == (0, "spun\n"), "a fifth of a core: status and output", run.stderr)
    facts = dict(ask(build.path("fifth.gpuprof"), "SELECT key, value FROM fact WHERE key LIKE 'cgroup_cpu_%'"))
    periods = int(facts.get("cgroup_cpu_periods", 0))
    checks.check(facts.get("cgroup_cpu_quota") == "0.20" and 3 <= periods <= 60
                 and 1 <= int(facts["cgroup_cpu_throttled_periods"]) <= periods, "a fifth of a core: facts", str(facts))


def main():
    build, checks = Build(sys.argv[1]), Checks()
    many_processes(build, checks)
    no_room(build, checks)
    narrow(build, checks)
    how = apart()
    if not how:
        print("        no file system may be mounted here: the rest is left out")
        checks.done()
    no_proc(build, checks, how)
    full_disk(build, checks, how)
    fifth_of_a_core(build, checks, how)
    checks.done()


if __name__ == "__main__":
    main()
