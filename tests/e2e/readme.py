#!/usr/bin/env python3
"""Runs the README's commands (`$ ` lines of its console blocks) in an empty folder, as a reader would."""
import os
import re
import subprocess
import sys
import tempfile


def commands(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for block in re.findall(r"```console\n(.*?)```", text, re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                yield line[2:]


def main():
    build = os.path.abspath(sys.argv[1])
    readme = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "README.md")
    ran = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(build, os.path.join(folder, "build"))
        for command in commands(readme):
            done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=120)
            ok = done.returncode == 0 and (done.stdout or done.stderr or "-o " in command)
            print(("ok      " if ok else "FAILED  ") + command)
            if not ok:
                print(f"        status {done.returncode}\n{done.stdout[-500:]}\n{done.stderr[-1000:]}")
            ran += 1
            failed += not ok
    print(f"{ran - failed} passed, {failed} failed")
    return 1 if failed or ran < 5 else 0


if __name__ == "__main__":
    sys.exit(main())
