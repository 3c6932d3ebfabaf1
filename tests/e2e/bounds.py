#!/usr/bin/env python3
"""What is said to be saved at most is the most: programs drawn at random (bench/drawn.py) are recorded, predicted and rerun
with each advised setting. No rerun saves more than the upper end that was said, by more than 1 point of the step.

Other programs take cores, so that two reruns of one program differ: what a rerun saves for certain is the fastest run without
the setting against the slowest with it. `make truth` compares medians, on a machine that does nothing else.

usage: bounds.py BUILD [--drawn N] [--seed N] [--models a,b]
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

from support import Checks

HERE = os.path.dirname(os.path.abspath(__file__))
TRUTH = os.path.join(HERE, "..", "..", "bench", "truth.py")
POINT = 1.0


def times(state):
    """(case, setting) -> step times in ms."""
    found = {}
    with open(os.path.join(state, "runs.jsonl"), encoding="utf-8") as f:
        for line in f:
            r = json.loads(line)
            found.setdefault((r["case"], ";".join(sorted(r["arm"].split(";")))), []).append(r["ms"])
    return found


def certain_pct(found, row):
    base, with_it = found[row["case"], ""], found[row["case"], ";".join(sorted(row["setting"].split(";")))]
    return 100 * (min(base) - max(with_it)) / min(base)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--drawn", type=int, default=5)
    p.add_argument("--seed", type=int, default=11)
    p.add_argument("--models", default="a100-80,h100,h200")
    o = p.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="gpuprof-bounds-") as folder:
        state, rows = os.path.join(folder, "state"), os.path.join(folder, "rows.json")
        done = subprocess.run([sys.executable, TRUTH, os.path.join(o.build, "bin"), "--state", state, "--drawn", str(o.drawn),
                               "--seed", str(o.seed), "--steps", "24", "--repeats", "2", "--models", o.models, "--json", rows],
                              capture_output=True, text=True)
        checks.check(done.returncode == 0, f"{o.drawn} programs drawn by seed {o.seed}", done.stderr[-500:])
        if done.returncode == 0:
            found = times(state)
            with open(rows, encoding="utf-8") as f:
                said = [r for r in json.load(f)["rows"] if r.get("bound") is not None or r.get("high") is not None]
            checks.check(bool(said), "something is said", done.stdout[-500:])
            for r in said:
                most, certain = r["bound"] if r["mid"] is None else r["high"], certain_pct(found, r)
                checks.check(certain <= most + POINT, f"{r['case']} on {r['model']}: {r['setting']} saves at most {most:.1f} %",
                             f"it saves at least {certain:.1f} %")
    checks.done()


if __name__ == "__main__":
    main()
