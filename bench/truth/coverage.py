#!/usr/bin/env python3
"""Counts how many recordings by other people that have findings also get a prediction, and why the others do not.
Usage: coverage.py GPUPROF FOLDER --write docs/accuracy/coverage.tsv"""
import collections
import json
import os
import subprocess
import sys

KINDS = (".json.gz", ".sqlite.gz", ".pb", ".pb.gz", ".rpd")


def answers(gpuprof, folder):
    for at, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if name.endswith(KINDS):
                done = subprocess.run([gpuprof, "analyze", "--json", os.path.join(at, name)], capture_output=True, text=True, check=False)
                if done.returncode == 0:
                    yield os.path.relpath(os.path.join(at, name), folder), json.loads(done.stdout)


def reason(r):
    """Words the reason without naming the recording."""
    replay = r["replay"] or {}
    if not replay.get("trusted"):
        return replay.get("why_not") or "nothing was replayed"
    if all(f["error_class"] == "rerun-decides" for f in r["findings"]):
        return "nobody can know how much of these changes can be had"
    return "replayed, and the most likely saving of each finding is nothing, or not known"


def main():
    gpuprof, folder, _, table = sys.argv[1:5]
    silent, told, why = [], [], collections.defaultdict(list)
    for name, r in answers(gpuprof, folder):
        if not r["findings"]:
            silent.append(name)
        elif any(f["kind"] == "predicted" for f in r["findings"]):
            told.append(name)
        else:
            why[reason(r)].append(name)
    lines = [("recordings", "what they carry", "which"), (len(told), "a prediction", ""), (len(silent), "no finding", "")]
    lines += [(len(names), "bounds alone: " + text.removeprefix("only bounds: "), ", ".join(names)) for text, names in sorted(why.items(), key=lambda x: -len(x[1]))]
    with open(table, "w", encoding="utf-8") as f:
        f.writelines("\t".join(str(c) for c in line) + "\n" for line in lines)
    found = len(told) + sum(len(names) for names in why.values())
    print(f"{len(told)} of {found} recordings with findings carry a prediction ({100 * len(told) / max(found, 1):.0f} %)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
