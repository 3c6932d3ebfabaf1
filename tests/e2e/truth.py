#!/usr/bin/env python3
"""bench/truth/truth.py works: one case is recorded, predicted and rerun; a second call reruns nothing and says
the same; the prediction is not absurd (how good it is, `make truth` measures on an idle machine).

usage: truth.py BUILD
"""
import json
import os
import subprocess
import sys
import tempfile

from support import Checks


def main():
    build, checks = os.path.abspath(sys.argv[1]), Checks()
    truth = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "truth", "truth.py")
    with tempfile.TemporaryDirectory() as folder:
        state, rows = os.path.join(folder, "state"), os.path.join(folder, "rows.json")

        def call(*more):
            return subprocess.run([sys.executable, truth, os.path.join(build, "bin"), "--state", state,
                                   "--cases", "blocking-copy", "--models", "a100-80", "--steps", "20",
                                   "--repeats", "1", "--json", rows, *more],
                                  capture_output=True, text=True, timeout=200)
        first = call()
        checks.check(first.returncode == 0, "one case", first.stderr[-500:])
        with open(rows, encoding="utf-8") as f:
            found = json.load(f)["rows"]
        row = next((r for r in found if r["what"] == "overlap-copies"), None)
        checks.check(row is not None and row["mid"] is not None, "the planted defect is predicted",
                     str(found))
        checks.check(row is not None and 0 < row["low"] <= row["mid"] <= row["high"] < 60,
                     "its interval is one", str(row))
        with open(os.path.join(state, "runs.jsonl"), encoding="utf-8") as f:
            runs = f.read()
        again = call("--only-predict")
        with open(os.path.join(state, "runs.jsonl"), encoding="utf-8") as f:
            checks.check(again.returncode == 0 and f.read() == runs, "nothing is rerun",
                         again.stderr[-500:])
        with open(rows, encoding="utf-8") as f:
            checks.check(json.load(f)["rows"] == found, "the same is said again", "")
    checks.done()


if __name__ == "__main__":
    main()
