#!/usr/bin/env python3
"""Do the predictions come true? For each planted defect: record it, take the finding's prediction
and its setting, run the program without and with that setting, unrecorded and interleaved, and
compare. Prints one table.

    bench/truth.py BIN [--models a100-80,v100,h200] [--defects a,b] [--steps N] [--repeats N]

BIN is the folder of gpuprof and train_conv. Runs take real time on a quiet machine: nothing else
should use its cores. Exit status: 0 when every run worked, whatever the figures say.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile


def run(args, **env):
    r = subprocess.run(args, capture_output=True, text=True, env={**os.environ, **env}, timeout=300)
    if r.returncode:
        sys.exit(f"{' '.join(args)}\n{r.stderr}")
    return r.stdout


def settings(o, model, defect):
    """V100 and T4 have no bf16, the trainer's default."""
    args = ["--steps", str(o.steps), "--defect", defect]
    return args + (["--precision", "fp16"] if model in ("v100", "t4") and defect != "fp32" else [])


def step_ms(o, model, defect, apply):
    out = run([o.gpuprof, "run", "--no-record", "--device", f"virtual:{model}", "--", o.trainer,
               *settings(o, model, defect)], GPUPROF_APPLY=apply)
    return float(re.search(r"median_step_ms=([0-9.]+)", out).group(1))


def finding_of(o, model, defect, folder):
    profile = os.path.join(folder, f"{model}-{defect}.gpuprof")
    run([o.gpuprof, "run", "-q", "-f", "-o", profile, "--device", f"virtual:{model}", "--",
         o.trainer, *settings(o, model, defect)])
    return json.loads(run([o.gpuprof, "analyze", "--predict", "--json", profile]))


def judge(o, model, defect, rule, folder):
    report = finding_of(o, model, defect, folder)
    found = report["findings"]
    at = next((i for i, f in enumerate(found) if f["rule"] == rule), None)
    if at is None:
        return {"model": model, "defect": defect, "missing": True}
    f = found[at]
    before, after = [], []
    for i in range(o.repeats): # A B, B A, A B, ...
        for arm in (("", f["knob"]) if i % 2 == 0 else (f["knob"], "")):
            (after if arm else before).append(step_ms(o, model, defect, arm))
    base = statistics.median(before)
    # What is saved counts in shares of the step: recorded and unrecorded steps differ a little.
    profiled = report["steps"]["median_ms"]
    saved = {k: 100 * v / profiled for k, v in f["saves_ms"].items()}
    measured = 100 * (base - statistics.median(after)) / base
    return {"model": model, "defect": defect, "knob": f["knob"], "kind": f["kind"],
            "class": f["error_class"], "base": base, "saved": saved, "measured": measured,
            "error": saved["mid"] - measured, "first": at == 0,
            "covered": saved["low"] <= measured <= saved["high"]}


def show(r):
    if "missing" in r:
        print(f"| {r['model']} | {r['defect']} | not found | | | | | | |", flush=True)
        return
    s = r["saved"]
    print(f"| {r['model']} | {r['defect']} | {r['class']}, {r['kind']} | {r['base']:.2f} | "
          f"{s['mid']:.1f} | {s['low']:.1f} to {s['high']:.1f} | {r['measured']:.1f} | "
          f"{r['error']:+.1f} | {'yes' if r['covered'] else 'no'}, "
          f"{'first' if r['first'] else 'not first'} |", flush=True)


def summary(rows):
    rows = [r for r in rows if r.get("kind") == "predicted"]
    exact = [abs(r["error"]) for r in rows if r["class"] == "structural"]
    wide = [r["covered"] for r in rows if r["class"] != "structural"]
    if exact:
        print(f"\nStructural edits: {len(exact)}, median error {statistics.median(exact):.1f} "
              f"points of step time, worst {max(exact):.1f}.")
    if wide:
        print(f"Kernel-model edits: {len(wide)}, interval covers {sum(wide)}.")
    if rows:
        print(f"First recommendation right in {sum(r['first'] for r in rows)} of {len(rows)}.")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("bin")
    p.add_argument("--models", default="a100-80,v100,h200")
    p.add_argument("--defects", default="")
    p.add_argument("--steps", type=int, default=40)
    p.add_argument("--repeats", type=int, default=3)
    o = p.parse_args()
    o.gpuprof, o.trainer = os.path.join(o.bin, "gpuprof"), os.path.join(o.bin, "train_conv")
    listed = [l.split("\t") for l in run([o.trainer, "--defect", "list"]).splitlines()]
    wanted = [d for d in o.defects.split(",") if d]
    print("| GPU | defect | class | step ms | predicted % | interval | measured % | error, points |"
          " covered, rank |\n|---|---|---|---|---|---|---|---|---|", flush=True)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for model in o.models.split(","):
            for name, rule, *_ in listed:
                if not wanted or name in wanted:
                    rows.append(judge(o, model, name, rule, folder))
                    show(rows[-1])
    summary(rows)


if __name__ == "__main__":
    main()
