#!/usr/bin/env python3
"""A recording with four times as many streams, devices, names, threads or overlapping calls costs some four times as much: the
processor's time of each command on both, where a quadratic way would take sixteen times.
Usage: growth.py GPUPROF FUZZ"""
import json
import os
import resource
import subprocess
import sys
import tempfile

SMALL, MORE, MOST = 10000, 4, 8
LEAST_S = 0.1  # less tells too little of a way's growth


def at(i):
    """Microseconds: few or many, they spread over all steps of the seed, so that a replay has four times as much as well."""
    return 1000 + i * 7919 % 90000


def kernel(i, name="k", device=0, stream=7):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": at(i), "dur": 2,
            "args": {"device": device, "context": 1, "stream": stream, "correlation": i + 1000, "grid": [1, 1, 1], "block": [1, 1, 1]}}


def call(i, duration, thread=42, name="a"):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 42, "tid": thread, "ts": at(i), "dur": duration}


KINDS = {"streams": lambda i: kernel(i, stream=i), "devices": lambda i: kernel(i, device=i), "names": lambda i: kernel(i, name=f"k{i}"),
         "threads": lambda i: call(i, 3, thread=i), "overlapping calls": lambda i: call(i, 100000)}
COMMANDS = (["analyze", "--json"], ["report", "-f", "-o", "out.html"], ["export", "-f", "-o", "out.json"], ["import", "-f", "-o", "out.gpuprof"])


def cost(gpuprof, command, trace, folder):
    """Seconds of the processor; None with the reason printed where the command fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([gpuprof, *command, trace], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          timeout=280, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 3):
        print(f"FAIL {command[0]}: status {done.returncode}: {done.stderr}")
        return None
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    gpuprof = os.path.abspath(sys.argv[1])
    sys.path.insert(0, sys.argv[2])
    import seeds
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind, make in KINDS.items():
            for n in (SMALL, MORE * SMALL):
                trace = seeds.kineto()
                trace["traceEvents"] += [make(i) for i in range(n)]
                with open(os.path.join(folder, f"{n}.json"), "w", encoding="ascii") as f:
                    json.dump(trace, f)
            for command in COMMANDS:
                few, many = (cost(gpuprof, command, f"{n}.json", folder) for n in (SMALL, MORE * SMALL))
                fine = few is not None and many is not None and many <= MOST * max(few, LEAST_S)
                bad += not fine
                if few is not None and many is not None:
                    print(f"{'ok  ' if fine else 'FAIL'} {command[0]}, {SMALL} and {MORE * SMALL} {kind}: {few:.2f} and {many:.2f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
