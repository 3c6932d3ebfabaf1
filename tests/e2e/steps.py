#!/usr/bin/env python3
"""The steps of trainers that mark none: found by repetition, in loops that evaluate, copy, tune and update in many ways."""
import os
import sys

from support import Build, Checks, DEVICE

STEPS = 30
NEAR = 2  # the first and the last may be cut off
LOOPS = [
    ("train_conv", ""),
    ("train_conv", "--optimizer loop --zero-grad memset"),
    ("train_conv", "--optimizer foreach --sync-every 1"),
    ("train_conv", "--eval-every 2"),
    ("train_conv", "--eval-every 10 --eval-training 1"),
    ("train_conv", "--cuda-graph 1"),
    ("train_conv", "--offload 1 --depth 18"),
    ("train_conv", "--data fixed --optimizer loop --check-nan 1"),
    ("train_conv", "--launch-blocking 1 --depth 101"),
    ("train_amp", ""),
    ("train_gpt", "--layers 6"),
    ("train_gpt", "--layers 12 --optimizer loop --clip per_tensor"),
    ("train_gpt", "--layers 4 --checkpoint 1 --alloc-per-step 1"),
]


def loop(build, checks, trainer, options):
    name = f"{trainer} {options}".strip()
    out = build.path("steps.gpuprof")
    batch = ["--batch", "1" if trainer == "train_gpt" else "8"]
    done = build.run([build.gpuprof, "run", "-f", "--device", DEVICE, "-o", out, "--",
                      os.path.join(build.bin, trainer), "--no-nvtx", "--steps", str(STEPS), *batch, *options.split()])
    if not checks.check(done.returncode == 0, f"{name}: ends well", done.stderr[-400:]):
        return
    steps = build.analyze(out)["steps"]
    checks.check(steps["source"] == "detected" and abs(steps["count"] - STEPS) <= NEAR and "doubt" not in steps,
                 f"{name}: {STEPS} steps", f"{steps['count']}, {steps['source_text']}, {steps.get('doubt')}")


def main():
    build, checks = Build(sys.argv[1]), Checks()
    for trainer, options in LOOPS:
        loop(build, checks, trainer, options)
    checks.done()


if __name__ == "__main__":
    main()
