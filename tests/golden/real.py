#!/usr/bin/env python3
"""Profiles measured on a real GPU against what is known of them (real/profiles.tsv): the verdict, the first finding and its
interval, nothing advised that is known to be wrong. Whether a change that was made lies in the interval that the recording
before it predicts, and that nothing in the files says who recorded them where. Usage: real.py GPUPROF."""
import gzip
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "real")
sys.path.insert(0, FOLDER)
import cut  # noqa: E402 it lies in the folder

SIZE_MAX = 300_000
# before, after, the finding that the change follows
CHANGES = [("resnet50-fp32", "resnet50-amp", "tensor-cores")]
# the recording, a finding, ms per step that the change saved: of train_amp with a second one that could bring only a little more
MEASURED = [("train_amp", "slow-normalisation", 125.0), ("train_gpt-odd", "tensor-cores", 28.1), ("train_gpt-odd", "fused-optimizer", 1.7)]


def rows():
    with open(os.path.join(FOLDER, "profiles.tsv"), encoding="utf-8") as f:
        return [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]


def analyzed(gpuprof, name, place):
    """The answer as JSON, and the strings of the profile."""
    path = os.path.join(place, name + ".gpuprof")
    with gzip.open(os.path.join(FOLDER, name + ".gpuprof.gz")) as packed, open(path, "wb") as out:
        out.write(packed.read())
    db = sqlite3.connect(path)
    texts = [text for (text,) in db.execute("SELECT text FROM string")]
    db.close()
    done = subprocess.run([gpuprof, "analyze", "--json", path], capture_output=True, text=True, check=True)
    return json.loads(done.stdout), texts


def share(result, finding, which):
    return 100 * finding["saves_ms"][which] / result["steps"]["median_ms"]


def check(result, row):
    """Yields what is wrong."""
    _, verdict, step, first, least, most, allowed = row
    device, health, found = result["device"], result["health"], result["findings"]
    if device["virtual"] or device["name"] != "NVIDIA H200":
        yield f"measured on {device['name']}"
    if health["dropped"] or health["unexplained_pct"] > 1 or not result["replay"]["trusted"]:
        yield f"not to be trusted: {health}, {result['replay']['why_not']}"
    if not 0.3 <= health["overhead_pct"] <= 8: # launch-bound steps took 2 to 10 % longer; the agent's own part is 0.3 % at most
        yield f"profiler overhead of {health['overhead_pct']} %"
    if result["verdict_class"] != verdict:
        yield f"{result['verdict_class']}, expected {verdict}: {result['verdict']}"
    if abs(result["steps"]["median_ms"] / float(step) - 1) > 0.01:
        yield f"a step takes {result['steps']['median_ms']} ms, expected {step}"
    if not found or found[0]["rule"] != first:
        yield f"the first finding is {found[0]['rule'] if found else 'none'}, expected {first}"
    elif not float(least) <= share(result, found[0], "low") <= share(result, found[0], "high") <= float(most):
        yield (f"{first} saves {share(result, found[0], 'low'):.1f} to {share(result, found[0], 'high'):.1f} %, "
               f"expected within {least} to {most}")
    for finding in found:
        if finding["kind"] == "predicted" and not finding["saves_ms"]["low"] < finding["saves_ms"]["high"]:
            yield f"{finding['rule']} is certain: {finding['saves_ms']}"
        saves = finding["saves_ms"]
        if saves["least"] is not None and not saves["low"] <= saves["least"] <= saves["high"]:
            yield f"{finding['rule']} saves at least what is outside of its interval: {saves}"
        if finding["rule"] not in allowed.split():
            yield f"advises {finding['rule']}: {finding['summary']}"


def came_true(before, saved, rule):
    """Yields what is wrong: what the change saved lies in the interval."""
    for finding in before["findings"]:
        if finding["rule"] == rule:
            if not finding["saves_ms"]["low"] <= saved <= finding["saves_ms"]["high"]:
                yield f"{rule} saved {saved:.2f} ms, predicted {finding['saves_ms']}"
            return
    yield f"{rule} is not advised"


def main():
    gpuprof, failed, results = sys.argv[1], 0, {}
    with tempfile.TemporaryDirectory() as place:
        for row in rows():
            results[row[0]], texts = analyzed(gpuprof, row[0], place)
            wrong = list(check(results[row[0]], row)) + [f"tells of its origin: {t!r}" for t in texts if cut.PERSONAL.search(t)]
            if os.path.getsize(os.path.join(FOLDER, row[0] + ".gpuprof.gz")) > SIZE_MAX:
                wrong.append(f"more than {SIZE_MAX} bytes")
            for line in wrong:
                print(f"{row[0]}: {line}")
            failed += len(wrong)
    saved = [(before, rule, results[before]["steps"]["median_ms"] - results[after]["steps"]["median_ms"]) for before, after, rule in CHANGES]
    for before, rule, ms in saved + MEASURED:
        for line in came_true(results[before], ms, rule):
            print(f"{before}: {line}")
            failed += 1
    print(f"{len(results)} profiles of a real GPU, {failed} things wrong")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
