#!/usr/bin/env python3
"""Measures what sampling Python's lines costs: a program that computes in functions forty deep and launches GPU work, and two helper
processes that compute, without samples (GPUPROF_SAMPLES=0) and with them, in turn. It prints the sampler's own processor time as
a share of one core (the aim is 1 %), and the processor time that the program takes for the same work.
Usage: samples.py BUILD [ROUNDS [SECONDS]]."""
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAM = """import ctypes, json, multiprocessing, os, sys, time
WORK = int(sys.argv[1])
cuda = ctypes.CDLL("libcudart.so.12")

def deep(n, x):
    return deep(n - 1, x) if n else sum(i * x for i in range(200))

def helper(turns):
    cuda.cudaGetDeviceCount(ctypes.byref(ctypes.c_int()))
    for turn in range(turns):
        deep(20, turn)

if __name__ == "__main__":
    helpers = [multiprocessing.get_context("fork").Process(target=helper, args=(WORK // 2,)) for i in range(2)]
    for one in helpers:
        one.start()
    place, size = ctypes.c_void_p(), ctypes.c_size_t(1 << 20)
    cuda.cudaMalloc(ctypes.byref(place), size)
    before = time.thread_time()
    for turn in range(WORK):
        deep(40, turn)
        if turn % 50 == 0:
            cuda.cudaMemset(place, 0, size)
            cuda.cudaDeviceSynchronize()
    print(json.dumps(time.thread_time() - before))
    for one in helpers:
        one.join()
"""


def run(build, folder, samples, work):
    profile, script = os.path.join(folder, "x.gpuprof"), os.path.join(folder, "program.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    start = time.monotonic()
    done = subprocess.run([os.path.join(build, "bin", "gpuprof"), "run", "-q", "-f", "--device", "virtual:a100-80", "-o", profile, "--",
                           sys.executable, script, str(work)], env={**os.environ, "GPUPROF_SAMPLES": "1" if samples else "0"},
                          stdout=subprocess.PIPE, text=True, check=True)
    wall = time.monotonic() - start
    with sqlite3.connect(profile) as db:
        looks = db.execute("SELECT coalesce(sum(looks), 0) FROM stack_sample").fetchone()[0]
        sampler = db.execute("SELECT coalesce(sum(value), 0) FROM health_note WHERE code = 'sampler-cpu'").fetchone()[0]
        size = os.path.getsize(profile)
    return json.loads(done.stdout), sampler / 1e9 / wall, looks / wall, size


def main():
    build = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 5
    took = {False: [], True: []}
    with tempfile.TemporaryDirectory() as folder:
        work = int(2000 * seconds / run(build, folder, False, 2000)[0])
        for i in range(rounds):
            for samples in (False, True) if i % 2 == 0 else (True, False):
                took[samples].append(run(build, folder, samples, work))
    print("samples  program's CPU s  sampler's share of a core  looks per second  profile MB")
    for samples, name in ((False, "without"), (True, "with")):
        cpu, share, looks, size = (statistics.median(column) for column in zip(*took[samples]))
        print(f"{name:7s}  {cpu:15.3f}  {100 * share:23.2f} %  {looks:16.1f}  {size / 1e6:10.2f}")
    cost = [b[0] / a[0] - 1 for a, b in zip(took[False], took[True])]
    print(f"program: {100 * statistics.median(cost):+.2f} % (rounds {100 * min(cost):+.2f} to {100 * max(cost):+.2f} %)")


if __name__ == "__main__":
    main()
