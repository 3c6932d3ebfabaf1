#!/usr/bin/env python3
"""A trace, or a folder of ranks, that was imported and exported again as a Chrome trace keeps its GPU work, to the
nanosecond, passes lint-trace and differs from itself by nothing; what differs between two traces is told. Of those that
standins.py writes, and, where FOLDER is there, of each Nth real one. Usage: roundtrip.py GPUPROF FOLDER N."""
import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import tempfile

import standins
from traces import rows

COUNTS = ("kernels", "copies", "memsets", "api_calls")
STEPS = ("count", "used", "median_ms")


def run(*args):
    done = subprocess.run(args, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(f"{args[1]}: status {done.returncode}: {(done.stderr or done.stdout).strip()[:300]}")
    return done.stdout


def check(gpuprof, path, out):
    """Yields what is wrong."""
    try:
        run(gpuprof, "export", "-f", path, "-o", out)
        run(gpuprof, "lint-trace", out)
        predict = [] if os.path.isdir(path) else ["--no-predict"]  # of a single trace only what was recorded is compared
        before, after = (json.loads(run(gpuprof, "analyze", "--json", *predict, p)) for p in (path, out))
    except RuntimeError as e:
        yield str(e)
        return
    # Steps that were detected come back as marks; of marks other steps count as outliers where few are long.
    outliers = before["steps"]["source"] == "detected" and "long" in before["steps"]
    for part, keys in (("counts", COUNTS), ("gpu", before["gpu"]), ("steps", STEPS[:1] if outliers else STEPS)):
        for key in keys:
            if before[part][key] != after[part][key]:
                yield f"{part}.{key}: {before[part][key]} became {after[part][key]}"
    if os.path.isdir(path):
        yield from check_ranks(before, after)
        yield from check_speedscope(gpuprof, path, out)


def check_ranks(before, after):
    """All is as it was, but the exported ranks are on one clock."""
    ranks, again = ([{**r, "clock_offset_ms": 0} for r in a.get("ranks", [])] for a in (before, after))
    if not ranks or ranks != again or before["verdict"] != after["verdict"]:
        yield f"ranks: {ranks} became {again}; verdict: {before['verdict']} became {after['verdict']}"
    for r in after.get("ranks", []):
        if abs(r["clock_offset_ms"]) > 0.05:
            yield f"exported rank {r['rank']} is {r['clock_offset_ms']} ms off"


def check_speedscope(gpuprof, path, out):
    """There, too, the ranks are on one clock: their collectives end together."""
    out = out.replace(".json.gz", ".speedscope.json")
    run(gpuprof, "export", "-f", "--format", "speedscope", path, "-o", out)
    with open(out, encoding="utf-8") as f:
        document = json.load(f)
    collective = {i for i, frame in enumerate(document["shared"]["frames"]) if "nccl" in frame["name"].lower()}
    ends = {}
    for row in document["profiles"]:
        if "GPU stream" in row["name"]:
            ends.setdefault(row["name"].split(",")[0], []).extend(e["at"] for e in row["events"] if e["type"] == "C" and e["frame"] in collective)
        if any(not 0 <= e["at"] <= row["endValue"] for e in row["events"]):
            yield f"speedscope: {row['name']} leaves its bounds"
    several = {rank: sorted(at) for rank, at in ends.items() if at}
    first = next(iter(several.values()), [])
    for rank, at in several.items():
        if len(at) == len(first):
            off_ms = statistics.median(b - a for a, b in zip(first, at)) / 1e6
            if abs(off_ms) > 0.05:
                yield f"speedscope: {rank} is {off_ms} ms off"
    if len(several) < 2:
        yield f"speedscope: collectives of {len(several)} ranks"


def compare(gpuprof, folder):
    """Yields what diff says wrongly of a fix: data loading in the training process, then in workers."""
    before, after = (os.path.join(folder, f"resnet50-v100-workers{n}.json.gz") for n in (0, 4))
    same = json.loads(run(gpuprof, "diff", "--json", before, before))
    if same["changes"]:
        yield f"a trace differs from itself: {same['changes'][:2]}"
    text = " ".join(run(gpuprof, "diff", before, after).split())
    if "most of it: GPU idle: waiting for input data" not in text or "only BASE has num-workers" not in text:
        yield f"the wait for data is not named: {text[:400]}"


def main():
    gpuprof, folder, every = *sys.argv[1:3], int(sys.argv[3])
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(2) as pool:
        own = os.path.join(scratch, "own")
        paths = {row[0]: os.path.join(own, row[0]) for row in standins.make(own)}
        real = os.path.isdir(folder)
        if real:
            known = list(rows(os.path.join(os.path.dirname(os.path.abspath(__file__)), "traces.tsv")))
            paths.update((row[0], os.path.join(folder, row[0])) for row in known[::every])
        else:
            print("left out: no recordings in ../shared/traces")
        cases = {name: pool.submit(lambda *a: list(check(*a)), gpuprof, path, os.path.join(scratch, f"{i}.json.gz"))
                 for i, (name, path) in enumerate(paths.items())}
        if real:
            cases["a fix, compared"] = pool.submit(lambda: list(compare(gpuprof, folder)))
        bad = 0
        for name, case in cases.items():
            problems = case.result()
            print(("FAIL " if problems else "ok   ") + name)
            for p in problems:
                print("       " + p)
            bad += bool(problems)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
