#!/usr/bin/env python3
"""scripts/setup.sh with an apt-get that only writes down how it is called: it says what is missing, asks on a terminal and
installs nothing after a no, asks nobody without one, and installs all in one go. Nothing of this machine is changed.

usage: setup.py
"""
import os
import pty
import subprocess
import sys
import tempfile

SETUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/setup.sh")
FAKES = {"apt-get": 'echo "$*" >>"$CALLS"', "dpkg-query": 'case $* in *libdw-dev*) exit 1 ;; esac; [ -n "${ALL:-}" ] && echo ok installed', "apt-cache": "exit 0", "sudo": '"$@"',
         "pkg-config": "exit 1", "id": "echo 0"}


def fake(folder):
    for name, body in FAKES.items():
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\n{body}\n")
        os.chmod(path, 0o755)
    for name in ("sh", "dirname", "tr", "env", "mktemp", "rm", "tail", "cat", "grep"):
        os.symlink(subprocess.check_output(["which", name], text=True).strip(), os.path.join(folder, name))


def on_terminal(arguments, environment, answer):
    ours, theirs = pty.openpty()
    with subprocess.Popen(arguments, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as run:
        os.close(theirs)
        os.write(ours, answer.encode())
        said = b""
        while True:
            try:
                more = os.read(ours, 4096)
            except OSError:
                break
            if not more:
                break
            said += more
    os.close(ours)
    return run.returncode, said.decode()


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        fake(folder)
        calls = os.path.join(folder, "calls")
        environment = {"PATH": folder, "CALLS": calls}
        shell = os.path.join(folder, "sh")

        def check(good, what, why):
            nonlocal failed
            failed += not good
            print(f"{'ok      ' if good else 'FAILED  '}{what}{'' if good else ': ' + why}")

        def called():
            text = ""
            if os.path.exists(calls):
                with open(calls, encoding="utf-8") as f:
                    text = f.read()
                os.remove(calls)
            return text

        for answer, installs in (("n\n", False), ("\n", True), ("y\n", True)):
            status, said = on_terminal([shell, SETUP, "build"], environment, answer)
            got = called()
            check("cmake" in said and "install them with apt-get? [Y/n]" in said, f"it says what is missing and asks ({answer!r})", said)
            check(("install -y" in got) == installs and (status == 0) == installs, f"and obeys ({answer!r})", f"{status} {got}")
        done = subprocess.run([shell, SETUP, "build"], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
        got = called().splitlines()
        check(done.returncode == 0 and "[Y/n]" not in done.stdout, "without a terminal it asks nobody", done.stdout + done.stderr)
        check(len(got) == 2 and all(p in got[1] for p in ("gcc", "cmake", "zlib1g-dev", "libjpeg62-turbo-dev")) and "|" not in got[1],
              "and installs all in one go", str(got))
        check("libdw-dev" in got[1], "with what gpuprof can do without", str(got))
        done = subprocess.run([shell, SETUP, "build"], env={**environment, "ALL": "1"}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)
        got = called()
        check(done.returncode == 0 and not got and not done.stdout, "which alone it does not install", f"{got} {done.stdout}{done.stderr}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
