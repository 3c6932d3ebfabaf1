#!/usr/bin/env python3
"""The answer on one screen: what `run` ends with, and `analyze` on a terminal of 80x24; how the program ended is told."""
import fcntl
import gzip
import os
import pty
import re
import shutil
import struct
import sys
import termios

from support import Build, Checks

EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/examples/train_conv-workers0.gpuprof.gz")


def on_terminal(build, arguments, rows=24, columns=80, folder=".", **variables):
    """What the command, run in that folder, writes on a terminal of that size."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    pid = os.fork()
    if pid == 0:
        os.dup2(theirs, 1)
        os.dup2(theirs, 2)
        os.close(ours)
        os.chdir(folder)
        environment = {k: v for k, v in build.env.items() if k not in ("COLUMNS", "PAGER", "LESS")}
        os.execve(build.gpuprof, ["gpuprof", *arguments], {**environment, "TERM": "xterm", "NO_COLOR": "1", **variables})
    os.close(theirs)
    text = b""
    while True:
        try:
            more = os.read(ours, 65536)
        except OSError:
            break
        if not more:
            break
        text += more
    os.close(ours)
    os.waitpid(pid, 0)
    shown = re.sub(r"(\rgpuprof: [^\r\n]*)+\r\x1b\[K", "", text.decode())  # the line of progress, which a slow machine sees
    return shown.replace("\r", "").splitlines()


def widest(lines):
    return max(map(len, lines), default=0)


def screens(build, checks):
    profile = build.path("example.gpuprof")
    with gzip.open(EXAMPLE) as packed, open(profile, "wb") as out:
        shutil.copyfileobj(packed, out)
    for columns in (60, 80):
        lines = on_terminal(build, ["analyze", profile], columns=columns)
        checks.check(len(lines) <= 22 and widest(line for line in lines if profile not in line) <= columns,
                     f"analyze fits {columns}x24", f"{len(lines)} lines, {widest(lines)} columns")
        text = "\n".join(lines)
        checks.check("Verdict" in text and " 1  Load data" in text and "saves" in text and "gpuprof analyze -v" in text,
                     f"it has verdict, finding and what to type, at {columns} columns", text)
    lines = on_terminal(build, ["analyze", profile], columns=200, COLUMNS="60")
    checks.check(widest(line for line in lines if profile not in line) <= 60, "COLUMNS=60 is obeyed", str(widest(lines)))
    hint = build.run([build.gpuprof, "lint-trace", profile])
    checks.check(hint.returncode == 2 and f"gpuprof export {profile}" in hint.stderr, "lint-trace says how to make a trace of a profile",
                 hint.stderr)
    pager = build.path("pager")
    with open(pager, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\nsed 's/^/paged: /'\n")
    os.chmod(pager, 0o755)
    for variable in ("PAGER", "GPUPROF_PAGER"):
        lines = on_terminal(build, ["analyze", "-v", profile], **{variable: pager})
        checks.check(len(lines) > 40 and all(line.startswith("paged: ") for line in lines), f"-v goes through ${variable}")
    lines = on_terminal(build, ["analyze", "-v", profile], PAGER="/nowhere/pager")
    checks.check(any(line.startswith("Verdict") for line in lines), "a pager that is not there hides nothing")
    piped = build.run([build.gpuprof, "analyze", profile]).stdout
    checks.check("found nothing" in piped, "a pipe gets the whole text")


def ends(build, checks):
    cases = (("exit 0", None), ("exit 3", "the program failed with exit status 3"),
             ("kill -9 $$", "signal 9 (Killed) killed the program"))
    for number, (script, told) in enumerate(cases):
        profile = build.path(f"end{number}.gpuprof")
        done = build.run([build.gpuprof, "run", "-o", profile, "--", "sh", "-c", script], COLUMNS="100")
        again = build.run([build.gpuprof, "analyze", profile]).stdout
        before = done.stderr.split("gpuprof: Verdict")[0]  # of the answer, which is as wide as the terminal
        first = [line for line in before.splitlines() if "GPU" in line]
        checks.check(widest(first) <= 80, "no line about the GPU is wider than 80 columns", "\n".join(first))
        for where, text in (("the summary", done.stderr), ("analyze", again)):
            checks.check((told in text) if told else ("Ended" not in text), f"{where} tells of `{script}`", text)
    script = "import ctypes; ctypes.CDLL('libcudart.so.13').cudaGraphicsMapResources()"
    done = build.run([build.gpuprof, "run", "--device", "virtual", "-o", build.path("call.gpuprof"), "--", sys.executable,
                      "-c", script], COLUMNS="100")
    checks.check("the program stopped: it called cudaGraphicsMapResources, which the virtual GPU lacks" in
                 done.stderr.replace("\ngpuprof:         ", ""), "a call that the virtual GPU lacks is named", done.stderr)


def main():
    build, checks = Build(sys.argv[1]), Checks()
    screens(build, checks)
    if os.path.exists(os.path.join(os.path.dirname(build.bin), "lib", "libgpuprof_agent.so")):
        ends(build, checks)
    checks.done()


if __name__ == "__main__":
    main()
