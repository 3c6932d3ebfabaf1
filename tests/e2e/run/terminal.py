#!/usr/bin/env python3
"""A program on a terminal, as a user starts it: the keys that signal (Ctrl-C, Ctrl-\\, Ctrl-Z), a shell's fg and bg, a window
that changes its size, a connection that breaks; directly, from an interactive shell and under script(1). Without and
with gpuprof the same must stand on the screen, and the caller must see the same end.

usage: terminal.py BUILD [TIMES]
"""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import Build, Checks

LONGEST_S = 30
CTRL_C, CTRL_D, CTRL_Z, CTRL_BACKSLASH = b"\x03", b"\x04", b"\x1a", b"\x1c"
SHELL = ["bash", "--norc", "--noprofile", "--noediting", "-i"]

# tells how large its window is whenever it hears of it, and writes into a file what it got. A signal that comes right before a
# read begins would be told after the read only: so it waits for signals and keys at once.
WATCHES = """
import os, select, signal, sys, time
def told(number, frame):
    with open(sys.argv[1], 'a') as f:
        f.write(f'{number}\\n')
    if number == signal.SIGWINCH:
        os.write(1, 'size {} {}\\n'.format(*os.get_terminal_size(0)).encode())
heard, hears = os.pipe()
os.set_blocking(hears, False)
signal.set_wakeup_fd(hears)
for number in (signal.SIGWINCH, signal.SIGINT, signal.SIGHUP, signal.SIGCONT, signal.SIGTERM):
    signal.signal(number, told)
os.write(1, b'ready\\n')
try:
    while True:
        there = select.select([0, heard], [], [])[0]
        if heard in there:
            os.read(heard, 64)
        if 0 in there and not os.read(0, 64):
            break
except OSError:
    pass
time.sleep(0.3)
"""


class Terminal:
    """A command in the foreground of a terminal of its own; what stands on its screen."""

    def __init__(self, command, folder, environment):
        self.screen = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            self.fd = 0
            self.resize(24, 80)  # here: the program would hear of it
            os.chdir(folder)
            os.execvpe(command[0], command, {**environment, "PS1": "> ", "TERM": "dumb", "HISTFILE": "/dev/null"})

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, until):
        """What is there until then; False at the end."""
        if not select.select([self.fd], [], [], max(0, until - time.monotonic()))[0]:
            return False
        try:
            data = os.read(self.fd, 4096)
        except OSError:  # the other side is closed
            data = b""
        self.screen += data
        return bool(data)

    def wait(self, text, times=1):
        """Until the text stands there so often; what comes later is not lost."""
        until = time.monotonic() + LONGEST_S
        while self.screen.count(text.encode()) < times:
            if not self.read(until):
                raise RuntimeError(f"no '{text}' ({times}) on the screen: {self.screen.decode(errors='replace')!r}")

    def keys(self, data):
        os.write(self.fd, data)

    def end(self):
        """The whole screen, and the status."""
        until = time.monotonic() + LONGEST_S
        while self.read(until):
            pass
        while (seen := os.waitpid(self.pid, os.WNOHANG)) == (0, 0) and time.monotonic() < until:
            time.sleep(0.01)
        self.close()
        return self.screen.decode(errors="replace").splitlines(), os.waitstatus_to_exitcode(seen[1]) if seen[0] else None

    def close(self):
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


class Ways:
    """The same words for a program without and with gpuprof: `./program`, in a folder each."""

    def __init__(self, build):
        self.build = build
        self.folders = {}
        for way in ("without", "with"):
            self.folders[way] = build.path(way)
            os.mkdir(self.folders[way])

    def give(self, program):
        run = {"without": [], "with": [self.build.gpuprof, "run", "-q", "-f", "-o", "p.gpuprof", "--"]}
        for way, folder in self.folders.items():
            path = os.path.join(folder, "program")
            with open(path, "w", encoding="utf-8") as f:
                words = " ".join("'" + w.replace("'", "'\\''") + "'" for w in [*run[way], *program])
                f.write(f"#!/bin/sh\nexec {words}\n")
            os.chmod(path, 0o755)


