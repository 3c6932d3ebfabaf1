#!/usr/bin/env python3
"""A trace that was imported and exported again as a Chrome trace keeps its GPU work, to the nanosecond, and passes
lint-trace. Usage: roundtrip.py GPUPROF FOLDER. Exit 77 (skipped) where the folder is absent."""
import json
import os
import subprocess
import sys
import tempfile

from traces import rows

COUNTS = ("kernels", "copies", "memsets", "api_calls")
STEPS = ("count", "used", "median_ms")


def run(*args):
    done = subprocess.run(args, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(f"{args[1]}: status {done.returncode}: {(done.stderr or done.stdout).strip()[:300]}")
    return done.stdout


def check(gpuprof, path, out):
    """Yields what is wrong."""
    try:
        run(gpuprof, "export", "-f", path, "-o", out)
        run(gpuprof, "lint-trace", out)
        before, after = (json.loads(run(gpuprof, "analyze", "--json", p)) for p in (path, out))
    except RuntimeError as e:
        yield str(e)
        return
    for part, keys in (("counts", COUNTS), ("gpu", before["gpu"]), ("steps", STEPS)):
        for key in keys:
            if before[part][key] != after[part][key]:
                yield f"{part}.{key}: {before[part][key]} became {after[part][key]}"


def main():
    gpuprof, folder = sys.argv[1:3]
    if not os.path.isdir(folder):
        print(f"roundtrip: skipped, no folder {folder}")
        return 77
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        for row in rows(os.path.join(os.path.dirname(os.path.abspath(__file__)), "traces.tsv")):
            if row[2] == "-" or not row[0].endswith(".gz"):
                continue
            problems = list(check(gpuprof, os.path.join(folder, row[0]), os.path.join(scratch, "again.json.gz")))
            print(("FAIL " if problems else "ok   ") + row[0])
            for p in problems:
                print("       " + p)
            bad += bool(problems)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
