#!/usr/bin/env python3
"""A signal reaches the program once, as without gpuprof: whoever sends it (to the process, to its group, to
each process, timeout, a terminal, a shell's job control), whatever the program does with it (handlers that
count, ignored, blocked, a group or session of its own). Each case runs with and without gpuprof, and what the
program saw and its caller saw are compared.

usage: signals.py BUILD [TIMES]
"""
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import Build, Checks

PYTHON = sys.executable
S = signal.Signals
SOME = [S.SIGINT, S.SIGTERM, S.SIGHUP, S.SIGQUIT, S.SIGUSR1, S.SIGUSR2, S.SIGTSTP, S.SIGCONT, S.SIGWINCH,
        S.SIGALRM, S.SIGURG, S.SIGXCPU, S.SIGPWR, S.SIGABRT, S.SIGCHLD, S.SIGPIPE]
REAL = signal.SIGRTMIN + 3
LONGEST_S = 30
LIBC = ctypes.CDLL(None, use_errno=True)

# saves on the first SIGTERM, leaves on the second
SAVES = """
import signal, sys, time
told = []
def stop(number, frame):
    told.append(number)
    if len(told) > 1:
        sys.exit('killed before the checkpoint')
signal.signal(signal.SIGTERM, stop)
print('ready', flush=True)
deadline = time.monotonic() + 60
while not told and time.monotonic() < deadline:
    time.sleep(0.01)
time.sleep(0.6)
print('saved', told, flush=True)
"""


class Ways:
    """A program without gpuprof, and under `gpuprof run`."""

    def __init__(self, build, counts):
        self.build, self.counts = build, counts

    def both(self, program, outer=()):
        run = [self.build.gpuprof, "run", "-q", "-f", "-o", self.build.path("signals.gpuprof"), "--"]
        return {"without": [*outer, *program], "with": [*outer, *run, *program]}


def start(build, command, **how):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                               env=build.env, cwd=build.folder.name, **how)
    process.timer = threading.Timer(LONGEST_S, end, [process]) # what waits for it sees it end, and fails
    process.timer.daemon = True
    process.timer.start()
    return process


