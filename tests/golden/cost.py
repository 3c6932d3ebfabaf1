#!/usr/bin/env python3
"""What predictions cost: instructions of `analyze` over those of `analyze --no-predict`, which valgrind counts, so
that a busy machine changes nothing.
Usage: cost.py GPUPROF FOLDER MOST TRACE... Fails if the ratio exceeds MOST on a trace, or if predictions are missing
(then they cost nothing). Exit 77 (skipped) where valgrind or the traces are absent."""
import os
import re
import shutil
import subprocess
import sys
import tempfile


def run(gpuprof, trace, *options):
    """Returns the instructions and the answer."""
    with tempfile.NamedTemporaryFile() as counts:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={counts.name}", gpuprof, "analyze",
                               "--json", *options, trace], capture_output=True, text=True, timeout=900)
    told = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not told:
        sys.exit(f"{trace}: {done.stderr}")
    return int(told.group(1)), done.stdout


def main():
    gpuprof, folder, most, names = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4:]
    traces = [path for path in (os.path.join(folder, name) for name in names) if os.path.isfile(path)]
    if not shutil.which("valgrind") or not traces:
        print("skipped: no valgrind" if traces else "skipped: no recordings in ../shared/traces")
        return 77
    bad = 0
    for trace in traces:
        (all_of, answer), (without, bounds) = run(gpuprof, trace), run(gpuprof, trace, "--no-predict")
        predicts = '"kind": "predicted"' in answer and '"kind": "predicted"' not in bounds
        ratio = all_of / without
        fine = predicts and ratio <= most
        bad += not fine
        print(f"{'ok  ' if fine else 'FAIL'} {os.path.relpath(trace, folder)}: {all_of / 1e6:.0f} million instructions, "
              f"{without / 1e6:.0f} without predictions: {ratio:.2f} (at most {most}){'' if predicts else '; no predictions'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
