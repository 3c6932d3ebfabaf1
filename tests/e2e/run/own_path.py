#!/usr/bin/env python3
"""A program whose RPATH leads to a CUDA runtime of its own still runs on the virtual GPU.

usage: own_path.py BUILD
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import DEVICE, Build, Checks


def main():
    build, checks = Build(sys.argv[1]), Checks()
    program = os.path.join(os.path.abspath(sys.argv[1]), "own_path", "own_path")
    alone = build.run([program])
    checks.check(alone.stdout == "status 35, 0 devices\n", "alone it finds its own runtime", alone.stdout + alone.stderr)
    for variables in ({}, {"LD_PRELOAD": "libm.so.6"}):
        run = build.run([build.gpuprof, "run", "-f", "-q", "--device", DEVICE, "-o", "own.gpuprof", "--", program],
                        **variables)
        checks.check(run.stdout == "status 0, 1 devices\n",
                     "under gpuprof run it finds the virtual GPU's" + (", behind another preload" if variables else ""),
                     run.stdout + run.stderr)
    checks.done()


main()
