#!/usr/bin/env python3
"""Runs the commands of README and of docs/tutorial.md (`$ ` lines of their console blocks), each in an empty folder, as a reader would; the answer that it
shows of a trace is what `analyze` says now on a terminal of 80x24.

    readme.py BUILD [--write]     --write: puts today's answer into README.md
"""
import os
import shutil
import re
import subprocess
import sys
import tempfile

from screen import on_terminal
from support import Build

README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "README.md")
TUTORIAL = os.path.join(os.path.dirname(README), "docs", "tutorial.md")
TRACE = os.path.join(os.path.dirname(README), "..", "shared", "traces", "resnet50-v100-workers0.json.gz")


def commands(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for block in re.findall(r"```console\n(.*?)```", text, re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                yield line[2:]


def answer(build, write):
    """Is the first block, `$ gpuprof analyze TRACE` and what it says, as it is now?"""
    with open(README, encoding="utf-8") as f:
        text = f.read()
    shown = re.search(r"```\n\$ gpuprof analyze (\S+)\n(.*?)```", text, re.S)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(TRACE, os.path.join(folder, shown[1]))
        now = "\n".join(on_terminal(Build(build), ["analyze", shown[1]], folder=folder)) + "\n"
    if shown[2] == now:
        return True
    if write:
        with open(README, "w", encoding="utf-8") as f:
            f.write(text.replace(shown[2], now))
        return True
    print("FAILED  README.md's first answer is not today's: python3 tests/e2e/readme.py build --write")
    print(f"README.md shows\n{shown[2]}\nbut today it is\n{now}")
    return False


# What the README's example must show: the planted cause, and that the run without it is quicker.
SHOWS = {"analyze slow.gpuprof": "Load data in parallel workers", "diff base.gpuprof slow.gpuprof": "GPU idle: waiting for input data",
         "analyze": "Load data in parallel workers", "try --runs 2 --apply num_workers=2 train_conv.gpuprof": "num_workers=2",
         "diff train_conv.gpuprof better.gpuprof": "NEW takes"}


# Two runs of each kind may not decide whether a change saves time: `try` then says so by its status.
ENDS = {"try": (0, 1, 3)}


def shows(command, said):
    return all(what in said for end, what in SHOWS.items() if re.sub(r"\s*#.*", "", command).endswith(end))


def main():
    build = os.path.abspath(sys.argv[1])
    ran = failed = 0
    if os.path.exists(TRACE):
        ran, failed = 1, int(not answer(build, "--write" in sys.argv))
    else:
        print("left out: no recordings in ../shared/traces")
    for page in (README, TUTORIAL):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(build, os.path.join(folder, "build"))
            for command in commands(page):
                done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=120)
                ok = done.returncode in ENDS.get(command.split()[1], (0,)) and (done.stdout or done.stderr or "-o " in command)
                ok = ok and shows(command, done.stdout)
                print(("ok      " if ok else "FAILED  ") + command)
                if not ok:
                    print(f"        status {done.returncode}\n{done.stdout[-500:]}\n{done.stderr[-1000:]}")
                ran += 1
                failed += not ok
    print(f"{ran - failed} passed, {failed} failed")
    return 1 if failed or ran < 5 else 0


if __name__ == "__main__":
    sys.exit(main())
