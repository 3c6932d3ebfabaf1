#!/usr/bin/env python3
"""Compares the predicted savings with published measurements. Of each pair of published.py's programs that differ in one change, the
first is recorded on the virtual GPU and analysed. The table, tab-separated, shows what the advice predicts beside what follows from the
published figures of both, and beside what the virtual GPU reaches with the change.

usage: edits.py BUILD PYTHON [--keep FOLDER] [--after] [NAME...]

PYTHON as for published.py. FOLDER keeps the recordings; a recording that is there is not made again. Only with --after the changed
program runs as well, for the column of the virtual GPU. A change that is not advised is predicted to save nothing.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

from published import CASES, COLLECTION, Case, run

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
    ("efficientnet_b0-a100-tf32", "tensor-cores", "efficientnet_b0-a100-amp", None),
    ("efficientnet_b0-v100-fp32", "tensor-cores", "efficientnet_b0-v100-amp", f"named --name efficientnet_b0 --batch 128 {AMP} --steps 4 --warmup 2"),
    *((name + "-nchw", "channels-last", name + "-nhwc", None) for name, *_ in COLLECTION),
]
NOTHING = 1  # %: less is nothing
NEAR = 10    # points


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
    """Percent of the step saved, (middle, low, high), or None if the change is not advised; and whether it can be compared."""
    done = subprocess.run([os.path.join(args.build, "bin", "gpuprof"), "analyze", "--json", os.path.join(folder, name + ".gpuprof")],
                          capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    # what another program's threads took of this machine's cores no published program lacked
    compared = "recorded short of CPU" if answer["verdict"].startswith("Short of CPU") else "yes"
    for finding in answer["findings"]:
        if finding["rule"] == rule:
            return [100 * finding["saves_ms"][k] / answer["breakdown_of_ms"] for k in ("mid", "low", "high")], compared
    return None, compared


def sign(saved):
    return 0 if abs(saved) <= NOTHING else 1 if saved > 0 else -1


def row(args, edit, folder):
    """Cells: what is said, what was published, and where `after` was run what the virtual GPU says."""
    before, rule, after, arguments = edit
    changed, here = case(after), ""
    rate(args, case(before), folder)
    if args.after:
        if arguments:
            changed = Case(f"{after}-same-batch", changed.model, arguments, 0, "")
        here = f"{100 * (1 - rate(args, case(before), folder) / rate(args, changed, folder)):.1f}"
    there = 100 * (1 - case(before).published / case(after).published)
    told, compared = predicted(args, before, rule, folder)
    if case(before).batch() != case(after).batch():
        compared = "published with another batch"
    mid, low, high = told or (0, 0, 0)
    words = "not advised" if told is None else f"{mid:.1f} ({low:.1f} to {high:.1f})"
    # nobody predicts a loss: a change that is not advised is right where it brings nothing or loses
    right = sign(there) == sign(mid) or (told is None and sign(there) < 0)
    inside = right if told is None else low <= there <= high
    near = abs((max(there, 0) if told is None else there) - mid) <= NEAR
    return (before, case(before).model, rule, words, f"{there:.1f}", *("yes" if x else "no" for x in (right, near, inside)), here, compared, case(before).source)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("python")
    parser.add_argument("--keep", default="")
    parser.add_argument("--after", action="store_true")
    parser.add_argument("names", nargs="*")
    args = parser.parse_intermixed_args()
    print("program", "card", "advice", "predicted, % of the step", "published", "sign right", f"within {NEAR} points", "in the interval", "virtual GPU", "compared", "source",
          sep="\t")
    with tempfile.TemporaryDirectory() as folder:
        if args.keep:
            os.makedirs(args.keep, exist_ok=True)
        for edit in EDITS:
            if not args.names or edit[0] in args.names:
                print(*row(args, edit, args.keep or folder), sep="\t", flush=True)


if __name__ == "__main__":
    sys.exit(main())
