#!/usr/bin/env python3
"""What profiling costs the program: train_conv's own median step with and without recording, in turn (A B B A ...), so
that a drifting machine does not decide. Usage: overhead.py BUILD [PAIRS [DEFECT]]. On the virtual GPU the device's part of a
step is modelled and exact: what is measured is what the host adds to it. `launch-bound` is the sensitive case."""
import os
import re
import statistics
import subprocess
import sys
import tempfile


def median_step_ms(build, folder, record, defect):
    command = [os.path.join(build, "bin", "gpuprof"), "run", "-q", "-f", "--device", "virtual:a100-80"]
    command += ["-o", os.path.join(folder, "x.gpuprof")] if record else ["--no-record"]
    command += ["--", os.path.join(build, "bin", "train_conv"), "--steps", "80"]
    if defect:
        command += ["--defect", defect]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(re.search(r"median_step_ms=([0-9.]+)", out).group(1))


def main():
    build = sys.argv[1]
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 6
    cases = [sys.argv[3]] if len(sys.argv) > 3 else [None, "launch-bound"]
    print("case            without ms   with ms   ratio (median of pairs; min, max)   aim")
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            plain, recorded = [], []
            for i in range(pairs):
                for record in ((False, True) if i % 2 == 0 else (True, False)):
                    (recorded if record else plain).append(median_step_ms(build, folder, record, case))
            ratios = sorted(b / a for a, b in zip(plain, recorded))
            print(f"{case or 'tuned':14s}  {statistics.median(plain):10.3f}  {statistics.median(recorded):8.3f}   "
                  f"{statistics.median(ratios):.4f} ({ratios[0]:.4f}, {ratios[-1]:.4f})   1.01")


if __name__ == "__main__":
    main()
