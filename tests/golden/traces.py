#!/usr/bin/env python3
"""Traces against what is known of them: counts exact, shares within 0.2 points, the known bottleneck first, nothing advised
that is known to be wrong. First those that standins.py writes, then, where FOLDER is there, each Nth real one (traces.tsv).
Usage: traces.py GPUPROF FOLDER N."""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

import standins

TOLERANCE = 0.2  # points of the window
SURE = 5  # % of the critical path: with more unexplained nothing may be predicted
COUNTS = ("events", "kernels", "copies", "memsets")
SHARES = ("busy_pct", "compute_pct", "comm_pct", "comm_exposed_pct")


def rows(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                yield line.rstrip("\n").split("\t")


def agree(result):
    """The verdict names what fills most of the step and the first finding, as the largest saving where none may save more;
    Next is its remedy."""
    if not result["findings"] or result["verdict_class"] in ("not-enough-data", "start-up"):
        return
    title = result["findings"][0]["title"]
    highs = [f["saves_ms"]["high"] for f in result["findings"]]
    words = "The largest saving" if highs[0] == max(highs) else "What to change first"
    if f"{words}: {title}" not in result["verdict"] or not result["next"].startswith(title):
        yield f"verdict and next disagree: {result['verdict']!r}, {result['next']!r}"
    parts = result["breakdown_ms"]
    computes = parts["compute"] / sum(parts.values())
    if computes > 0.5 and f"kernels compute during {100 * computes:.0f} %" not in result["verdict"]:
        yield f"kernels compute for {100 * computes:.0f} %, and the verdict does not say so: {result['verdict']!r}"


def of_window(result):
    """No step repeats: what was recorded is the unit, it gets an answer, and nothing is said of a step."""
    if result["steps"]["unit"] != "window":
        yield f"no step repeats, and the unit is a {result['steps']['unit']}"
    if result["counts"]["kernels"] >= 10 and "recorded window" not in result["verdict"]:
        yield f"the verdict is not of the window: {result['verdict']!r}"
    if abs(sum(result["breakdown_ms"].values()) - result["breakdown_of_ms"]) > 1e-4:
        yield "the parts of the window do not sum to it"
    said = [result["verdict"], result["why"]]
    for finding in result["findings"]:
        said += [finding["title"], finding["summary"]] + [e["text"] for e in finding["evidence"]]
    for text in said:
        if any(word in text for word in ("per step", "of the step", "each step", "every step", "median")):
            yield f"speaks of a step: {text!r}"


def stacked(result):
    """One change after the other: each step lies in its interval, none is longer than the one before, and the first change
    saves what its finding says."""
    before, alone = None, {f["rule"]: f["saves_ms"]["mid"] for f in result["findings"]}
    for change in result["replay"]["stack"]:
        step, rule = change["step_ms"], change["rule"]
        if not change["step_low_ms"] - 1e-6 <= step <= change["step_high_ms"] + 1e-6:
            yield f"with {rule} a step takes {step} ms, from {change['step_low_ms']} to {change['step_high_ms']}"
        if before is None and abs(change["saves_ms"] - alone.get(rule, change["saves_ms"])) > 1e-3:
            yield f"{rule} saves {alone[rule]} ms as a finding, {change['saves_ms']} ms as the first change"
        if before is not None and step > before + 1e-6:
            yield f"{rule} makes a step of {before} ms one of {step} ms"
        before = step


def check(result, row):
    """Yields what is wrong."""
    numbers, first, never = row[1:9], row[9], row[10]
    if numbers[1] == "-":
        if result["gpu"]["window_ms"] or result["findings"]:
            yield "claims GPU work or findings where nothing was recorded"
        if not any(word in result["verdict"].lower() for word in ("no gpu", "cannot tell", "not enough")):
            yield f"verdict hides that there is no GPU work: {result['verdict']!r}"
        return
    for key, want in zip(COUNTS, numbers):
        if want and result["counts"][key] != int(want):
            yield f"{key} {result['counts'][key]}, known {want}"
    for key, want in zip(SHARES, numbers[4:]):
        if want and abs(result["gpu"][key] - float(want)) > TOLERANCE:
            yield f"{key} {result['gpu'][key]:.2f}, known {want}"
    found = [f["rule"] for f in result["findings"]]
    if first != "-" and (not found or found[0] not in first.split(",")):
        yield f"first finding {found[:1]}, known bottleneck {first}"
    if len(row) > 11:
        late = max(result["ranks"], key=lambda r: r["late_ms"], default={"rank": None})["rank"]
        if late != int(row[11]):
            yield f"names rank {late} as late, known is rank {row[11]}"
    replay = result["replay"]
    if (replay["unexplained_pct"] or 0) > SURE and (replay["trusted"] or "unexplained" not in replay["why_not"]):
        yield f"{replay['unexplained_pct']:.1f} % of the replay is unexplained, and it does not say so"
    yield from agree(result)
    yield from stacked(result)
    if result["steps"]["source"] == "none":
        yield from of_window(result)
    if not replay["trusted"] and any(f["kind"] != "upper-bound" for f in result["findings"]):
        yield "predicts though it does not trust its replay"
    for rule in never.split(","):
        if rule in found:
            yield f"advises {rule}, which is known to be wrong here"


def unrelated(gpuprof, folder, two=("linear-2080ti.json.gz", "owlv2-h100.json.gz"), ranks="dlrm-v100x8", count=8):
    """Files that are no ranks of one run: refused together, or left out and named."""
    def analyze(*names):
        return subprocess.run([gpuprof, "analyze", "--json", *(os.path.join(folder, n) for n in names)],
                              capture_output=True, text=True, timeout=240)
    alone = analyze(*two)
    if alone.returncode != 2 or "not the ranks of one run" not in alone.stderr or alone.stdout:
        yield f"two programs on two GPUs are taken for one run: status {alone.returncode}, {alone.stderr.strip()!r}"
    mixed = analyze(ranks, two[0])
    said = json.loads(mixed.stdout) if mixed.returncode == 0 else {"ranks": [], "health": {"warnings": []}}
    if len(said["ranks"]) != count:
        yield f"{count} ranks beside a stranger: {len(said['ranks'])} are compared"
    if two[0] not in json.dumps(said["health"]):
        yield "what was left out is not named"


def imported(gpuprof, folder):
    """`import` sorts them out as `analyze` does."""
    def run(*words):
        return subprocess.run([gpuprof, *words], capture_output=True, text=True, timeout=240)
    with tempfile.TemporaryDirectory() as to:
        profile = os.path.join(to, "x.gpuprof")
        alone = run("import", *(os.path.join(folder, n) for n in ("linear-2080ti.json.gz", "owlv2-h100.json.gz")),
                    "-o", profile)
        if alone.returncode != 2 or "not the ranks of one run" not in alone.stderr or os.listdir(to):
            yield f"import takes two programs for one run: status {alone.returncode}, {alone.stderr.strip()!r}"
        mixed = run("import", os.path.join(folder, "dlrm-v100x8"), os.path.join(folder, "linear-2080ti.json.gz"),
                    "-o", profile)
        said = run("analyze", "--json", profile)
        said = json.loads(said.stdout) if said.returncode == 0 else {"ranks": [], "health": {"warnings": []}}
        if mixed.returncode != 0 or len(said["ranks"]) != 8:
            yield f"import of eight ranks beside a stranger: status {mixed.returncode}, {len(said['ranks'])} ranks"
        if "linear-2080ti.json.gz" not in json.dumps(said["health"]) or "linear-2080ti.json.gz" not in mixed.stderr:
            yield f"import does not name what was left out: {mixed.stderr.strip()!r}"


def judge(gpuprof, folder, known, problems):
    """Prints what is right and wrong; how much is wrong."""
    bad = 0
    for problem in problems:
        print("FAIL " + problem)
        bad += 1
    known = list(known)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda row: subprocess.run([gpuprof, "analyze", "--json", os.path.join(folder, row[0])],
                                                           capture_output=True, text=True, timeout=240), known))
    for row, done in zip(known, answers):
        if done.returncode != 0:
            problems = [f"status {done.returncode}: {done.stderr.strip()}"]
        else:
            problems = list(check(json.loads(done.stdout), row))
        print(("FAIL " if problems else "ok   ") + row[0])
        for p in problems:
            print("       " + p)
        bad += bool(problems)
    return bad


def main():
    gpuprof, folder, every = *sys.argv[1:3], int(sys.argv[3])
    with tempfile.TemporaryDirectory() as own:
        known = standins.make(own)
        two = ("loader-in-line.json.gz", "one-pass.json.gz")
        bad = judge(gpuprof, own, known, unrelated(gpuprof, own, two, "two-ranks", 2))
    if os.path.isdir(folder):
        known = list(rows(os.path.join(os.path.dirname(os.path.abspath(__file__)), "traces.tsv")))[::every]
        bad += judge(gpuprof, folder, known, [*unrelated(gpuprof, folder), *imported(gpuprof, folder)])
    else:
        print("left out: no recordings in ../shared/traces")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