def end(process):
    """All that is left of it."""
    process.timer.cancel()
    if process.returncode is None:
        for pid in descendants(process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def until(stream, wanted):
    """Lines until one of them is `wanted`; it ends early where the program does."""
    lines = []
    for line in stream:
        lines.append(line.rstrip("\n"))
        if lines[-1] == wanted:
            break
    return lines


def finish(process):
    """What the program counted, and its status."""
    out, _ = process.communicate()
    process.timer.cancel()
    return [line for line in out.splitlines() if not line.startswith("got ")], process.returncode


def descendants(pid):
    found = [pid]
    for at in found:
        try:
            with open(f"/proc/{at}/task/{at}/children", encoding="ascii") as f:
                found += [int(p) for p in f.read().split()]
        except OSError:
            pass
    return found


def to_each(pid, number):
    """As a batch system does it: all processes that it finds, one by one."""
    for one in descendants(pid):
        try:
            os.kill(one, number)
        except ProcessLookupError:
            pass


def queue_value(pid, number, value):
    if LIBC.sigqueue(pid, int(number), ctypes.c_void_p(value)) != 0:
        raise OSError(ctypes.get_errno(), "sigqueue")


SENDERS = {
    "to the process": os.kill,
    "to its group": os.killpg,
    "to each process": to_each,
}


def compare(checks, ways, what, program, act, outer=(), **how):
    """`act(process)` does something to the started program; what came of it is compared."""
    seen = {}
    for way, command in ways.both(program, outer).items():
        process = start(ways.build, command, start_new_session=True, **how)
        first = until(process.stdout, "ready")
        try:
            acted = act(process)
            seen[way] = (first, acted, *finish(process))
        finally:
            end(process)
    checks.check(seen["with"] == seen["without"], what, f"{seen['with']} instead of {seen['without']}")
    return seen["with"]


def got(process, number, times=1):
    """Waits until the program has said that it got a signal so often."""
    for _ in range(times):
        until(process.stdout, f"got {int(number)}")


def counted(checks, ways):
    """Every signal by every sender, to a program that counts."""
    for how, send in SENDERS.items():
        for number in [*SOME, REAL]:
            def act(process):
                send(process.pid, number)
                got(process, number)
            seen = compare(checks, ways, f"{int(number)} {how}", [ways.counts], act)
            checks.check(f"count {int(number)}: 1 0" in seen[2], f"{int(number)} {how}: once", str(seen))


def over(pid):
    """The moment is over in which gpuprof holds a signal, and counts the same one from the same sender as that one."""
    pending = True
    while pending:
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            pending = any(int(line.split()[1], 16) for line in f if line.startswith(("ShdPnd", "SigPnd")))
    time.sleep(0.3)


def twice(checks, ways):
    """Two of them, a moment apart, or at once and of different kinds."""
    for how, send in SENDERS.items():
        def act(process):
            send(process.pid, signal.SIGUSR1)
            got(process, signal.SIGUSR1)
            send(process.pid, signal.SIGUSR1)
            got(process, signal.SIGUSR1)
            send(process.pid, signal.SIGUSR2)
            send(process.pid, signal.SIGTERM)
            got(process, signal.SIGTERM)
        compare(checks, ways, f"several {how}", [ways.counts], act)

    def first_one_then_all(process):
        os.kill(process.pid, signal.SIGUSR1)
        got(process, signal.SIGUSR1)
        os.killpg(process.pid, signal.SIGUSR1)
        got(process, signal.SIGUSR1)
        over(process.pid)
        os.kill(process.pid, signal.SIGUSR1)
        got(process, signal.SIGUSR1)
    compare(checks, ways, "to the process, to the group, to the process", [ways.counts], first_one_then_all)

    def values(process):
        for value in (3, 4, 5):
            queue_value(process.pid, REAL, value)
        queue_value(process.pid, signal.SIGUSR1, 70)
        got(process, signal.SIGUSR1)
    compare(checks, ways, "values of sigqueue, three queued at once", [ways.counts], values)

    def queued(process):
        for _ in range(3):
            os.killpg(process.pid, REAL)
            os.kill(process.pid, REAL)
        got(process, REAL, 6)
    compare(checks, ways, "real-time signals to process and group, three times", [ways.counts], queued)


def timed_out(ways, program, options, number):
    """What a program under `timeout` counts when timeout is told to end; and its status."""
    outer = ["timeout", *options, "-s", number.name[3:], "60"]
    process = start(ways.build, ways.both(program, outer)["with"], start_new_session=True)
    until(process.stdout, "ready")
    os.kill(process.pid, number)
    if program == [ways.counts]:
        got(process, number)
    return finish(process)


def timeouts(checks, ways):
    """timeout signals its child, then its own group. Where it waits for a core in between, a program gets both without
    gpuprof, too: one of three times is quick enough, and gpuprof must not make two of one each time."""
    for options in ([], ["--foreground"]):
        for number in (S.SIGTERM, S.SIGINT, S.SIGHUP, S.SIGUSR1):
            for what, program, wanted in (("C", [ways.counts], f"count {int(number)}: 1 0"),
                                          ("Python", [PYTHON, "-c", SAVES], "saved [15]")):
                if what == "Python" and number != S.SIGTERM:
                    continue
                for _ in range(3):
                    said, status = timed_out(ways, program, options, number)
                    if wanted in said and status == 0:
                        break
                checks.check(wanted in said and status == 0,
                             f"timeout {' '.join(options)} {number.name}, {what}: once", f"{said}, {status}")


def ends(checks, ways):
    """What the program does not handle ends it, and its caller sees that."""
    for how, send in SENDERS.items():
        for number in (S.SIGINT, S.SIGTERM, S.SIGHUP, S.SIGQUIT, S.SIGUSR1, S.SIGALRM, S.SIGVTALRM):
            seen = compare(checks, ways, f"ends by {number.name} {how}",
                           [ways.counts, "default", str(int(number))],
                           lambda p: (send(p.pid, number), p.wait(60))[1:])
            checks.check(seen[3] == -number, f"ends by {number.name} {how}: status", str(seen))


def dispositions(checks, ways):
    """Ignored, blocked; and what a process keeps when it becomes another program."""
    for how, send in SENDERS.items():
        def act(process):
            send(process.pid, signal.SIGTERM)
            send(process.pid, signal.SIGUSR1)
            got(process, signal.SIGUSR1)
        for word in ("ignore", "block"):
            compare(checks, ways, f"{word}s SIGTERM {how}", [ways.counts, word, "15"], act)
    shown = ["sh", "-c", "grep -E '^(SigBlk|SigIgn|ShdPnd|SigPnd)' /proc/self/status; echo ready"]
    for what, prepare in (
            ("SIGINT and SIGQUIT ignored, as in the background of a script",
             lambda: [signal.signal(n, signal.SIG_IGN) for n in (signal.SIGINT, signal.SIGQUIT)]),
            ("SIGTSTP and SIGCHLD ignored",
             lambda: [signal.signal(n, signal.SIG_IGN) for n in (signal.SIGTSTP, signal.SIGCHLD)]),
            ("SIGUSR1 and SIGRTMIN blocked",
             lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGRTMIN}))):
        compare(checks, ways, f"inherited: {what}", shown, lambda p: None, preexec_fn=prepare)
    compare(checks, ways, "inherited: an ignored SIGINT is handled by a program that wants it", [ways.counts],
            lambda p: (os.killpg(p.pid, signal.SIGINT), got(p, signal.SIGINT))[:0],
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    compare(checks, ways, "inherited: an alarm", [ways.counts, "default", "14"], lambda p: p.wait(60),
            preexec_fn=lambda: signal.setitimer(signal.ITIMER_REAL, 1.5))
    compare(checks, ways, "inherited: a signal that is pending", [ways.counts, "block", "10"], lambda p: None,
            preexec_fn=lambda: (signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1}),
                                os.kill(os.getpid(), signal.SIGUSR1)))


