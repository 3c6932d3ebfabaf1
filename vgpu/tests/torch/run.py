#!/usr/bin/env python3
"""Real PyTorch with CUDA on the virtual GPU: each script runs to its end under `gpuprof run` with its usual output, and the profile
contains its steps, its kernels by name and number, and the lines and modules of the script.

usage: run.py BUILD [NAME ...]

GPUPROF_TORCH names the Python that has a CUDA build of PyTorch 2 (`python3 -m venv DIR && DIR/bin/pip install torch`,
several GB). Exit status 77 without it.
"""
import json
import os
import re
import sqlite3
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../../tests/e2e"))
from support import Build, Checks, pytorch_ended  # noqa: E402

DEVICE = "virtual:h100"
HOW = "set GPUPROF_TORCH to a Python with a CUDA build of PyTorch 2 (python3 -m venv DIR && DIR/bin/pip install torch)"
LOSS = r"loss [-+.e\d]+"
TWO_RANKS = ["-m", "torch.distributed.run", "--nproc_per_node", "2"]


class Case:
    def __init__(self, name, output, kernels, *, script=None, arguments=(), options=(), module=(), steps=8, ranges=(),
                 device=DEVICE):
        self.name, self.output, self.kernels = name, output, kernels
        self.script, self.arguments, self.options = script or name, arguments, options
        self.module, self.steps, self.ranges, self.device = module, steps, ranges, device


# Kernels: a part of the name, and the least number of launches in all.
CASES = [
    Case("mlp", [r"available True devices 1", r"name Virtual NVIDIA H100.*nothing measured.*", r"memory True True",
                 LOSS, LOSS, LOSS, r"allocated True True", r"out of memory as on a card"],
         {"FusedAdam": 12, "gemm": 3 * 12, "nll_loss_forward": 36, "vectorized_elementwise_kernel": 36},
         ranges=[r"optimizer\.step", r"backward", r"zero_grad", r"sync \.item\(\) mlp\.py:\d+"]),
    Case("gpt", [LOSS + r" scale \S+", LOSS + r" scale \S+"],
         {"sdpa_sm90_flash_fprop": 48, "sdpa_sm90_flash_bprop": 48, "layer_norm": 240, "softmax_warp_forward": 24,
          "nvjet_sm90": 24 * 9 * 2, "amp_update_scale": 12, "multi_tensor_apply": 24 * 8, "gather": 48},
         options=["--modules"], ranges=[r"blocks\.0 \(Block\)", r"blocks\.1\.mlp\.0 \(Linear\)", r"optimizer\.step",
                                        r"sync \.item\(\) gpt\.py:\d+"]),
    Case("loader", [LOSS + r" time True"], {"gemm": 60, "nll_loss_forward": 20}, ranges=[r"optimizer\.step"]),
    Case("conv", [LOSS, LOSS, LOSS],
         {"xmma_fprop": 36, "xmma_dgrad": 24, "wgrad": 36, "batchnorm": 48, "max_pool_forward": 36, "depthwise": 12},
         ranges=[r"backward"]),
    Case("recurrent", [LOSS, LOSS, LOSS],
         {"LSTM_elementWise_fp": 12 * 20 * 5, "LSTM_elementWise_bp": 12 * 20 * 5, "GRU_elementWise_fp": 12 * 20}),
    Case("operators", [r"[\w ]+"] * 23, {"ctc_loss": 2, "spatial_sampler": 2, "potrf": 1, "syev_batched": 1, "csrgeam2": 1},
         steps=20),
    Case("integers", [r"[\w ]+ \([\d, ]*\)"] * 20 + [r"drawn in range", r"packed \[3, 7, 2, 5\]"], {"scatter_gather": 9, "DeviceSelectSweep": 1, "LSTM": 8},
         steps=6),
    Case("profiler", [r"kernels True " + LOSS], {"gemm": 24}),
    Case("graph", [LOSS], {"gemm": 60, "multi_tensor_apply": 20}),
    Case("compiled", [LOSS], {"triton_": 12, "gemm": 12}),
    Case("compiled-graphs", [LOSS], {"triton_": 12}, script="compiled", arguments=["reduce-overhead"]),
    Case("generate", [LOSS], {"gemm": 8 * 12, "reduce_kernel": 8 * 12}, ranges=[r"transformers\.generate", r"optimizer\.step"], steps=6),
    Case("fp8", [r"MATH " + LOSS, r"FLASH_ATTENTION " + LOSS, r"EFFICIENT_ATTENTION " + LOSS, r"CUDNN_ATTENTION " + LOSS],
         {"gemm_e4m3bf16": 4 * 12, "softmax": 12, "flash_fwd": 6, "fmha_cutlassF": 6, "sdpa": 12}, steps=20),
    Case("ddp", [r"rank [01] " + LOSS, r"rank [01] " + LOSS], {"ncclDevKernel_AllReduce": 24, "gemm": 48},
         module=TWO_RANKS, device=DEVICE + ",devices=2"),
    Case("fsdp", [r"rank [01] " + LOSS, r"rank [01] " + LOSS], {"AllGather": 2 * 12 * 3, "ncclDevKernel_Generic": 2 * 12 * 3},
         module=TWO_RANKS, device=DEVICE + ",devices=2"),
]