def compare(checks, ways, what, program, act, command=("./program",)):
    """`act(terminal, folder)` uses the terminal; the screens, the ends and what it returns are compared."""
    ways.give(program)
    seen = {}
    for way, folder in ways.folders.items():
        terminal = Terminal(list(command), folder, ways.build.env)
        try:
            terminal.wait("> " if command[0] == "bash" else "ready\r")
            more = act(terminal, folder)
            screen, status = terminal.end()
            # a shell echoes what is typed when it comes to it
            seen[way] = (sorted(screen) if command[0] == "bash" else screen, status, more)
        except (RuntimeError, OSError) as problem:
            seen[way] = (way, str(problem))
        finally:
            terminal.close()
    checks.check(seen["with"] == seen["without"], what, f"{seen['with']} instead of {seen['without']}")
    return seen["with"]


def direct(checks, ways, counts, command, how):
    def keys(t, _):
        for key, number in ((CTRL_C, 2), (CTRL_BACKSLASH, 3), (CTRL_Z, 20), (CTRL_C, 2)):
            times = t.screen.decode(errors="replace").count(f"got {number}\r") + 1
            t.keys(key)
            t.wait(f"got {number}\r", times)
        t.keys(CTRL_D)
    seen = compare(checks, ways, f"{how}: Ctrl-C, Ctrl-\\, Ctrl-Z, Ctrl-C, handled", counts, keys, command)
    said = [line for line in seen[0] if line.startswith("count ")]
    checks.check(said == ["count 2: 2 0", "count 3: 1 0", "count 20: 1 0"], f"{how}: each once", str(seen))
    for key, number, name in ((CTRL_C, "2", "Ctrl-C"), (CTRL_BACKSLASH, "3", "Ctrl-\\")):
        compare(checks, ways, f"{how}: {name} ends it", [*counts, "default", number], lambda t, _, k=key: t.keys(k), command)

    def resized(t, folder):
        for rows, columns in ((30, 100), (31, 101)):
            t.resize(rows, columns)
            t.wait(f"size {columns} {rows}\r")
        t.keys(CTRL_D)
        with open(os.path.join(folder, "log"), encoding="utf-8") as f:
            return f.read()
    for folder in ways.folders.values():
        if os.path.exists(os.path.join(folder, "log")):
            os.remove(os.path.join(folder, "log"))
    seen = compare(checks, ways, f"{how}: another size, twice", [sys.executable, "-c", WATCHES, "log"], resized, command)
    checks.check(seen[2] == "28\n28\n", f"{how}: each size is told once", str(seen))


def breaks(checks, ways):
    """The terminal goes away: it is told once."""
    ways.give([sys.executable, "-c", WATCHES, "hung"])
    for way, folder in ways.folders.items():
        path = os.path.join(folder, "hung")
        t = Terminal(["./program"], folder, ways.build.env)
        t.wait("ready\r")
        t.close()
        _, status = os.waitpid(t.pid, 0)
        told = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
        checks.check(told == "1\n18\n" and status == 0, f"a connection that breaks, {way} gpuprof: SIGHUP and SIGCONT", f"{told!r} {status}")


