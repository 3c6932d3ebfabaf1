#!/usr/bin/env python3
"""ResNet-50 of PyTorch's profiler tutorial on the virtual V100, beside two recordings that others made of it on a V100, with 0
and with 4 workers: kernels of each kind in a step and their time, the GPU's time of a step, the first finding, and the change in
pace. The program's batches take as long to make as the recording's did.

usage: tutorial.py BUILD PYTHON WORKERS0.json.gz WORKERS4.json.gz
"""
import argparse
import json
import os
import re
import sqlite3
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 24
KINDS = [("batch norm", r"bn_|batch_norm|BatchNorm"), ("pooling", r"pool|AdaptiveAverage"), ("softmax and loss", r"oft[Mm]ax|nll_loss|ClassNLL"),
         ("convolution and product", r"conv|scudnn|dgrad|wgrad|winograd|gemm|gemv|cutlass|fft|splitK|xmma|Offsets|nchwToNhwc|nhwcToNchw"),
         ("reduction", r"reduce_kernel"), ("element by element", r"elementwise|multi_tensor|Functor")]


class Profile:
    """What a step of a recording holds: means from its first steady step to the last."""

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
        self.pace_ms = self.said["steps"]["pace_ms"]
        self.first = self.said["findings"][0]["rule"] if self.said["findings"] else "nothing"
        self.fetches = [row[0] / 1e6 for row in db.execute("SELECT end_ns - start_ns FROM range r JOIN string s ON s.id = r.name "
                                                           "WHERE s.text LIKE '%DataLoaderIter.__next__%'")]


def recorded(gpuprof, trace, folder, name):
    path = os.path.join(folder, name + ".gpuprof")
    subprocess.run([gpuprof, "import", "-q", trace, "-o", path], check=True)
    return Profile(gpuprof, path)


def simulated(gpuprof, python, workers, load_ms, folder):
    path = os.path.join(folder, f"virtual{workers}.gpuprof")
    subprocess.run([gpuprof, "run", "-q", "--device", "virtual:v100", "-o", path, "--", python, "-W", "ignore", os.path.join(HERE, "tutorial_program.py"),
                    str(workers), f"{load_ms:.2f}", str(STEPS)], check=True)
    return Profile(gpuprof, path)


def main():
    parser = argparse.ArgumentParser()
    for name in ("build", "python", "workers0", "workers4"):
        parser.add_argument(name)
    args = parser.parse_args()
    gpuprof = os.path.join(args.build, "bin", "gpuprof")
    with tempfile.TemporaryDirectory() as folder:
        real = [recorded(gpuprof, trace, folder, f"real{i}") for i, trace in enumerate((args.workers0, args.workers4))]
        load_ms = statistics.median(real[0].fetches)
        virtual = [simulated(gpuprof, args.python, workers, load_ms, folder) for workers in (0, 4)]
    print("| in a step | recorded: kernels | ms | virtual: kernels | ms |\n|---|---|---|---|---|")
    for kind in [k for k, _ in KINDS] + ["other"]:
        row = [p.kinds.get(kind, (0, 0)) for p in (real[1], virtual[1])]
        print(f"| {kind} | " + " | ".join(f"{count:.0f} | {ms:.1f}" for count, ms in row) + " |")
    print("| all | " + " | ".join(f"{sum(c for c, _ in p.kinds.values()):.0f} | {p.gpu_ms:.1f}" for p in (real[1], virtual[1])) + " |")
    gains = [100 * (1 - pair[1].pace_ms / pair[0].pace_ms) for pair in (real, virtual)]
    print(f"\nGPU time of a step: {real[1].gpu_ms:.1f} ms recorded, {virtual[1].gpu_ms:.1f} ms virtual ({virtual[1].gpu_ms / real[1].gpu_ms:.2f}).")
    for workers, i in ((0, 0), (4, 1)):
        print(f"{workers} workers: pace {real[i].pace_ms:.1f} and {virtual[i].pace_ms:.1f} ms; first finding {real[i].first} and {virtual[i].first}.")
    print(f"From 0 to 4 workers: {gains[0]:.1f} % and {gains[1]:.1f} % (a batch takes {load_ms:.1f} ms to make).")


main()
