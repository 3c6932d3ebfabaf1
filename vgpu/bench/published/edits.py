#!/usr/bin/env python3
"""Compares the predicted savings with published measurements. Of each pair of published.py's programs that differ in one change, the
first is recorded on the virtual GPU and analysed. The table, in Markdown, shows what the advice predicts beside what follows from the
published figures of both, and beside what the virtual GPU reaches with the change.

usage: edits.py BUILD PYTHON [--keep FOLDER] [NAME...]

PYTHON as for published.py. FOLDER keeps the recordings; a recording that is there is not made again.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

from published import CASES, Case, run

AMP = "--precision amp --channels-last"


def case(name):
    return next(c for c in CASES if c.name == name)


# before, the rule whose advice leads to after, after; the changed program itself if after has another batch
EDITS = [
    ("gpt2-fp32", "tensor-cores", "gpt2-bf16", None),
    ("gpt2-tf32", "tensor-cores", "gpt2-bf16", None),
    ("gpt2-bf16", "pointwise-fusion", "gpt2-compiled", None),
    ("gpt2-compiled", "fused-attention", "gpt2-flash", None),
    ("nanogpt", "pointwise-fusion", "nanogpt-compiled", None),
    ("resnet50-a100-tf32", "tensor-cores", "resnet50-a100-amp", None),
    ("resnet50-v100-fp32", "tensor-cores", "resnet50-v100-amp", f"resnet50 --batch 112 {AMP}"),
    ("resnext101-a100-tf32", "tensor-cores", "resnext101-a100-amp", None),
    ("bert-a100-tf32-128", "tensor-cores", "bert-a100-amp-128", "bert --batch 128 --length 128 --precision amp --half --micro"),
    ("gpt2-vocabulary", "fused-optimizer", "gpt2-fused", None),
]


def rate(args, c, folder):
    """Samples per second on the virtual GPU; the recording stays in the folder."""
    note = os.path.join(folder, c.name + ".json")
    if not os.path.exists(note):
        got = run(args, c, folder)
        with open(note, "w", encoding="utf-8") as file:
            json.dump(got, file)
    with open(note, encoding="utf-8") as file:
        return json.load(file)["rate"]


def predicted(args, name, rule, folder):
    """Percent of the step saved, (middle, low, high), or None if the change is not advised."""
    done = subprocess.run([os.path.join(args.build, "bin", "gpuprof"), "analyze", "--json", os.path.join(folder, name + ".gpuprof")],
                          capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    for finding in answer["findings"]:
        if finding["rule"] == rule:
            return [100 * finding["saves_ms"][k] / answer["breakdown_of_ms"] for k in ("mid", "low", "high")]
    return None


def row(args, edit, folder):
    before, rule, after, arguments = edit
    changed = case(after)
    if arguments:
        changed = Case(f"{after}-same-batch", changed.model, arguments, 0, "")
    there = 100 * (1 - case(before).published / case(after).published)
    here = 100 * (1 - rate(args, case(before), folder) / rate(args, changed, folder))
    told = predicted(args, before, rule, folder)
    words = "not advised" if told is None else f"{told[0]:.1f} ({told[1]:.1f} to {told[2]:.1f})"
    inside = "" if told is None else "yes" if told[1] <= there <= told[2] else "no"
    return f"| {before} | {rule} | {words} | {there:.1f} | {inside} | {here:.1f} |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("python")
    parser.add_argument("--keep", default="")
    parser.add_argument("names", nargs="*")
    args = parser.parse_intermixed_args()
    print("| program | advice | predicted, % of the step | published | in the interval | virtual GPU |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        if args.keep:
            os.makedirs(args.keep, exist_ok=True)
        for edit in EDITS:
            if not args.names or edit[0] in args.names:
                print(row(args, edit, args.keep or folder), flush=True)


if __name__ == "__main__":
    sys.exit(main())