def shell(checks, ways, counts):
    """Job control of an interactive shell: Ctrl-Z, jobs, fg, bg, kill %1."""
    def stopped_and_on(t, _):
        t.keys(b"./program\n")
        t.wait("ready")
        for times in (1, 2):
            t.keys(CTRL_Z)
            t.wait("Stopped", times)
            t.wait("> ", times + 1)
            t.keys(b"fg\n")
            t.wait("got 18\r", times)
        t.keys(CTRL_C)
        t.wait("got 2\r")
        t.keys(CTRL_D)
        t.wait("> ", 4)
        t.keys(b"echo status $?\n")
        t.wait("status 0")
        t.keys(b"exit\n")
    seen = compare(checks, ways, "a shell: Ctrl-Z and fg, twice, Ctrl-C", [*counts, "default", "20"], stopped_and_on, SHELL)
    checks.check({"count 2: 1 0", "count 18: 2 0"} <= set(seen[0]), "a shell: each once", str(seen))

    def behind(t, _):
        t.keys(b"./program </dev/zero &\n")  # its input never ends, and is not the terminal
        t.wait("ready")
        for word, number, times in (("-USR1", 10, 1), ("-STOP", 0, 0), ("-CONT", 18, 1), ("-INT", 2, 1)):
            t.keys(f"kill {word} %1\n".encode())
            if number:
                t.wait(f"got {number}\r", times)
            else:
                time.sleep(0.3)
        t.keys(b"kill -KILL %1; wait; echo o''ver\n")
        t.wait("over\r")
        t.keys(b"exit\n")
        return re.findall(r"got (\d+)\r", t.screen.decode(errors="replace"))
    ways.give(counts)
    for way, folder in ways.folders.items():
        t = Terminal(SHELL, folder, ways.build.env)
        t.wait("> ")
        told = behind(t, folder)
        t.end()
        checks.check(told == ["10", "18", "2"], f"a job in the background, {way} gpuprof: each once", str(told))

    def ended(t, _):
        t.keys(b"./program\n")
        t.wait("ready")
        t.keys(CTRL_C)
        t.wait("> ", 2)
        t.keys(b"echo status $?\n")
        t.wait("status 130")
        t.keys(b"exit\n")
    compare(checks, ways, "a shell: Ctrl-C ends it, and the shell goes on", [*counts, "default", "2"], ended, SHELL)


def inside(checks, ways):
    """The shell itself under gpuprof: its jobs get the terminal and the keys."""
    def used(t, _):
        start = b"sh -c \"echo sta''rted; exec sleep 50\"\n"  # what is typed stands on the screen, too
        t.keys(start)
        t.wait("started\r")
        t.keys(CTRL_C)
        t.wait("> ", 2)
        t.keys(start)
        t.wait("started\r", 2)
        t.keys(CTRL_Z)
        t.wait("Stopped")
        t.wait("> ", 3)
        t.keys(b"kill %1\n")
        t.wait("> ", 4)
        t.keys(b"while kill -0 %1 2>/dev/null; do sleep 0.1; done; echo o''ver\n")
        t.wait("over\r")
        t.keys(b"exit 3\n")
        return None
    ways.give(["sh", "-c", "echo ready; exec " + " ".join(SHELL)])
    ends = {}
    for way, folder in ways.folders.items():
        t = Terminal(["./program"], folder, ways.build.env)
        try:
            t.wait("> ")
            used(t, folder)
            ends[way] = t.end()[1]
        except RuntimeError as problem:
            ends[way] = str(problem)
        finally:
            t.close()
    checks.check(ends["with"] == ends["without"] == 3, "a shell under gpuprof: Ctrl-C, Ctrl-Z, kill %1 go to its jobs", str(ends))


def main():
    build, checks = Build(sys.argv[1]), Checks()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a script
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    counts, ways = [os.path.join(build.bin, "counts_signals")], Ways(build)
    for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 1):
        direct(checks, ways, counts, ("./program",), "alone")
        if shutil.which("script"):
            direct(checks, ways, counts, ("script", "-qec", "exec ./program", "/dev/null"), "script")
        breaks(checks, ways)
        if shutil.which("bash"):
            shell(checks, ways, counts)
            inside(checks, ways)
        for folder in ways.folders.values():
            for name in ("hung", "log"):
                if os.path.exists(os.path.join(folder, name)):
                    os.remove(os.path.join(folder, name))
    left = set(os.listdir(ways.folders["with"])) - {"program", "p.gpuprof"}
    checks.check(not left, "nothing is left behind", ", ".join(sorted(left)))
    checks.done()


if __name__ == "__main__":
    main()
