#!/usr/bin/env python3
"""The templates of ci/, their commands run as shell, in one folder one after the other, as CI does: the first run has no
baseline, the second passes, a slowdown fails and is named, a crash fails, and twice the batch is refused.

usage: templates.py BUILD
"""
import os
import re
import shlex
import sys

from support import DEVICE, Build, Checks

SOURCE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))


def github():
    """The shell of the action's own step."""
    with open(os.path.join(SOURCE, "ci/github/action.yml"), encoding="utf-8") as f:
        text = f.read()
    block = re.search(r"\n( +)run: \|\n((?:\1  .*\n)+)", text)
    return block[2]


def gitlab():
    with open(os.path.join(SOURCE, "ci/gitlab.yml"), encoding="utf-8") as f:
        lines = re.search(r"\n  script:\n((?:    - .*\n)+)", f.read())[1].splitlines()
    lines = [line[6:] for line in lines]
    return "\n".join(line[1:-1].replace("''", "'") if line.startswith("'") else line for line in lines)


def main():
    build, checks = Build(sys.argv[1]), Checks()
    path = build.bin + ":" + build.env["PATH"]
    for name, shell in (("GitHub", github()), ("GitLab", gitlab())):
        folder = build.path(name)
        os.mkdir(folder)

        def job(arguments, main="main"):
            program = arguments if arguments.startswith("exit") else f"{shlex.quote(build.train)} --steps 20 {arguments}"
            done = build.run(["sh", "-c", f"cd {shlex.quote(folder)}\n{shell}"], PATH=path, CI="true", PROGRAM=program,
                             GPUPROF_OPTIONS=f"--device {DEVICE}", GPUPROF_REGRESS="100", GITHUB_ACTION_PATH=SOURCE + "/ci/github",
                             GPUPROF_GATE=SOURCE + "/ci/gpuprof-gate.sh", CI_COMMIT_BRANCH=main,
                             GPUPROF_UPDATE="1" if main == "main" else "0",
                             GITHUB_STEP_SUMMARY=os.path.join(folder, "summary"))
            return done.returncode, done.stdout + done.stderr

        def expect(what, got, status, said):
            checks.check(got[0] == status and said in got[1], f"{name}: {what}", f"status {got[0]}: {got[1][-600:]}")

        base = os.path.join(folder, "gpuprof-baseline", "main.gpuprof")
        expect("the first run has nothing to compare with", job(""), 0, "no baseline yet")
        checks.check(os.path.exists(base), f"{name}: and is the baseline")
        expect("the second passes, in the same folder", job("", "feature"), 0, "pass")
        expect("300 ms of host work fail, and are named", job("--host-work-us 300000", "feature"), 1, "host-work")
        junit = os.path.join(folder, "gpuprof-out", "gate.xml")
        with open(junit, encoding="utf-8") as f:
            checks.check("<failure" in f.read(), f"{name}: JUnit says so")
        expect("a crash fails", job("exit 3"), 1, "status 3")
        expect("twice the batch is refused", job("--batch 128", "feature"), 3, "batch")
    checks.done()


if __name__ == "__main__":
    main()
