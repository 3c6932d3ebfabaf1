#!/usr/bin/env python3
"""The examples on the virtual GPU: each script of examples/ runs to its end under `gpuprof run`, its steps are found,
and so is every finding that the table of its README names.

usage: gallery.py BUILD [NAME ...]

GPUPROF_TORCH names the Python with a CUDA build of PyTorch 2, torchvision, timm and transformers. An example whose
packages are missing is skipped with one line; status 77 if none could run.
"""
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "examples")
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from support import Build, Checks, lacks_cores, pytorch_ended  # noqa: E402

TWO_RANKS = ["-m", "torch.distributed.run", "--nproc_per_node", "2"]
NUMBER = r"[-+.e\d]+"


class Example:
    def __init__(self, name, steps, line, *, needs=(), module=()):
        self.name, self.steps, self.line, self.needs, self.module = name, steps, line, needs, module


# Steps, and a line that the script prints.
EXAMPLES_ALL = [
    Example("resnet50", 20, rf"step 20 loss {NUMBER} \d+ images/s", needs=["torchvision"]),
    Example("vit", 20, rf"step 20 loss {NUMBER} top-1 {NUMBER}", needs=["timm"]),
    Example("gpt2", 20, rf"iter 20: loss {NUMBER}, time {NUMBER}ms"),
    Example("bert", 20, r"steps 20", needs=["transformers", "accelerate"]),
    Example("dlrm", 40, rf"step 40 loss {NUMBER}"),
    Example("diffusion", 40, rf"step 40 loss {NUMBER}"),
    Example("ddp", 10, rf"step 10 loss {NUMBER}", needs=["torchvision"], module=TWO_RANKS),
    Example("fsdp2", 20, rf"step 20 loss {NUMBER}", module=TWO_RANKS),
]

LINED_PCT = 95
IDLE_PCT = 20 # other programs make the host so slow: what the GPU does is hardly worth a change then


def promised(name):
    """The rules in the first column of the README's table."""
    with open(os.path.join(EXAMPLES, name, "README.md"), encoding="utf-8") as f:
        return re.findall(r"^\| `([a-z0-9-]+)` \|", f.read(), re.M)


def missing(python, needs):
    wanted = ["torch", *needs]
    asked = subprocess.run([python, "-c", "import torch; assert torch.version.cuda; import " + ", ".join(wanted)],
                           capture_output=True, text=True)
    return asked.stderr.strip().split("\n")[-1] or "no CUDA build of PyTorch" if asked.returncode else None


def withheld(analysis, rule):
    """Why the rule gave no finding."""
    return [s.get("why") or s.get("missing") for s in analysis["suppressed"] + analysis["cannot_tell"] if s["rule"] == rule]


def look(checks, build, example, out):
    analysis = build.analyze(out)
    steps = (analysis["steps"] or {}).get("count") or 0
    checks.check(example.steps - 2 <= steps <= example.steps, f"{example.name}: {steps} steps of {example.steps}",
                 str(analysis["steps"]))
    gpu = analysis.get("lines", {}).get("gpu", {"ms": 0})
    lined, module = (100 * gpu[key] / gpu["ms"] if gpu["ms"] else 0 for key in ("lined_ms", "module_ms"))
    print(f"        {example.name}: of the GPU's time {lined:.1f} % has a line, {module:.1f} % a module")
    checks.check(lined >= LINED_PCT, f"{example.name}: nearly all of the GPU's time has a line", f"{lined:.1f} %")
    found = [f["rule"] for f in analysis["findings"]]
    rules = promised(example.name)
    checks.check(len(rules) > 0, f"{example.name}: its README names findings")
    if lacks_cores(analysis):
        print(f"        {example.name}: other programs had the cores: findings not judged")
        return
    for rule in rules:
        busy = "cpu-contention" in found or any(re.search("had no core|took the core", x) for x in withheld(analysis, rule))
        if rule not in found and busy:
            print(f"        {example.name}: its threads had no core: {rule} not judged")
            continue
        if rule not in found and rule != rules[0] and any("fixing it alone" in x for x in withheld(analysis, rule)):
            print(f"        {example.name}: {rule} is there, and the host was too slow this time for it to save anything alone")
            continue
        if rule not in found and rule != rules[0] and analysis["gpu"]["busy_pct"] < IDLE_PCT:
            print(f"        {example.name}: the GPU works for {analysis['gpu']['busy_pct']:.0f} % of the time: {rule} not judged")
            continue
        checks.check(rule in found, f"{example.name}: finds {rule}",
                     " ".join(found) + "; " + " ".join(withheld(analysis, rule)))


def run(checks, build, python, example):
    out, began = build.path(example.name + ".gpuprof"), time.monotonic()
    device = "virtual:h100" + (",devices=2" if example.module else "")
    script = os.path.abspath(os.path.join(EXAMPLES, example.name, "train.py"))
    done = build.run([build.gpuprof, "run", "-q", "-f", "--device", device, "-o", out, "--", python, *example.module,
                      script, "--steps", str(example.steps)], OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1")
    good = checks.check(pytorch_ended(done), f"{example.name}: ends with status 0 after {time.monotonic() - began:.0f} s",
                        done.stderr[-1500:])
    checks.check(re.search(rf"^{example.line}$", done.stdout, re.M), f"{example.name}: prints its last line",
                 done.stdout[-400:])
    if good:
        look(checks, build, example, out)


def main():
    python = os.environ.get("GPUPROF_TORCH")
    if not python:
        print("skipped: examples: set GPUPROF_TORCH to a Python with a CUDA build of PyTorch 2, torchvision, timm and "
              "transformers")
        sys.exit(77)
    build, checks, ran = Build(sys.argv[1]), Checks(), 0
    build.env.pop("GPUPROF_TORCH", None)
    for example in EXAMPLES_ALL:
        if sys.argv[2:] and example.name not in sys.argv[2:]:
            continue
        why = missing(python, example.needs)
        if why:
            print(f"skipped: example {example.name}: {why}", flush=True)
            continue
        ran += 1
        run(checks, build, python, example)
    if not ran:
        sys.exit(77)
    checks.done()


main()
