#!/usr/bin/env python3
"""Checks that a program takes the same times on the virtual GPU whatever else the machine does: alone and beside busy processes each
kernel has the same length, and the advice begins with the same finding.

usage: load.py BUILD [BUSY]
"""
import json
import os
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tests/e2e"))
from support import Build, Checks  # noqa: E402

PROGRAMS = {  # name: program, arguments, device
    "kernels": ("programs/kernels", (), "virtual:h100"),
    "transformer": ("train_gpt", ("--layers", "2", "--steps", "12", "--defect", "fp32"), "virtual:a100-80"),
    "convolutions": ("train_conv", ("--steps", "30", "--data", "fixed", "--defect", "fp32"), "virtual:h200"),
    "mixed precision": ("train_amp", ("--steps", "20", "--data", "fixed"), "virtual:t4"),
}


def looked_at(build, name, turn):
    """Returns the lengths of the kernels in the order of their launches, and the first finding."""
    program, arguments, device = PROGRAMS[name]
    profile = build.path(f"{program.replace('/', '-')}.{turn}.gpuprof")
    done = build.run([build.gpuprof, "run", "-f", "-q", "--device", device, "-o", profile, "--",
                      os.path.join(build.bin, program), *arguments])
    with sqlite3.connect(profile) as db:
        lengths = [ns for ns, in db.execute("select end_ns - start_ns from kernel order by correlation")]
    said = json.loads(build.run([build.gpuprof, "analyze", "--json", profile]).stdout)
    return done, lengths, [finding["rule"] for finding in said["findings"]][:1]


def main():
    build, checks = Build(sys.argv[1]), Checks()
    busy = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    for name in PROGRAMS:
        done, alone, first = looked_at(build, name, "alone")
        others = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(busy)]
        try:
            _, beside, again = looked_at(build, name, "beside")
        finally:
            for other in others:
                other.kill()
                other.wait()
        checks.check(done.returncode == 0 and alone, f"{name}: {len(alone)} kernels", done.stderr[-300:])
        differ = sum(x != y for x, y in zip(alone, beside)) + abs(len(alone) - len(beside))
        checks.check(differ == 0, f"{name}: each takes as long beside {busy} busy processes", f"{differ} do not")
        if name != "kernels":  # each kernel is launched once, which is no loop: a finding there is chance
            checks.check(first == again, f"{name}: the first finding stays {first}", f"{again}")
    checks.done()


if __name__ == "__main__":
    main()
