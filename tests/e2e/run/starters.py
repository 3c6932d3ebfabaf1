#!/usr/bin/env python3
"""What starts programs in clusters and containers, and signals them: tini (its child, its child's group, as process 1 of a
container), Slurm's `scancel --signal` and its end of a job (each process of the job step, one by one, in the
order of their numbers). The program gets each signal once, as without gpuprof.

usage: starters.py BUILD [TIMES]
"""
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from signals import S, Ways, compare, descendants, got, until
from support import Build, Checks

TINI = shutil.which("tini") or shutil.which("tini-static")
SENT = (S.SIGINT, S.SIGTERM, S.SIGHUP, S.SIGQUIT, S.SIGUSR1, S.SIGUSR2, S.SIGWINCH, S.SIGCONT)
# a container: its first process sees itself as number 1
CONTAINER = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]


def one_each(checks, ways, what, program, send, outer=()):
    for number in SENT:
        def act(process, number=number):
            send(process.pid, number)
            got(process, number)
        seen = compare(checks, ways, f"{what}: {number.name}", program, act, outer)
        checks.check(f"count {int(number)}: 1 0" in seen[2] and seen[3] == 0, f"{what}: {number.name} once", str(seen))


def below(levels):
    """Sends to the first child of the first child of what was started."""
    def send(pid, number):
        for _ in range(levels):
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
                pid = int(f.read().split()[0])
        os.kill(pid, number)
    return send


def contained():
    return subprocess.run([*CONTAINER, "true"], capture_output=True, check=False).returncode == 0


def tinis(checks, ways):
    counts = [ways.counts]
    one_each(checks, ways, "tini", counts, os.kill, [TINI, "--"])
    one_each(checks, ways, "tini -g", counts, os.kill, [TINI, "-g", "--"])
    one_each(checks, ways, "tini -g under gpuprof", [TINI, "-g", "--", *counts], os.kill)
    if contained():
        one_each(checks, ways, "tini -g as process 1", counts, below(1), [*CONTAINER, TINI, "-g", "--"])
        one_each(checks, ways, "process 1", counts, below(1), CONTAINER)
    else:
        print("skipped  process 1: no namespaces here")
    for number in (S.SIGTERM, S.SIGINT):
        compare(checks, ways, f"tini -g: ends by {number.name}", [*counts, "default", str(int(number))],
                lambda p, n=number: (os.kill(p.pid, n), p.wait(60))[1:], [TINI, "-g", "--"])


def of_step(pid, number):
    """The processes in the step's cgroup, in the order in which the kernel lists them."""
    for one in sorted(descendants(pid)):
        try:
            os.kill(one, number)
        except ProcessLookupError:
            pass


def below_shell(pid, number):
    """scancel --signal without --full: all of the step, not the batch script itself."""
    for one in sorted(set(descendants(pid)) - {pid}):
        try:
            os.kill(one, number)
        except ProcessLookupError:
            pass


def slurm(checks, ways):
    counts = [ways.counts]
    one_each(checks, ways, "scancel --signal, a step", counts, of_step)
    script = ["sh", "-c", 'trap : HUP INT QUIT USR1 USR2 TERM; "$@"; echo status $?', "job.sh"]
    one_each(checks, ways, "scancel --signal, below a batch script", counts, below_shell, script)
    one_each(checks, ways, "scancel --full --signal, with the batch script", counts, of_step, script)
    # two programs of a step that share a script
    two = ["sh", "-c", 'trap : USR1 TERM; exec 3<&0; "$@" <&3 & "$@" <&3 & wait; wait; wait', "step.sh"]
    for number in (S.SIGUSR1, S.SIGTERM):
        def act(process, number=number):
            of_step(process.pid, number)
            got(process, number, 2)
        compare(checks, ways, f"scancel --signal, two programs: {number.name}", [*two, *counts],
                lambda p, a=act: (until(p.stdout, "ready"), a(p))[:0])  # the second one's

    def cancelled(process):
        of_step(process.pid, signal.SIGCONT)
        got(process, signal.SIGCONT)
        of_step(process.pid, signal.SIGTERM)
        got(process, signal.SIGTERM)
    seen = compare(checks, ways, "scancel: SIGCONT, then SIGTERM", counts, cancelled)
    checks.check({"count 15: 1 0", "count 18: 1 0"} <= set(seen[2]), "scancel: each once", str(seen))
    compare(checks, ways, "scancel: ends by SIGTERM", [*counts, "default", "15"],
            lambda p: (of_step(p.pid, signal.SIGCONT), got(p, signal.SIGCONT), of_step(p.pid, signal.SIGTERM), p.wait(60))[3:])


def main():
    build, checks = Build(sys.argv[1]), Checks()
    build.env["TINI_VERBOSITY"] = "0"
    ways = Ways(build, os.path.join(build.bin, "counts_signals"))
    for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 1):
        if TINI:
            tinis(checks, ways)
        else:
            print("skipped  tini: not installed")
        slurm(checks, ways)
    left = sorted(set(os.listdir(build.folder.name)) - {"signals.gpuprof"})
    checks.check(not left, "nothing is left behind", ", ".join(left))
    checks.done()


if __name__ == "__main__":
    main()
