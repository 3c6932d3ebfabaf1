#!/usr/bin/env python3
"""Measures what recording costs the program: train_conv's own median step in four modes: without recording; armed (`run --armed`,
no window is asked for); with only the marks of its steps (`run --range none`, as reruns of `try` record); and with everything
recorded. The modes take turns (A B C D D C B A ...), so that a drift of the machine affects all of them. On the virtual GPU the
device's part of a step is modelled and exact, so the difference is what the host adds. `launch-bound` is the sensitive case.
Usage: overhead.py BUILD [ROUNDS [DEFECT]]."""
import os
import re
import statistics
import subprocess
import sys
import tempfile


ARMS = {"nothing": ["--no-record"], "armed": ["--armed"], "marks": ["--range", "none"], "all": ["--full"]}


def median_step_ms(build, folder, arm, defect):
    command = [os.path.join(build, "bin", "gpuprof"), "run", "-q", "-f", "--device", "virtual:a100-80"]
    command += ["-o", os.path.join(folder, "x.gpuprof")] if arm != "nothing" else []
    command += [*ARMS[arm], "--", os.path.join(build, "bin", "train_conv"), "--steps", "80"]
    if defect:
        command += ["--defect", defect]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(re.search(r"median_step_ms=([0-9.]+)", out).group(1))


def main():
    build = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 6
    cases = [sys.argv[3]] if len(sys.argv) > 3 else [None, "launch-bound"]
    print("case            recorded   bare ms   with ms   ratio (median of pairs; min, max)   aim")
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            took = {arm: [] for arm in ARMS}
            for i in range(rounds):
                for arm in list(ARMS)[::1 if i % 2 == 0 else -1]:
                    took[arm].append(median_step_ms(build, folder, arm, case))
            for arm, aim in (("armed", 1.003), ("marks", 1.005), ("all", 1.01)):
                ratios = sorted(b / a for a, b in zip(took["nothing"], took[arm]))
                print(f"{case or 'tuned':14s}  {arm:8s}  {statistics.median(took['nothing']):8.3f}  "
                      f"{statistics.median(took[arm]):8.3f}   {statistics.median(ratios):.4f} "
                      f"({ratios[0]:.4f}, {ratios[-1]:.4f})                  {aim}")


if __name__ == "__main__":
    main()
