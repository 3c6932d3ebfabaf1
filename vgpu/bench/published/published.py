#!/usr/bin/env python3
"""Compares the speed of programs on the virtual GPU with published measurements on the card. Each program of published_programs.py
runs with the published batch and precision; the table, in Markdown, shows what it reached beside the published figure.

usage: published.py BUILD PYTHON [--state FILE] [NAME...]

PYTHON has a CUDA build of PyTorch 2, torchvision and transformers. A run that is in FILE is not repeated.
"""
import argparse
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LECTURE = "A. Karpathy, \"Let's reproduce GPT-2 (124M)\" (2024), chapter titles; batch and code: build-nanogpt, {}"
DLE = "NVIDIA/DeepLearningExamples, PyTorch/{}/README.md"  # batches: Classification/ConvNets/configs.yml
BERT = DLE.format("LanguageModeling/BERT")  # phase 2 (512 tokens) groups sequences by length: most are shorter
RESNET, RESNEXT = DLE.format("Classification/ConvNets/resnet50v1.5"), DLE.format("Classification/ConvNets/resnext101-32x4d")
SE = DLE.format("Classification/ConvNets/se-resnext101-32x4d")
DGX = "ryujaehun/pytorch-gpu-benchmark, results/dgx-a100 (January 2021), medians; forward and backward, no optimizer"
NANO = "nanoGPT's README (December 2022), which names no batch; 12 by its later configuration"


class Case:
    def __init__(self, name, model, arguments, published, source, *, seen=""):
        self.name, self.model, self.arguments = name, model, arguments.split()
        self.published, self.source, self.seen = published, source, seen  # samples a second

    def batch(self):
        return int(self.arguments[self.arguments.index("--batch") + 1])


def named(name, model, ms, arguments):
    """A case for one of three models (of the 32 published there) whose steps take longer than their host needs."""
    return Case(name, "a100-40", f"named --name {model} --batch 12 --micro {arguments}", 12e3 / ms, DGX)


TIMM = "pytorch-image-models, results/benchmark-train-amp-{nchw,nhwc}-pt112-cu113-rtx3090.csv"


def collection(name, batch, before, after):
    """A model of torchvision as the collection has it, too, before and after channels-last, on an RTX 3090 in AMP."""
    arguments = f"named --name {name} --batch {batch} --precision amp --steps 4 --warmup 2"
    return [Case(f"{name}-{layout}", "rtx3090", arguments + more, rate, TIMM)
            for layout, rate, more in (("nchw", before, ""), ("nhwc", after, " --channels-last"))]


# of the models that both have, one of each family and size of group
COLLECTION = [("resnet18", 512, 2764, 3482), ("resnet50", 512, 826.1, 1218.0), ("resnet101", 256, 569.0, 747.9), ("resnext50_32x4d", 384, 663.4, 1001.0),
              ("wide_resnet50_2", 384, 495.7, 668.8), ("densenet121", 256, 730.1, 913.7), ("vgg16", 384, 465.4, 546.1),
              ("vit_b_16", 192, 390.9, 393.0), ("vit_b_32", 512, 1704, 1709), ("convnext_tiny", 256, 813.2, 819.2), ("convnext_base", 128, 337.0, 338.7),
              ("swin_t", 256, 646.8, 648.7), ("regnet_y_400mf", 512, 2101, 2085), ("regnet_y_1_6gf", 512, 954.3, 650.1), ("regnet_y_8gf", 256, 385.8, 117.9),
              ("regnet_x_3_2gf", 384, 787.5, 308.9), ("regnet_x_16gf", 192, 266.6, 107.6), ("efficientnet_b0", 384, 1459, 1752),
              ("mobilenet_v2", 512, 1832, 2313), ("mnasnet1_0", 512, 2054, 2930),
              # drawn later, by the hash of their names, from thirty that both have
              ("regnet_y_16gf", 192, 264.4, 83.2), ("vgg11", 512, 826.0, 954.0), ("regnet_y_32gf", 128, 174.4, 66.3), ("mnasnet0_5", 512, 2847, 4680),
              ("convnext_large", 96, 187.0, 187.9), ("convnext_small", 192, 489.8, 487.2), ("resnet34", 512, 1622, 2037),
              ("densenet161", 128, 346.0, 399.2), ("vgg13_bn", 256, 468.4, 573.5), ("swin_b", 128, 279.7, 281.0), ("mnasnet0_75", 512, 2176, 3239),
              ("regnet_x_400mf", 512, 2695, 1781)]
EFFICIENT = DLE.format("Classification/ConvNets/efficientnet")


def efficient(name, model, card, batch, precision, rate):
    return Case(f"{name}-{card}-{precision}", model, f"named --name {name} --batch {batch} --precision {precision} --steps 4 --warmup 2"
                + (" --channels-last" if precision == "amp" else ""), rate, EFFICIENT)


def gpt(name, ms, commit, arguments):
    return Case("gpt2-" + name, "a100-80", "gpt2 --batch 16 " + arguments, 16e3 / ms, LECTURE.format(commit))


