#!/usr/bin/env python3
"""The ledger of savings: each prediction for a real card beside what the change brought there, misses included.

Rows come from the tables in docs/accuracy/ and docs/measurements/, as the engine of that day predicted them, and from the
before/after pairs in FOLDER (pairs.tsv), as this GPUPROF predicts them. The half of a row is drawn by a hash of its names, so that
nobody chooses it. For each kind of change the seen half says by how much its intervals would have to be wider (split-conformal:
the ceil(0.8 (n + 1))-th smallest miss, as a share of what was predicted), and the other half whether they would then hold.
Usage: ledger.py GPUPROF FOLDER --write docs/ledger.tsv docs/accuracy/intervals.tsv"""
import hashlib
import json
import math
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLUMNS = ("source", "device", "program", "change", "kind", "step before, ms", "predicted %", "low", "high", "measured %",
           "measured: least", "most", "result", "engine", "in view when predicted", "half")
KERNELS = {"tensor-cores", "channels-last", "pointwise-fusion", "type-casts", "fused-optimizer", "gradient-clipping", "TF32",
           "BF16", "fused-attention", "slow-normalisation"}
HOST = {"cuda-graphs", "sync-in-loop", "debug-switches", "allocation-in-loop", "small-copies", "host-work", "zero-grad"}
SPAN = r"(-?[\d.]+) \((-?[\d.]+) to (-?[\d.]+)\)"
TOLERANCE = 0.05  # points: figures in tables have one digit


def kind(change, steps=None):
    if steps is not None and steps < 2:
        return "one step only"
    words = change.split()
    return ("kernel" if any(w.strip(",") in KERNELS for w in words) or "autocast" in change else
            "host-limited" if words[0] in HOST or "graph" in change.lower() else "structural")


def row(source, device, program, change, what, step, predicted, measured, engine, view):
    """predicted: middle, low, high, or None; measured: middle, least, most."""
    half = "seen" if int(hashlib.sha256(f"{source}/{program}/{change}".encode()).hexdigest(), 16) % 2 else "held"
    if predicted is None:
        result, predicted = ("right: it brings nothing" if measured[0] < 1 else "miss: not advised"), ("", "", "")
    elif predicted[0] is None:
        result = "bound holds" if measured[0] <= predicted[2] + 1 else "miss: bound broken"
        predicted = ("", "", predicted[2])
    else:
        result = "hit" if predicted[1] - TOLERANCE <= measured[0] <= predicted[2] + TOLERANCE else "miss"
    return (source, device, program, change, what, step, *predicted, *measured, result, engine, view, half)


def of_h200(path):
    """The tables of what was predicted and rerun on the card."""
    view = engine = ""
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith("## "):
                known = {"## The truth table": ("no recording of these programs on a card", "of run 4"),
                         "## Programs drawn at random": ("nothing of it", "of run 6"), "## Programs of others": ("nothing of it", "of run 6")}
                view, engine = next((v for k, v in known.items() if line.startswith(k)), ("", ""))
            m = re.match(rf"\| (.*?) \| (.*?) \| ([\d.]+) \| {SPAN}[^|]* \| (-?[\d.]+)(?: \((-?[\d.]+) to (-?[\d.]+)\))? \| (?:yes|no)", line)
            if m and view and m.group(2) != "all together":
                at = [float(x) if x else "" for x in m.groups()[2:]]
                change = m.group(2)
                yield row("run on the card", "NVIDIA H200", m.group(1).strip("`"), change, kind(change), at[0], at[1:4], at[4:7],
                          engine, view)