def wait_for(pid, options):
    _, status = os.waitpid(pid, options)
    return ("stopped", os.WSTOPSIG(status)) if os.WIFSTOPPED(status) else \
        ("continued",) if os.WIFCONTINUED(status) else ("ended", status)


def stops(checks, ways):
    """The caller sees the program stop and go on, by job control's signals and by SIGSTOP."""
    for how, send in (("to the process", os.kill), ("to its group", os.killpg)):
        for number in (S.SIGTSTP, S.SIGSTOP, S.SIGTTIN, S.SIGTTOU):
            def act(process):
                seen = []
                for _ in range(2):
                    send(process.pid, number)
                    seen.append(wait_for(process.pid, os.WUNTRACED))
                    send(process.pid, signal.SIGCONT)
                    seen.append(wait_for(process.pid, os.WCONTINUED))
                    got(process, signal.SIGCONT)
                return seen
            options = [] if number == S.SIGSTOP else ["default", str(int(number))]
            # in a session of its own a group is orphaned, and only SIGSTOP stops it
            compare_in_job(checks, ways, f"{number.name} and SIGCONT, twice, {how}", [ways.counts, *options], act)

    def handled(process):
        os.killpg(process.pid, signal.SIGTSTP)
        got(process, signal.SIGTSTP)
        return os.waitpid(process.pid, os.WUNTRACED | os.WNOHANG)[0]
    compare_in_job(checks, ways, "SIGTSTP that is handled: nobody stops", [ways.counts], handled)

    def stopped_alone(process):
        program = next(p for p in descendants(process.pid)[::-1] if name_of(p) == "counts_signals")
        os.kill(program, signal.SIGSTOP)
        seen = [wait_for(process.pid, os.WUNTRACED)]
        os.kill(program, signal.SIGCONT)
        os.kill(process.pid, signal.SIGCONT)
        return seen + [wait_for(process.pid, os.WCONTINUED)]
    compare_in_job(checks, ways, "the program stops itself", [ways.counts, "default", "18"], stopped_alone)


def name_of(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""


def compare_in_job(checks, ways, what, program, act):
    """As compare, in a group of its own, like a shell's job: its parent is in another group."""
    seen = {}
    for way, command in ways.both(program).items():
        process = start(ways.build, command, preexec_fn=lambda: os.setpgid(0, 0))
        first = until(process.stdout, "ready")
        try:
            acted = act(process)
            seen[way] = (first, acted, *finish(process))
        finally:
            end(process)
    checks.check(seen["with"] == seen["without"], what, f"{seen['with']} instead of {seen['without']}")


def main():
    build, checks = Build(sys.argv[1]), Checks()
    ways = Ways(build, os.path.join(build.bin, "counts_signals"))
    for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 1):
        for part in (counted, twice, timeouts, ends, dispositions, stops):
            part(checks, ways)
    left = sorted(set(os.listdir(build.folder.name)) - {"signals.gpuprof"})
    checks.check(not left, "nothing is left behind", ", ".join(left))
    checks.done()


if __name__ == "__main__":
    main()
