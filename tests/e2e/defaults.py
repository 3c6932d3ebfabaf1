#!/usr/bin/env python3
"""Each trainer with its own defaults on each virtual GPU: it ends well.

usage: defaults.py BUILD
"""
import glob
import os
import sys

from support import Build, Checks

TRAINERS = {"train_conv": [], "train_amp": [], "train_gpt": [], "train_ddp": ["--mode", "dp"]}


def main():
    build, checks = Build(sys.argv[1]), Checks()
    profiles = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "vgpu", "profiles", "*.ini")
    models = sorted(os.path.basename(path)[:-len(".ini")] for path in glob.glob(profiles))
    for trainer, words in TRAINERS.items():
        if not os.path.exists(os.path.join(build.bin, trainer)):
            continue
        for model in models:
            done = build.run([os.path.join(build.bin, "gpuprof"), "run", "-f", "--device", f"virtual:{model}", "-o",
                              build.path("x.gpuprof"), "--", os.path.join(build.bin, trainer), "--steps", "3", *words])
            checks.check(done.returncode == 0 and "median_step_ms=" in done.stdout, f"{trainer} on {model}",
                         f"status {done.returncode}: {done.stderr.strip()[-300:]}")
    checks.done()


if __name__ == "__main__":
    main()