def of_table(path, source, device, engine, view):
    """Tables with `predicted` as "58.3 (41.9 to 62.0)"."""
    with open(path, encoding="utf-8") as f:
        head, *lines = [line.rstrip("\n").split("\t") for line in f]
    for cells in lines:
        c = dict(zip(head, cells))
        said = re.match(SPAN, c.get("predicted %") or c.get("predicted") or "")
        got = re.match(r"(-?[\d.]+)(?: \((-?[\d.]+) to (-?[\d.]+)\))?$", c.get("measured %") or c.get("measured") or "")
        if said and got:
            change = c["change"]
            yield row(source, c.get("device", device), c.get("pair") or c.get("program") or change, change, kind(change),
                      c.get("step before, ms") or c.get("step before, ms: from the rows"),
                      [float(x) for x in said.groups()], [float(x) if x else "" for x in got.groups()], engine,
                      "the pair" if "not blind" in c.get("result", "") else view)


def of_pairs(gpuprof, folder):
    version = subprocess.run([gpuprof, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    commit = subprocess.run(["git", "-C", TOP, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    version = f"{version} {commit.stdout.strip()}".strip()
    with open(os.path.join(folder, "pairs.tsv"), encoding="utf-8") as f:
        pairs = [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]
    for name, before, _, rule, change, brought, *pace in pairs:
        if brought == "other":
            continue
        done = subprocess.run([gpuprof, "analyze", "--json", os.path.join(folder, before)], capture_output=True, text=True, check=True)
        r = json.loads(done.stdout)
        step, by_mean = r["breakdown_of_ms"], r["breakdown_of"] == "mean"
        was, then = (float(pace[2]), float(pace[3])) if by_mean else (float(pace[0]), float(pace[1]))
        said = next((f for f in r["findings"] if f["rule"] == rule), None)
        s = said and [round(100 * said["saves_ms"][k] / step, 1) for k in ("mid", "low", "high")]
        if said and said["kind"] == "upper-bound":
            s[0] = None
        yield row("pair of recordings", r["device"]["name"], name, f"{rule}: {change}",
                  kind(f"{rule} {change}", r["steps"]["used"]), round(step, 2), s, (round(100 * (1 - then / was), 1), "", ""),
                  version, "the pair")


def miss(x):
    """By how much the interval fails, as a share of what was predicted. Nobody predicts a loss: that counts as nothing saved."""
    measured = max(x[9], 0)
    return max(x[7] - measured, measured - x[8], 0) / max(x[6], 1)


def quantile(misses):
    at = math.ceil(0.8 * (len(misses) + 1))
    return sorted(misses)[at - 1] if 0 < at <= len(misses) else None


def intervals(rows):
    yield ("kind of change", "predictions", "hold", "seen half", "wider by, share of the saving", "other half", "hold then")
    for what in ("structural", "kernel", "host-limited", "one step only"):
        of = [x for x in rows if x[4] == what and x[6] != ""]
        seen, held = ([x for x in of if x[-1] == half] for half in ("seen", "held"))
        by = quantile([miss(x) for x in seen])
        yield (what, len(of), sum(x[12] == "hit" for x in of), len(seen), "too few" if by is None else round(by, 2), len(held),
               "" if by is None else sum(miss(x) <= by for x in held))


def write(path, lines):
    with open(path, "w", encoding="utf-8") as f:
        f.writelines("\t".join(str(c) for c in line) + "\n" for line in lines)


def main():
    gpuprof, folder, _, ledger, table = sys.argv[1:6]
    accuracy = os.path.join(TOP, "docs", "accuracy")
    rows = [*of_h200(os.path.join(TOP, "docs", "measurements", "h200-2026-11.md")),
            *of_table(os.path.join(accuracy, "h200.tsv"), "run on the card", "NVIDIA H200", "of runs 1 to 3", "nothing of it"),
            *of_table(os.path.join(accuracy, "recordings_found_later.tsv"), "pair found later", "", "of that day", "nothing of it"),
            *of_pairs(gpuprof, folder)]
    write(ledger, [COLUMNS, *rows])
    write(table, intervals(rows))
    told = [x for x in rows if x[6] != ""]
    print(f"{len(rows)} rows; {sum(x[12] == 'hit' for x in told)} of {len(told)} intervals hold")
    return 0


if __name__ == "__main__":
    sys.exit(main())
