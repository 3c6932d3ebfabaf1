#!/usr/bin/env python3
"""A storm of launches from 1, 4, 16 and 64 threads: every kernel is recorded, with its launch.

usage: storm.py BUILD [LAUNCHES]
"""
import os
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from support import Build, Checks  # noqa: E402

THREADS = (1, 4, 16, 64)


def main():
    build, checks = Build(sys.argv[1]), Checks()
    launches = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    storm = os.path.join(build.bin, "programs", "storm")
    for threads in THREADS:
        profile = build.path("storm.gpuprof")
        done = build.run([build.gpuprof, "run", "-q", "-f", "--device", "virtual:h100", "-o", profile, "--", storm,
                          str(threads), str(launches)])
        if not checks.check(done.returncode == 0, f"{threads} threads: the program ends well", done.stderr[-500:]):
            continue
        with sqlite3.connect(profile) as db:
            kernels, = db.execute("select count(*) from kernel").fetchone()
            joined, = db.execute("select count(*) from kernel k join api a on a.correlation = k.correlation and "
                                 "a.process = k.process").fetchone()
            lost = build.analyze(profile)["health"]["dropped"]
        wanted = threads * launches
        checks.check((kernels, joined, lost) == (wanted, wanted, 0), f"{threads} threads: all records kept",
                     f"{kernels} kernels, {joined} with their launch, {lost} lost, of {wanted}")
    checks.done()


main()
