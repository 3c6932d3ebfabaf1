#!/usr/bin/env python3
"""Compares ResNet-50 of PyTorch's profiler tutorial on the virtual V100 with two recordings by other people on a V100, with 0 and with 4
workers: kernels of each kind in a step and their time, the GPU's time of a step, the first finding, and the change in pace. Without
workers the program takes as long to make a batch as in the recording, and the workers do the same work. With --same-host the host
also launches as slowly as the recorded one: each operator does some extra work, so much that a step without workers takes as long as
the recorded one. Pairs of runs in which it does not, within 5 %, do not count.

usage: tutorial.py [--same-host] BUILD PYTHON WORKERS0.json.gz WORKERS4.json.gz
"""
import argparse
import json
import os
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 24
PAIRS = 10  # runs without and with workers
FIRST_WORK, TURNS_PER_MS = 1600, 25  # --same-host: turns of an empty loop for each operator, and how many make a step 1 ms longer
SAME, TRIES = 0.05, 40  # --same-host: how close a step without workers must come to the recorded one, and the most pairs
KINDS = [("batch norm", r"bn_|batch_norm|BatchNorm"), ("pooling", r"pool|AdaptiveAverage"), ("softmax and loss", r"oft[Mm]ax|nll_loss|ClassNLL"),
         ("convolution and product", r"conv|scudnn|dgrad|wgrad|winograd|gemm|gemv|cutlass|fft|splitK|xmma|Offsets|nchwToNhwc|nhwcToNchw"),
         ("reduction", r"reduce_kernel"), ("element by element", r"elementwise|multi_tensor|Functor")]


class Profile:
    """What a step of a recording contains: means from its first steady step to the last."""

    def __init__(self, gpuprof, path):
        self.said = json.loads(subprocess.run([gpuprof, "analyze", "--json", path], capture_output=True, check=True, text=True).stdout)
        db = sqlite3.connect(path)
        steps = db.execute("SELECT start_ns, end_ns FROM step WHERE id BETWEEN (SELECT min(id) FROM step WHERE used = 1) AND "
                           "(SELECT max(id) FROM step WHERE used = 1) ORDER BY id").fetchall()
        rows = db.execute("SELECT s.text, k.start_ns, k.end_ns FROM kernel k JOIN string s ON s.id = k.name ORDER BY k.start_ns").fetchall()
        first, last = steps[0][0], steps[-1][1]
        inside = [(name, end - start) for name, start, end in rows if first <= start < last]
        self.kinds = {}
        for name, ns in inside:
            kind = next((k for k, pattern in KINDS if re.search(pattern, name)), "other")
            count, total = self.kinds.get(kind, (0, 0))
            self.kinds[kind] = (count + 1, total + ns)
        self.kinds = {k: (count / len(steps), ns / 1e6 / len(steps)) for k, (count, ns) in self.kinds.items()}
        self.gpu_ms = sum(ns for _, ns in self.kinds.values())
        self.pace_ms, self.median_ms = self.said["steps"]["pace_ms"], self.said["steps"]["median_ms"]
        self.first = self.said["findings"][0]["rule"] if self.said["findings"] else "nothing"
        self.fetches = [row[0] / 1e6 for row in db.execute("SELECT end_ns - start_ns FROM range r JOIN string s ON s.id = r.name "
                                                           "WHERE s.text LIKE '%DataLoaderIter.__next__%'")]


def recorded(gpuprof, trace, folder, name):
    path = os.path.join(folder, name + ".gpuprof")
    subprocess.run([gpuprof, "import", "-q", trace, "-o", path], check=True)
    return Profile(gpuprof, path)


def simulated(gpuprof, python, workers, load_ms, folder, work, pictures=0):
    """Returns the profile and how many pictures a batch transformed: as many as load_ms allows, unless `pictures` gives a number."""
    path = os.path.join(folder, f"virtual{workers}.gpuprof")
    done = subprocess.run([gpuprof, "run", "-q", "-f", "--device", "virtual:v100", "-o", path, "--", python, "-W", "ignore",
                           os.path.join(HERE, "tutorial_program.py"), str(workers), f"{load_ms:.2f}", str(STEPS), str(pictures), str(work)],
                          check=True, stdout=subprocess.PIPE, text=True)
    return Profile(gpuprof, path), pictures or int(re.search(r"^pictures (\d+)$", done.stdout, re.M)[1])


