#!/usr/bin/env python3
"""The ledger of savings: each prediction for a real card beside what the change saved there, misses included.

Rows come from the tables in docs/accuracy/ and docs/measurements/, as the engine of that day predicted them, and from the
before/after pairs in FOLDER (pairs.tsv), as this GPUPROF predicts them. A hash of a row's names assigns it to one of two halves, so
that the choice is not ours. For each kind of change, the seen half determines by how much its intervals must be wider
(split-conformal: the ceil(0.8 (n + 1))-th smallest miss), and the other half tests whether they then hold. For a kind with fewer than
LEAST rows that quantile would be one of the largest misses, so such a kind takes the quantile of all kinds together. A prediction from
one recorded step is widened like its kind: the replay itself adds for what one step cannot show (docs/accuracy/few_steps.tsv). A
miss is counted from the measured median. Misses are logarithms of the odds of saved to left time: of the scales in the table, intervals on this one are among the
narrowest, and only on it their low ends stay above zero.

The engine widens its intervals by the table (analyzer/advice/limits.def). The table is made of intervals before that widening,
`replayed`, so nothing is widened twice; `told` is what a user is told; for rows of old engines it is what today's engine would tell.
An interval holds if the measured median lies in it, and meets the runs if some of them lie in it.
Usage: ledger.py GPUPROF FOLDER --write docs/ledger.tsv docs/accuracy/intervals.tsv (and left_out.tsv beside it)
       ledger.py --check docs/ledger.tsv docs/accuracy/intervals.tsv: do the tables follow from the rows, and the engine from the table?"""
import hashlib
import json
import math
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLUMNS = ("source", "device", "program", "change", "kind", "step before, ms", "predicted %", "replayed: low", "high", "told: low", "high",
           "measured %", "measured: least", "most", "replayed", "told", "engine", "in view when predicted", "half")
KINDS = ("structural", "kernel", "host-limited", "one step only")
AGREE = 1  # %, added to what is saved and to what is left: WHATIF_AGREE
LEAST = 20  # rows; of fewer the quantile is one of the largest three misses


def odds(p):
    p = min(max(p, 0), 100)
    return math.log((p + AGREE) / (100 - p + AGREE))


def of_odds(x):
    e = math.exp(x)
    return min(max((e * (100 + AGREE) - AGREE) / (1 + e), 0), 100)


def points(scale):
    """Scales points by a share of what depends on the middle: returns the map and its inverse."""
    return (lambda p, mid: p / scale(mid)), (lambda x, mid: min(max(x * scale(mid), 0), 100))


SCALES = {"odds": ((lambda p, _: odds(p)), (lambda x, _: of_odds(x))), "root of saving times step": points(lambda p: math.sqrt(100 * max(p, 0.01))),
          "saving": points(lambda p: max(p, 1)), "step": points(lambda _: 100)}
SCALE = next(iter(SCALES))
KERNELS = {"tensor-cores", "channels-last", "pointwise-fusion", "type-casts", "fused-optimizer", "gradient-clipping", "TF32",
           "BF16", "fused-attention", "slow-normalisation"}
HOST = {"cuda-graphs", "sync-in-loop", "debug-switches", "allocation-in-loop", "small-copies", "host-work", "zero-grad"}
SPAN = r"(-?[\d.]+) \((-?[\d.]+) to (-?[\d.]+)\)"
TOLERANCE = 0.05  # points: figures in tables have one digit
ROUND = 0.2       # of several of them


def kind(change, steps=None):
    if steps is not None and steps < 2:
        return "one step only"
    words = change.split()
    return ("kernel" if any(w.strip(",") in KERNELS for w in words) or "autocast" in change else
            "host-limited" if words[0] in HOST or "graph" in change.lower() else "structural")


def engine_misses():
    """Returns by how much the engine widens, in logarithms of odds, for each kind."""
    with open(os.path.join(TOP, "analyzer", "advice", "limits.def"), encoding="utf-8") as f:
        by = {name: float(x) for name, x in re.findall(r"ADVICE_MISS_(\w+), ([\d.]+)", f.read())}
    return dict(zip(KINDS, (by["STRUCTURAL"], by["KERNEL"], by["HOST"], max(by.values()))))


MISSES = engine_misses()


def wider(mid, low, high, by, scale=SCALE):
    to, back = SCALES[scale]
    return min(back(to(low, mid) - by, mid), low), max(back(to(high, mid) + by, mid), high)


def widened(what, mid, low, high):
    return tuple(round(x, 1) for x in wider(mid, low, high, MISSES[what]))


