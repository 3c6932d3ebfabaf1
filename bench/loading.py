#!/usr/bin/env python3
"""Tests whether advice on data loading holds with real PyTorch on this machine's CPUs. Each program of loading_programs.py is
run with the advice that it gets (`gpuprof try`). Prints a table in Markdown.

With --device virtual:MODEL the programs run that copy their batches to a GPU and load them in at most one worker.

usage: loading.py BUILD [--python PYTHON] [--device DEVICE] [--epochs N] [--runs N] [--state FILE] [PROGRAM...]
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "loading_programs.py")
# The model of the step time was developed with these programs; the others were judged once, afterwards.
SEEN = ("cpu_inline io_inline tiny_inline tiny_workers crowded_workers crowded_trainer short_epochs short_epochs_spawn "
        "short_epochs_anew stream two_loaders prefetch_thread collate large_batches garbage uneven fed io_workers").split()
HELD_OUT = ("mixed_inline tiny_beside_work short_epochs_inline stream_sharded subclass large_workers "
            "garbage_made").split()
BESIDE_A_GPU = "gpu_python gpu_tensors gpu_io gpu_inline".split()
ABOUT_LOADING = ("data-loading", "num-workers", "worker-startup", "gc-pauses")


def trial(args, name, folder):
    """Returns what `try` says of the first advice that has a setting, or why there is none."""
    command = [args.python, "-W", "ignore", PROGRAMS, name, str(args.epochs)]
    profile = os.path.join(folder, name + ".gpuprof")
    tool = os.path.join(args.build, "bin", "gpuprof")
    device = ["--device", args.device] if args.device else []
    done = subprocess.run([tool, "try", "--json", "--runs", str(args.runs), *device, "-o", profile, "--", *command],
                          capture_output=True, text=True)
    if done.stdout.startswith("{"):
        return json.loads(done.stdout)
    said = json.loads(subprocess.run([tool, "analyze", "--json", profile], capture_output=True, text=True).stdout or "{}")
    fires = [f["rule"] for f in said.get("findings", []) if f["rule"] in ABOUT_LOADING]
    return {"tried": [], "advice": fires}


def percent(span):
    return f"{span['mid']:.1f} ({span['low']:.1f} to {span['high']:.1f})" if span else "-"


def row(name, said):
    if not said["tried"]:
        what = ", ".join(said.get("advice", [])) or "nothing"
        return f"| {name} | {what}, no setting | | | |"
    t = said["tried"][0]
    predicted = percent(t["predicted_pct"]) if t["predicted_pct"] else (
        f"at most {t['at_most_pct']:.1f}" if t["at_most_pct"] else "-")
    return f"| {name} | {t['rule']} (`{t['apply']}`) | {predicted} | {percent(t['measured_pct'])} | {t['verdict']} |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--device", default="")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--state", default="")
    parser.add_argument("programs", nargs="*")
    args = parser.parse_intermixed_args()
    seen = {}
    if args.state and os.path.exists(args.state):
        with open(args.state, encoding="utf-8") as file:
            seen = {r["name"]: r["said"] for r in map(json.loads, file)}
    with tempfile.TemporaryDirectory() as folder:
        for name in args.programs or (BESIDE_A_GPU if args.device else SEEN + HELD_OUT):
            if name not in seen:
                seen[name] = trial(args, name, folder)
                if args.state:
                    with open(args.state, "a", encoding="utf-8") as file:
                        file.write(json.dumps({"name": name, "said": seen[name]}) + "\n")
                print(row(name, seen[name]), file=sys.stderr, flush=True)
    for title, names in (("beside a GPU", BESIDE_A_GPU),) if args.device else (("seen", SEEN), ("held out", HELD_OUT)):
        print(f"\n| {title} | advice | predicted % of the step (80 %) | measured % (95 %) | verdict |")
        print("|---|---|---|---|---|")
        for name in names:
            if name in seen:
                print(row(name, seen[name]))


if __name__ == "__main__":
    main()
