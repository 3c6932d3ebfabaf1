#!/usr/bin/env python3
"""Kineto traces with the marks of their steps taken away: repetition finds the same steps, at most one trace in twelve comes
out wrong, and what is wrong has low confidence. First one that standins.py writes, then each Nth real one where FOLDER is
there. Usage: unmarked.py GPUPROF FOLDER N."""
import gzip
import json
import os
import subprocess
import sys
import tempfile

import standins

OWN = "loader-in-line.json.gz" # of the stand-ins, the one whose steps have more than one kernel in turn
MARK = b"ProfilerStep#"
WRONG_ONE_IN = 12  # three of 38: two are single passes, whose layers repeat as steps do
LOW_CONFIDENCE = 0.6
FEW = 2         # marked steps that need not be found: too few to repeat
EDGES = 2       # steps that repetition may lack: the first has no begin, the last no end
LENGTH_PCT = 5  # that the median may lie outside of the marked steps' shortest and longest


def traces(folder, every, tmp):
    """Paths of our own trace and of the folder's."""
    standins.make(tmp)
    yield os.path.join(tmp, OWN)
    real = [os.path.join(at, name) for at, _, names in sorted(os.walk(folder)) for name in sorted(names)]
    yield from [path for path in real if path.endswith(".json.gz")][::every]


def analyze(gpuprof, content, path):
    with open(path, "wb") as f:
        f.write(content)
    done = subprocess.run([gpuprof, "analyze", "--json", "--no-predict", path], capture_output=True, text=True, timeout=240)
    return json.loads(done.stdout) if done.returncode == 0 else None


def same(marked, found):
    if found["source"] == "none":
        return marked["count"] <= FEW
    return marked["count"] - EDGES <= found["count"] <= marked["count"] and \
        marked["min_ms"] * (1 - LENGTH_PCT / 100) <= found["median_ms"] <= marked["max_ms"] * (1 + LENGTH_PCT / 100)


def compare(gpuprof, trace, path):
    """The steps by marks and by repetition, or None: there are no marks, or no work on a GPU."""
    with gzip.open(trace, "rb") as f:
        content = f.read()
    marked = analyze(gpuprof, content, path) if MARK in content else None
    if not marked or marked["steps"]["source"] != "framework" or not marked["counts"]["kernels"]:
        return None
    return marked["steps"], analyze(gpuprof, content.replace(MARK, b"unmarked "), path)["steps"]


def main():
    gpuprof, folder, every = *sys.argv[1:3], int(sys.argv[3])
    if not os.path.isdir(folder):
        print("left out: no recordings in ../shared/traces")
    compared, wrong, sure = 0, [], []
    with tempfile.TemporaryDirectory() as tmp:
        for trace in traces(folder, every, tmp):
            pair = compare(gpuprof, trace, os.path.join(tmp, "trace.json"))
            if not pair:
                continue
            marked, found = pair
            line = (f"{os.path.basename(trace)}: marked {marked['count']} of {marked['median_ms']:.2f} ms, found "
                    f"{found['count']} of {found['median_ms']:.2f} ms with confidence {found['confidence']}")
            compared += 1
            if not same(marked, found):
                wrong.append(line)
                sure += [line] if found["confidence"] > LOW_CONFIDENCE else []
            print(("" if same(marked, found) else "wrong: ") + line)
    print(f"{compared} traces, {len(wrong)} wrong, {len(sure)} of these with confidence above {LOW_CONFIDENCE}")
    return 1 if not compared or sure or len(wrong) * WRONG_ONE_IN > max(compared, WRONG_ONE_IN) else 0


if __name__ == "__main__":
    sys.exit(main())