CASES = [
    gpt("fp32", 1000, "631f7d6", "--precision fp32 --steps 4 --warmup 2"),
    gpt("tf32", 333, "5265b20", "--precision tf32"),
    gpt("bf16", 300, "177e4cd", "--precision bf16"),
    gpt("compiled", 130, "fb8bd6e", "--precision bf16 --compile"),
    gpt("flash", 96, "7ee630c", "--precision bf16 --compile --flash"),
    gpt("vocabulary", 93, "7230096", "--precision bf16 --compile --flash --vocabulary 50304"),
    gpt("fused", 90, "3a148e4", "--precision bf16 --compile --flash --vocabulary 50304 --fused"),
    Case("nanogpt", "a100-40", "gpt2 --batch 12 --precision bf16 --dropout 0.1", 12e3 / 250, NANO, seen="vgpu/docs/pytorch.md had it"),
    Case("nanogpt-compiled", "a100-40", "gpt2 --batch 12 --precision bf16 --dropout 0.1 --compile", 12e3 / 135, NANO,
         seen="vgpu/docs/pytorch.md had it"),
    Case("resnet50-a100-tf32", "a100-80", "resnet50 --batch 256 --precision tf32", 938, RESNET, seen="not fitted, but known"),
    Case("resnet50-a100-amp", "a100-80", "resnet50 --batch 256 --precision amp --channels-last", 2470, RESNET,
         seen="`conv_half_eff` was chosen beside it"),
    Case("resnet50-v100-fp32", "v100", "resnet50 --batch 112 --precision fp32", 356, RESNET, seen="not fitted, but known"),
    Case("resnet50-v100-amp", "v100", "resnet50 --batch 256 --precision amp --channels-last", 1156, RESNET,
         seen="`conv_half_eff` was chosen beside its neighbour of 16 GB"),
    Case("resnext101-a100-tf32", "a100-80", "resnext101 --batch 128 --precision tf32", 456, RESNEXT),
    Case("resnext101-a100-amp", "a100-80", "resnext101 --batch 128 --precision amp --channels-last", 1211, RESNEXT),
    Case("resnext101-v100-fp32", "v100", "resnext101 --batch 64 --precision fp32", 144, RESNEXT),
    Case("seresnext101-a100-tf32", "a100-80", "seresnext101 --batch 128 --precision tf32", 395, SE),
    Case("seresnext101-a100-amp", "a100-80", "seresnext101 --batch 128 --precision amp --channels-last", 855, SE),
    Case("seresnext101-v100-fp32", "v100", "seresnext101 --batch 64 --precision fp32", 130, SE),
    named("vgg16-a100-tf32", "vgg16", 27.7, "--precision tf32"),
    named("vgg16-a100-half", "vgg16", 17.5, "--precision amp --half"),
    named("wide-resnet101-a100-tf32", "wide_resnet101_2", 80.8, "--precision tf32"),
    named("resnext101-8d-a100-tf32", "resnext101_32x8d", 99.7, "--precision tf32"),
    Case("bert-a100-tf32-128", "a100-80", "bert --batch 128 --length 128 --precision tf32 --micro", 317, BERT),
    Case("bert-a100-amp-128", "a100-80", "bert --batch 256 --length 128 --precision amp --half --micro", 580, BERT),
    efficient("efficientnet_b0", "a100-80", "a100", 256, "tf32", 1078),
    efficient("efficientnet_b0", "a100-80", "a100", 256, "amp", 2489),
    efficient("efficientnet_b0", "v100", "v100", 128, "fp32", 646),
    efficient("efficientnet_b0", "v100", "v100", 256, "amp", 1401),
    *(case for row in COLLECTION for case in collection(*row)),
]


def busy_ms(profile, batch, rate, steps):
    """The device's busy time per step, over the last steps that the program counted."""
    db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
    spans = sorted(db.execute("SELECT start_ns, end_ns FROM kernel UNION ALL SELECT start_ns, end_ns FROM copy"))
    begin, reached, busy = spans[-1][1] - steps * batch / rate * 1e9, 0, 0
    for start, end in spans:
        if start >= begin:
            busy += max(0, end - max(start, reached))
            reached = max(reached, end)
    return busy / steps / 1e6


def run(args, case, folder):
    profile = os.path.join(folder, case.name + ".gpuprof")
    done = subprocess.run([os.path.join(args.build, "bin", "gpuprof"), "run", "-q", "-f", "--device", "virtual:" + case.model, "-o", profile,
                           "--", args.python, os.path.join(HERE, "published_programs.py"), *case.arguments],
                          capture_output=True, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    printed = re.search(r"^samples_per_s ([\d.]+)$", done.stdout, re.M)
    if done.returncode != 0 or not printed:
        sys.exit(f"{case.name}: status {done.returncode}: {done.stderr[-2000:]}")
    rate = float(printed[1])
    steps = int(case.arguments[case.arguments.index("--steps") + 1]) if "--steps" in case.arguments else 8
    return {"name": case.name, "rate": rate, "busy_ms": busy_ms(profile, case.batch(), rate, steps)}


def row(case, got):
    alone = case.batch() / got["busy_ms"] * 1e3
    return (f"| {case.name} | {case.model} | `{' '.join(case.arguments)}` | {case.published:.0f} | {got['rate']:.0f} | {got['rate'] / case.published:.2f} | "
            f"{alone / case.published:.2f} | {case.seen or 'not fitted'} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("python")
    parser.add_argument("--state", default="")
    parser.add_argument("names", nargs="*")
    args = parser.parse_intermixed_args()
    had = {}
    if args.state and os.path.exists(args.state):
        with open(args.state, encoding="utf-8") as file:
            had = {r["name"]: r for r in map(json.loads, file)}
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if case.name in had or (args.names and case.name not in args.names):
                continue
            had[case.name] = run(args, case, folder)
            if args.state:
                with open(args.state, "a", encoding="utf-8") as file:
                    file.write(json.dumps(had[case.name]) + "\n")
            print(row(case, had[case.name]), file=sys.stderr, flush=True)
    print("| case | model | program | published, samples/s | reached | ratio | ratio, GPU alone | figure |\n|---|---|---|---|---|---|---|---|")
    for case in CASES:
        if case.name in had:
            print(row(case, had[case.name]))


if __name__ == "__main__":
    main()