def held(span, measured):
    """'hit' or 'miss'; 'loss' if the change made the step longer and the interval begins at zero, because the engine predicts no losses."""
    return ("hit" if span[0] - TOLERANCE <= measured <= span[1] + TOLERANCE else
            "loss" if measured < 0 and span[0] == 0 else "miss")


def row(source, device, program, change, what, step, predicted, measured, engine, view, told=None):
    """predicted: middle, low, high of the replay, or None; measured: middle, least, most; told: low, high."""
    half = "seen" if int(hashlib.sha256(f"{source}/{program}/{change}".encode()).hexdigest(), 16) % 2 else "held"
    if predicted is None:
        result = then = "right: it brings nothing" if measured[0] < 1 else "miss: not advised"
        predicted, told = ("", "", ""), ("", "")
    elif predicted[0] is None:
        result = then = "bound holds" if measured[0] <= predicted[2] + 1 else "miss: bound broken"
        predicted, told = ("", "", predicted[2]), ("", predicted[2])
    else:
        told = told or widened(what, *predicted)
        result, then = held(predicted[1:], measured[0]), held(told, measured[0])
    return (source, device, program, change, what, step, *predicted, *told, *measured, result, then, engine, view, half)


def of_h200(path):
    """Reads the tables of what was predicted and rerun on the card."""
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
    """Reads tables that write `predicted` as "58.3 (41.9 to 62.0)", or as "not advised"."""
    with open(path, encoding="utf-8") as f:
        head, *lines = [line.rstrip("\n").split("\t") for line in f]
    for cells in lines:
        c = dict(zip(head, cells))
        said = re.match(SPAN, c.get("predicted %") or c.get("predicted") or "")
        got = re.match(r"(-?[\d.]+)(?: \((-?[\d.]+) to (-?[\d.]+)\))?$", c.get("measured %") or c.get("measured") or "")
        if (said or c.get("predicted %") == "not advised") and got:
            change = c["change"]
            yield row(source, c.get("device", device), c.get("pair") or c.get("program") or change, change, kind(change),
                      c.get("step before, ms") or c.get("step before, ms: from the rows"),
                      [float(x) for x in said.groups()] if said else None,
                      [float(x) if x else "" for x in got.groups()], c.get("engine") or engine,
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
        s, told = None, None
        if said:
            low, mid, high = (100 * said["saves_ms"][k] / step for k in ("low", "mid", "high"))
            below, above = (100 * said["ledger_ms"][k] / step for k in ("low", "high"))
            told = round(low, 1), round(high, 1)
            s = [round(mid, 1) if said["kind"] == "predicted" else None, round(low + below, 1), round(high - above, 1)]
        yield row("pair of recordings", r["device"]["name"], name, f"{rule}: {change}",
                  (said and said["change"]) or kind(f"{rule} {change}", r["steps"]["used"]), round(step, 2), s,
                  (round(100 * (1 - then / was), 1), "", ""), version, "the pair", told)


def runs(x):
    """Returns the range of the measured savings."""
    measured = [float(c) for c in x[11:14] if c != ""]
    return min(measured), max(measured)


def meets(x, at):
    least, most = runs(x)
    return float(x[at]) - TOLERANCE <= most and least <= float(x[at + 1]) + TOLERANCE


def miss(x, scale=SCALE):
    """By how much the replay's interval fails the measured median, on that scale. A loss counts as nothing saved."""
    to, mid = SCALES[scale][0], float(x[6])
    measured = to(max(float(x[11]), 0), mid)
    return max(to(float(x[7]), mid) - measured, measured - to(float(x[8]), mid), 0)


def quantile(misses):
    at = math.ceil(0.8 * (len(misses) + 1))
    return sorted(misses)[at - 1] if 0 < at <= len(misses) else 0


def width(x, by, scale):
    """Returns the width of the interval in points after it was widened by this much."""
    low, high = wider(*(float(c) for c in x[6:9]), by, scale)
    return high - low


def fit(rows, what, scale=SCALE):
    """Returns the quantile of the seen half, and whether it is that of all kinds."""
    seen = [x for x in rows if x[6] != "" and x[-1] == "seen"]
    own = [x for x in seen if x[4] == what]
    return quantile([miss(x, scale) for x in (own if len(own) >= LEAST else seen)]), len(own) < LEAST


def intervals(rows):
    results = ("hold as replayed", "hold as told", "meet the runs as told", "told from nothing")
    yield ("kind of change", "wider by, in logarithms of odds", *(c for half in ("predictions", "seen half", "other half") for c in (half, *results)),
           *(f"mean width of the seen half, points: by the {scale}" for scale in SCALES))
    for what in KINDS:
        of = [x for x in rows if x[4] == what and x[6] != ""]
        halves = [of, *([x for x in of if x[-1] == half] for half in ("seen", "held"))]
        by, few = fit(rows, what)
        yield (what, "as its kind" if what == KINDS[-1] else f"{math.ceil(1000 * by) / 1000:.3f}" + (" (too few rows: that of all kinds)" if few else ""),
               *(c for half in halves for c in (len(half), sum(x[14] == "hit" for x in half), sum(x[15] == "hit" for x in half),
                                                sum(meets(x, 9) for x in half), sum(float(x[9]) < TOLERANCE for x in half))),
               *(f"{sum(width(x, fit(rows, what, s)[0], s) for x in halves[1]) / max(len(halves[1]), 1):.1f}" for s in SCALES))


def left_out(rows):
    """What all rows but some would tell of these: does the widening hold for kinds, cards and programs that no fit has seen?"""
    said = [x for x in rows if x[6] != ""]
    yield "left out, and told by the others", "predictions", "wider by", "hold"

    def told(of):
        by = quantile([miss(x) for x in said if x not in of])
        return by, sum(held(wider(*(float(c) for c in x[6:9]), by), float(x[11])) == "hit" for x in of)

    for at in (4, 0):
        for what in dict.fromkeys(x[at] for x in said):
            of = [x for x in said if x[at] == what]
            by, hold = told(of)
            yield what, len(of), f"{by:.3f}", hold
    each = [told([x for x in said if x[2] == program]) for program in dict.fromkeys(x[2] for x in said)]
    bys = [by for by, _ in each]
    yield "each program, one after the other", len(said), f"{min(bys):.3f} to {max(bys):.3f}", sum(hold for _, hold in each)


def write(path, lines):
    with open(path, "w", encoding="utf-8") as f:
        f.writelines("\t".join(str(c) for c in line) + "\n" for line in lines)


def read(path):
    with open(path, encoding="utf-8") as f:
        return [tuple(line.rstrip("\n").split("\t")) for line in f]


def others_of(table):
    return os.path.join(os.path.dirname(table), "left_out.tsv")


def check(ledger, table):
    """Yields each inconsistency."""
    rows, lines, others = read(ledger)[1:], read(table), others_of(table)
    if [tuple(str(c) for c in line) for line in left_out(rows)] != read(others):
        yield f"{others} does not follow from {ledger}: make ledger"
    if [tuple(str(c) for c in line) for line in intervals(rows)] != lines:
        yield f"{table} does not follow from {ledger}: make ledger"
    for what, *cells in lines[1:]:
        if what != KINDS[-1] and float(cells[0].split()[0]) != MISSES[what]:
            yield f"{what}: the engine widens by {MISSES[what]}, {table} says {cells[0]}"
    for x in rows:
        most = widened(x[4], *(float(c) for c in x[6:9])) if x[6] else None
        if most and not most[0] - ROUND <= float(x[9]) <= float(x[7]) + ROUND:
            yield f"{x[2]}, {x[3]}: told from {x[9]} %, replayed from {x[7]} %, which is to become {most[0]} %"
        if most and not float(x[8]) - ROUND <= float(x[10]) <= most[1] + ROUND:
            yield f"{x[2]}, {x[3]}: told to {x[10]} %, replayed to {x[8]} %, which is to become {most[1]} % at most"


def main():
    if sys.argv[1] == "--check":
        wrong = list(check(*sys.argv[2:4]))
        print("\n".join(wrong))
        return 1 if wrong else 0
    gpuprof, folder, _, ledger, table = sys.argv[1:6]
    accuracy = os.path.join(TOP, "docs", "accuracy")
    rows = [*of_h200(os.path.join(TOP, "docs", "measurements", "h200-2026-11.md")),
            *of_table(os.path.join(accuracy, "h200.tsv"), "run on the card", "NVIDIA H200", "of runs 1 to 3", "nothing of it"),
            *of_table(os.path.join(accuracy, "recordings_found_later.tsv"), "pair found later", "", "of that day", "nothing of it"),
            *of_pairs(gpuprof, folder)]
    write(ledger, [COLUMNS, *rows])
    write(table, intervals(rows))
    write(others_of(table), left_out(rows))
    said = [x for x in rows if x[6] != ""]
    print(f"{len(rows)} rows; {sum(x[14] == 'hit' for x in said)} of {len(said)} intervals hold as replayed, "
          f"{sum(x[15] == 'hit' for x in said)} as told; {sum(meets(x, 9) for x in said)} meet the runs; "
          f"{sum(float(x[9]) < TOLERANCE for x in said)} begin at nothing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
