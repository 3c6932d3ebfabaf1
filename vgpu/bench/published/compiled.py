#!/usr/bin/env python3
"""Compares the predicted saving of torch.compile with the real one on the virtual GPU: each model of compiled_programs.py is recorded
eager and compiled. The table, in Markdown, shows what `pointwise-fusion` predicts from the eager recording beside how much less time
the GPU works for a step of the compiled one, in percent of the eager step.

usage: compiled.py BUILD PYTHON [--device a100-80] [--keep FOLDER] [MODEL...]

PYTHON needs PyTorch's CUDA build, timm, Transformers and diffusers. FOLDER keeps the recordings; a recording that is there is not
made again. A model takes one to three minutes on two cores, most of it for the compiler.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compiled_programs.py")
RULE = "pointwise-fusion"
STEPS = "10"


def recorded(args, folder, model, way):
    """Returns gpuprof's analysis of a recording, as JSON."""
    gpuprof = os.path.join(args.build, "bin", "gpuprof")
    profile = os.path.join(folder, f"{model}-{way}.gpuprof")
    if not os.path.exists(profile):
        env = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=os.path.join(folder, "cache"))
        subprocess.run([gpuprof, "run", "-q", "--device", f"virtual:{args.device}", "-o", profile, "--", args.python,
                        PROGRAMS, model, way, STEPS], env=env, check=True)
    return json.loads(subprocess.run([gpuprof, "analyze", "--json", profile], capture_output=True, text=True, check=True).stdout)


def busy(answer):
    return sum(v for k, v in answer["breakdown_ms"].items() if not k.startswith("idle"))


def row(args, folder, model):
    eager, compiled = (recorded(args, folder, model, way) for way in ("eager", "compiled"))
    step = eager["breakdown_of_ms"]
    saved = 100 * (busy(eager) - busy(compiled)) / step
    told = next(([100 * f["saves_ms"][k] / step for k in ("mid", "low", "high")] for f in eager["findings"] if f["rule"] == RULE), None)
    words = "not advised" if told is None else f"{told[0]:.1f} ({told[1]:.1f} to {told[2]:.1f})"
    inside = "" if told is None else "yes" if told[1] <= saved <= told[2] else "no"
    return f"| {model} | {step:.1f} | {words} | {saved:.1f} | {inside} |"


def names(args):
    return subprocess.run([args.python, PROGRAMS], capture_output=True, text=True, check=True).stdout.split()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("python")
    parser.add_argument("--device", default="a100-80")
    parser.add_argument("--keep", default="")
    parser.add_argument("models", nargs="*")
    args = parser.parse_intermixed_args()
    print("| model | step, ms | predicted, % of the step | compiled | in the interval |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        if args.keep:
            os.makedirs(args.keep, exist_ok=True)
        for model in args.models or names(args):
            print(row(args, args.keep or folder, model), flush=True)


if __name__ == "__main__":
    sys.exit(main())