def has_cuda(python):
    asked = subprocess.run([python, "-c", "import torch; print(torch.version.cuda or '', torch.__version__)"],
                           capture_output=True, text=True)
    version = asked.stdout.split()
    return version[-1] if asked.returncode == 0 and len(version) == 2 else None


def look(checks, build, case, out):
    """Checks the profile and its analysis. If a launcher starts two ranks, both must be in one profile."""
    db = sqlite3.connect(f"file:{out}?mode=ro", uri=True)
    counts = dict(db.execute("SELECT s.text, count(*) FROM kernel k JOIN string s ON s.id = k.name GROUP BY 1"))
    for part, least in case.kernels.items():
        n = sum(c for name, c in counts.items() if part in name)
        checks.check(n >= least, f"{case.name}: {n} kernels '{part}', {least} at least", " ".join(counts)[:600])
    ranges = {r[0] for r in db.execute("SELECT DISTINCT s.text FROM range r JOIN string s ON s.id = r.name")}
    for wanted in case.ranges:
        checks.check(any(re.fullmatch(wanted, r) for r in ranges), f"{case.name}: a range '{wanted}'", str(sorted(ranges)))
    trouble = db.execute("SELECT count(*) FROM health h JOIN string s ON s.id = h.code WHERE s.text IN "
                         "('python-hook', 'missing-call')").fetchone()[0]
    checks.check(trouble == 0, f"{case.name}: the hook had no trouble")
    lined, ns = db.execute("SELECT coalesce(sum(iif(stack > 0, ns, 0)), 0), coalesce(sum(ns), 0) FROM launched WHERE kind = 'kernel'").fetchone()
    checks.check(ns and lined >= 0.95 * ns, f"{case.name}: {100 * lined / max(ns, 1):.1f} % of kernel time with a line, where launches carry them")
    analysis = build.analyze(out)
    gpu = (analysis.get("lines") or {}).get("gpu") or {"ms": 0}
    if gpu["ms"]:
        print(f"{case.name}: {100 * gpu['lined_ms'] / gpu['ms']:.1f} % of the GPU's time in a step with a line, "
              f"{100 * gpu['module_ms'] / gpu['ms']:.1f} % with a module", flush=True)
    steps = (analysis["steps"] or {}).get("count") or 0
    checks.check(steps >= case.steps, f"{case.name}: {steps} steps, {case.steps} at least", str(analysis["steps"]))
    checks.check("virtual" in json.dumps(analysis["device"]).lower() + analysis["verdict"].lower(),
                 f"{case.name}: the answer says that the GPU is virtual", analysis["verdict"])


def run(checks, build, python, case):
    script = os.path.join(HERE, "scripts", case.script + ".py")
    began = time.monotonic()
    done = build.run([build.gpuprof, "run", "-f", "--device", case.device, "-o", build.path(case.name + ".gpuprof"),
                      *case.options, "--", python, *case.module, script, *case.arguments],
                     TORCHINDUCTOR_CACHE_DIR=build.path("inductor"), TRITON_CACHE_DIR=build.path("triton"))
    good = checks.check(pytorch_ended(done), f"{case.name}: ends with status 0 after {time.monotonic() - began:.0f} s",
                        done.stderr[-1500:])
    checks.check("is not modelled" not in done.stderr, f"{case.name}: no call is missing", done.stderr[-400:])
    lines = [x for x in done.stdout.splitlines() if x.strip()]
    fits = len(lines) == len(case.output) and all(re.fullmatch(p, x) for p, x in zip(case.output, lines))
    checks.check(fits, f"{case.name}: prints what it would print", done.stdout[-600:])
    if good:
        look(checks, build, case, build.path(case.name + ".gpuprof"))


def main():
    python = os.environ.get("GPUPROF_TORCH")
    version = python and has_cuda(python)
    if not version:
        print("skipped: " + (f"{python} has no CUDA build of PyTorch; " if python else "no CUDA build of PyTorch; ") + HOW)
        sys.exit(77)
    if sys.argv[2:] and not any(case.name in sys.argv[2:] for case in CASES):
        sys.exit(77)
    build, checks = Build(sys.argv[1]), Checks()
    build.env.pop("GPUPROF_TORCH", None)
    print(f"PyTorch {version}", flush=True)
    for case in CASES:
        if not sys.argv[2:] or case.name in sys.argv[2:]:
            run(checks, build, python, case)
    checks.done()


main()
