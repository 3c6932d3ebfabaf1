#!/usr/bin/env python3
"""Names of the user's that read like gpuprof's own words for a step, in a recording in which no step repeats: every output
shows them as they are. Usage: names.py GPUPROF."""
import json
import os
import subprocess
import sys
import tempfile

import standins

OWN = "score every sample in the step"
NAMES = [OWN, "loss per step of each step", "rest of the step, one step later"]


def write_trace(path):
    """Twelve kernels that differ, and before every third of them 20 ms of the host's own work, in the range."""
    def make(name):
        trace, at = standins.Trace(), 1000.0
        for i in range(12):
            if i % 3 == 0:
                trace.host("user_annotation", name, at, 20000.0)
                at += 20000.0
            trace.kernel(f"kernel_{chr(97 + i)}{i * i}", at, at + 10, 900.0 + 13 * i * i)
            at += 200.0 if i % 3 != 2 else 4000.0
        return trace.document()
    for i, name in enumerate(NAMES):
        with open(path(i), "w", encoding="utf-8") as f:
            json.dump(make(name), f)


def texts(value):
    """Every text in a JSON document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)


def check(gpuprof, path, name):
    failures = []

    def run(*args):
        return subprocess.run([gpuprof, *args], check=True, capture_output=True, text=True,
                              env={**os.environ, "COLUMNS": "4000"}).stdout

    answer = json.loads(run("analyze", "--json", path))
    found = [f for f in answer["findings"] if f["rule"] == "host-work"]
    if answer["steps"]["unit"] != "window" or not found:
        return [f"the recording has no window with host work: {answer['verdict']}"]
    outputs = {"why": answer["why"], "summary": found[0]["summary"],
               "evidence": " ".join(e["text"] for e in found[0]["evidence"]),
               "text": run("analyze", path), "markdown": run("analyze", "--markdown", path),
               "page": run("report", path, "-o", "-")}
    for what, text in outputs.items():
        if name not in text:
            failures.append(f"{what} lacks '{name}': {text[:300]}")
    words = [t for t in texts(answer) if name[:10] in t and name not in t]
    failures += [f"JSON has '{name}' in other words: {t}" for t in words]
    return failures


def main():
    with tempfile.TemporaryDirectory() as tmp:
        def path(i):
            return os.path.join(tmp, f"{i}.json")
        write_trace(path)
        failures = [f for i, name in enumerate(NAMES) for f in check(sys.argv[1], path(i), name)]
    for line in failures:
        print(line)
    print("names:", "ok" if not failures else f"{len(failures)} failures")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
