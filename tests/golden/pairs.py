#!/usr/bin/env python3
"""Real recordings of one program before and after one change (pairs.tsv in their folder): is a step as long as its
pace on the GPU, does no rerun beat a bound, does diff say what was measured, is a change advised where it brought
something and not where it brought nothing? Predictions are listed with what was measured: hit or miss.
Usage: pairs.py GPUPROF FOLDER. Exit 77 (skipped) where the folder is absent."""
import json
import os
import subprocess
import sys

STEP_PCT = 3  # of the pace
DIFF_POINTS = 2
BOUND_POINTS = 1
COLUMNS = ("name", "before", "after", "rule", "change", "brought", "median_before", "median_after", "mean_before",
           "mean_after")


def table(folder):
    with open(os.path.join(folder, "pairs.tsv"), encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                row = dict(zip(COLUMNS, line.rstrip("\n").split("\t")))
                for key in COLUMNS[6:]:
                    row[key] = float(row[key])
                yield row


def ask(gpuprof, *args):
    done = subprocess.run([gpuprof, *args], capture_output=True, text=True, timeout=240)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(args)}: status {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def saved_pct(row, kind):
    """What the change saved, % of the step: of medians, or of means where the recording's step is its mean."""
    return 100 * (1 - row[f"{kind}_after"] / row[f"{kind}_before"])


def measure(gpuprof, folder, row):
    """A pair as gpuprof sees it, beside what is known of it."""
    before, after = (os.path.join(folder, row[key]) for key in ("before", "after"))
    told = [ask(gpuprof, "analyze", "--json", path) for path in (before, after)]
    change = ask(gpuprof, "diff", "--json", before, after)
    finding = next((f for f in told[0]["findings"] if f["rule"] == row["rule"]), None)
    means = [t["breakdown_of"] == "mean" for t in told]
    kind = "mean" if any(means) else "median"
    step = told[0]["breakdown_of_ms"]
    return {"row": row, "steps": [t["breakdown_of_ms"] for t in told],
            "paces": [row[("mean" if mean else "median") + side] for mean, side in zip(means, ("_before", "_after"))],
            "saved_pct": saved_pct(row, kind), "diff_pct": 100 * (1 - change["step_ms"]["ratio"]),
            "finding": finding, "step": step}


def interval_pct(pair):
    s = pair["finding"]["saves_ms"]
    return [100 * s[key] / pair["step"] for key in ("low", "mid", "high")]


def result(pair):
    """hit, miss, bound, broken bound, not advised."""
    if pair["finding"] is None:
        return "not advised"
    low, _, high = interval_pct(pair)
    if pair["finding"]["kind"] == "upper-bound":
        return "bound" if pair["saved_pct"] <= high + BOUND_POINTS else "broken bound"
    return "hit" if low <= pair["saved_pct"] <= high else "miss"


def check(pair):
    """Yields what is wrong."""
    row = pair["row"]
    for side, step, pace in zip(("before", "after"), pair["steps"], pair["paces"]):
        if abs(step - pace) > pace * STEP_PCT / 100:
            yield f"{side}: a step of {step:.3g} ms at a pace of {pace:.3g} ms"
    if abs(pair["diff_pct"] - pair["saved_pct"]) > DIFF_POINTS:
        yield f"diff says {-pair['diff_pct']:+.1f} %, measured {-pair['saved_pct']:+.1f} %"
    if row["brought"] == "gain":
        if pair["finding"] is None:
            yield f"{row['rule']} is not advised, and brought {pair['saved_pct']:.0f} %"
        elif result(pair) == "broken bound":
            yield f"at most {interval_pct(pair)[2]:.1f} %, measured {pair['saved_pct']:.1f} %"
    elif row["brought"] == "none" and pair["finding"]:
        yield f"{row['rule']} is advised, and brought nothing"


def main():
    gpuprof, folder = sys.argv[1:3]
    if not os.path.isfile(os.path.join(folder, "pairs.tsv")):
        print("skipped: no recordings in ../shared/traces")
        return 77
    bad = 0
    for row in table(folder):
        pair = measure(gpuprof, folder, row)
        problems = list(check(pair))
        told = f"; {result(pair)}" if row["brought"] == "gain" else ""
        print(f"{'FAIL' if problems else 'ok  '} {row['name']}: {pair['saved_pct']:.1f} % saved{told}")
        for p in problems:
            print("     " + p)
        bad += bool(problems)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
