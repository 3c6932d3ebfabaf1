#!/usr/bin/env python3
"""The rows behind every number: each query that stands beside the evidence of a finding lists rows in the profile that
the trace becomes, to SQLite's own client and with --rows: of those that standins.py writes, and, where FOLDER is there, of
each Nth real one.
Usage: evidence.py GPUPROF FOLDER N."""
import glob
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

import standins


def empty(gpuprof, trace, profile):
    """How many queries there are, and what is wrong with which."""
    done = subprocess.run([gpuprof, "import", "-f", "-o", profile, trace], capture_output=True, text=True, check=False)
    if done.returncode:
        return 0, []  # what cannot be read is said by others
    analyze = [gpuprof, "analyze", "--json", "--no-predict", "--rows", "1", profile]
    report = json.loads(subprocess.run(analyze, capture_output=True, check=True).stdout)
    database, bad, count = sqlite3.connect(profile), [], 0
    for finding in report["findings"]:
        for evidence in finding["evidence"]:
            if not evidence["sql"] or not evidence["value"]:
                continue
            count += 1
            cursor = database.execute(evidence["sql"])
            row, shown = cursor.fetchone(), evidence["rows"]
            if "rows_missing" in evidence or bool(row) != bool(shown) or row and set(shown[0]) != {c[0] for c in cursor.description}:
                bad.append(f"{finding['rule']}: --rows shows {shown}, {evidence.get('rows_missing')}: {evidence['sql']}")
            if not row:
                bad.append(f"{finding['rule']}: no row for '{evidence['text']}' = {evidence['value']}: {evidence['sql']}")
    database.close()
    return count, bad


def main():
    gpuprof, folder, every = *sys.argv[1:3], int(sys.argv[3])
    traces = sorted(glob.glob(os.path.join(folder, "**", "*.json.gz"), recursive=True) +
                    glob.glob(os.path.join(folder, "**", "*.sqlite.gz"), recursive=True))[::every]
    if not traces:
        print("left out: no recordings in ../shared/traces")
    failed = queries = 0
    with tempfile.TemporaryDirectory() as place:
        own = os.path.join(place, "own")
        traces += [os.path.join(own, row[0]) for row in standins.make(own)]
        for trace in traces:
            count, bad = empty(gpuprof, trace, os.path.join(place, "x.gpuprof"))
            queries += count
            failed += len(bad)
            for line in bad:
                print(f"{os.path.relpath(trace, folder)}: {line}")
    print(f"{queries} queries of {len(traces)} traces, {failed} list nothing")
    return 1 if failed or not queries else 0


if __name__ == "__main__":
    sys.exit(main())