def pair(gpuprof, python, load_ms, folder, work):
    """Runs the program without and with workers; both make the same batches."""
    without, pictures = simulated(gpuprof, python, 0, load_ms, folder, work)
    return [without, simulated(gpuprof, python, 4, load_ms, folder, work, pictures)[0]]


def gain(runs):
    """What the workers save, in percent of the mean step."""
    return 100 * (1 - runs[1].pace_ms / runs[0].pace_ms)


def gains(runs):
    return f"{gain(runs):.1f} % of the mean step, {100 * (1 - runs[1].median_ms / runs[0].median_ms):.1f} % of the median"


def measured(args, gpuprof, load_ms, real, folder):
    """Returns the pairs. With --same-host only those count whose step without workers takes about as long as the recorded one; each pair
    adjusts the extra work of the next."""
    work, pairs = FIRST_WORK if args.same_host else 0, []
    for _ in range(TRIES):
        runs = pair(gpuprof, args.python, load_ms, folder, work)
        off_ms = real.pace_ms - runs[0].pace_ms
        counts = not args.same_host or abs(off_ms) <= SAME * real.pace_ms
        print(f"{work} turns, {'counts' if counts else 'another host'}: {runs[0].pace_ms:.1f} to {runs[1].pace_ms:.1f} ms", file=sys.stderr)
        pairs += [runs] if counts else []
        if len(pairs) == PAIRS:
            return pairs
        work = max(0, int(work + off_ms * TURNS_PER_MS / 2)) if args.same_host else 0
    sys.exit(f"tutorial.py: {len(pairs)} of {TRIES} pairs ran on a host like the recorded one, and {PAIRS} are needed; run it again on a quieter machine")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--same-host", action="store_true")
    for name in ("build", "python", "workers0", "workers4"):
        parser.add_argument(name)
    args = parser.parse_args()
    gpuprof = os.path.join(args.build, "bin", "gpuprof")
    with tempfile.TemporaryDirectory() as folder:
        real = [recorded(gpuprof, trace, folder, f"real{i}") for i, trace in enumerate((args.workers0, args.workers4))]
        load_ms = statistics.median(real[0].fetches)
        pairs = measured(args, gpuprof, load_ms, real[0], folder)
    virtual = sorted(pairs, key=gain)[PAIRS // 2]
    print("| in a step | recorded: kernels | ms | virtual: kernels | ms |\n|---|---|---|---|---|")
    for kind in [k for k, _ in KINDS] + ["other"]:
        row = [p.kinds.get(kind, (0, 0)) for p in (real[1], virtual[1])]
        print(f"| {kind} | " + " | ".join(f"{count:.0f} | {ms:.1f}" for count, ms in row) + " |")
    print("| all | " + " | ".join(f"{sum(c for c, _ in p.kinds.values()):.0f} | {p.gpu_ms:.1f}" for p in (real[1], virtual[1])) + " |")
    print(f"\nGPU time of a step: {real[1].gpu_ms:.1f} ms recorded, {virtual[1].gpu_ms:.1f} ms virtual ({virtual[1].gpu_ms / real[1].gpu_ms:.2f}).")
    for workers, i in ((0, 0), (4, 1)):
        print(f"{workers} workers: pace {real[i].pace_ms:.1f} and {virtual[i].pace_ms:.1f} ms; first finding {real[i].first} and {virtual[i].first}.")
    print(f"From 0 to 4 workers, recorded: {gains(real)}; virtual (a batch takes {load_ms:.1f} ms to make):")
    for runs in pairs:
        print(f"{runs[0].pace_ms:.1f} to {runs[1].pace_ms:.1f} ms: {gains(runs)}; first {runs[0].first} and {runs[1].first}")


main()
