#!/usr/bin/env python3
"""Which answers depend on which threshold: varies each row of the analyzer's limits.def by a fifth down and up, and compares what
`gpuprof analyze --json` says about recordings. Whole numbers move by at least one; shares stay below one; all values of a range move.

    bench/thresholds/thresholds.py BUILD [--rows REGEX] [--off] [--as-given] [--jobs N] [--write FILE.tsv] [RECORDING...]

BUILD is configured with -DGPUPROF_VARY=ON and contains gpuprof. Without recordings the script uses the small ones of
../shared/traces and records train_conv with each of its defects on the virtual GPU, if BUILD has it. For each recording whose steps
are marked it adds a copy without the marks, so that the search for steps is tested, too; --as-given adds none. --rows chooses rows.
--off sets each row to zero and to an unreachable value instead: a row that then changes no answer may be removed. The table names,
for each row and direction that changes an answer, the recordings and what changes: class of the verdict, order of the findings,
source, count or length of the steps, other numbers by more than 5 %. Exit status 0: all recordings were analysed, whatever changed."""
import argparse
import concurrent.futures
import glob
import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
ROW = re.compile(r'LIMIT_(INT|REAL|SPAN|RANGE)\((\w+),\s*(.+?),\s*"([^"]*)",\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)', re.S)
FIFTH = (("a fifth less", 0.8), ("a fifth more", 1.2))
OFF = (("zero", 0), ("out of reach", 1e6))
MOVED = 0.05     # of a number's value
NOTHING = 0.01   # of a millisecond or a percent: reports show no smaller numbers
LARGE = 400_000  # bytes: larger recordings of other people take too long
MARK = b"ProfilerStep#"
STEPS = 24       # of each trainer


def rows_of(pattern):
    """Yields (name, value, unit, source) of each row whose name matches, from the limits.def of all folders."""
    for path in sorted(glob.glob(os.path.join(ROOT, "analyzer", "**", "limits.def"), recursive=True)):
        with open(path, encoding="utf-8") as f:
            for _, name, value, unit, source in ROW.findall(f.read()):
                if re.search(pattern, name):
                    yield name, value, unit, "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', source))


# ---- recordings ----

def unmarked(path, folder):
    """Makes a copy without the marks of the steps; None if there are no marks."""
    name = os.path.basename(path)
    copy = os.path.join(folder, "unmarked-" + name)
    if name.endswith(".json.gz"):
        with gzip.open(path, "rb") as f:
            content = f.read()
        if MARK not in content:
            return None
        with gzip.open(copy, "wb", compresslevel=1) as f:
            f.write(content.replace(MARK, b"unmarked "))
        return copy
    if not name.endswith(".gpuprof"):
        return None
    shutil.copy(path, copy)
    with sqlite3.connect(copy) as db:
        db.execute("DELETE FROM range")
    db.close()
    return copy


def trainers(build, folder):
    """Records train_conv with each of its defects; yields the paths."""
    program = os.path.join(build, "bin", "train_conv")
    listed = subprocess.run([program, "--defect", "list"], capture_output=True, text=True, check=True).stdout
    for defect in ["none"] + [line.split("\t")[0] for line in listed.splitlines()]:
        path = os.path.join(folder, f"conv-{defect}.gpuprof")
        subprocess.run([os.path.join(build, "bin", "gpuprof"), "run", "--device", "virtual", "-o", path, "--", program, "--steps",
                        str(STEPS), "--defect", defect], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if os.path.exists(path):
            yield path


def recordings(options, folder):
    given = options.recordings
    if not given:
        shared = sorted(glob.glob(os.path.join(ROOT, "../shared/traces/*/*.gz")))
        given = [path for path in shared if os.path.getsize(path) <= LARGE]
        if os.path.exists(os.path.join(options.build, "bin", "train_conv")):
            given += trainers(options.build, folder)
    if options.as_given:
        return given
    return given + [copy for copy in (unmarked(path, folder) for path in given) if copy]


# ---- answers ----

def numbers(value, at=""):
    """Yields path and value of each number in an answer."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, f"{at}.{key}")
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from numbers(inner, f"{at}.{i}")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield at, value


def answer(options, path, varied=""):
    """Returns gpuprof's answer; None if it gives none."""
    done = subprocess.run([os.path.join(options.build, "bin", "gpuprof"), "analyze", "--json", path], capture_output=True, text=True,
                          timeout=600, check=False, env={**os.environ, "GPUPROF_VARY": varied})
    return json.loads(done.stdout) if done.returncode == 0 and done.stdout else None


def moved(a, b):
    return abs(a - b) > max(MOVED * max(abs(a), abs(b)), NOTHING)


def changes(old, new):
    """Returns words for what differs between two answers."""
    if new is None:
        return ["no answer"]
    found = []
    if old["verdict_class"] != new["verdict_class"]:
        found.append(f"verdict {old['verdict_class']} > {new['verdict_class']}")
    if [f["rule"] for f in old["findings"]] != [f["rule"] for f in new["findings"]]:
        found.append("findings")
    a, b = old["steps"], new["steps"]
    if (a["source"], a["count"], a["used"]) != (b["source"], b["count"], b["used"]):
        found.append(f"steps {a['source']} {a['count']} > {b['source']} {b['count']}")
    if moved(a["median_ms"] or 0, b["median_ms"] or 0):
        found.append("step length")
    if found:
        return found
    before, after = dict(numbers(old)), dict(numbers(new))
    if before.keys() != after.keys():
        return ["other facts"]
    most = max(before, key=lambda key: abs(before[key] - after[key]) / max(abs(before[key]), NOTHING))
    return [f"numbers ({most.lstrip('.')})"] if any(moved(before[key], after[key]) for key in before) else []


# ---- the table ----

def ask(options, pool, old, rows):
    """Returns, for the row's name and the direction, a list of 'recording: changes'."""
    asked = {(row[0], way, path): pool.submit(answer, options, path, f"{row[0]}={factor}")
             for row in rows for way, factor in options.factors for path in old}
    told = {}
    for (name, way, path), future in asked.items():
        differs = changes(old[path], future.result())
        if differs:
            told.setdefault((name, way), []).append(f"{os.path.basename(path).split('.')[0]}: {', '.join(differs)}")
    return told


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("recordings", nargs="*")
    parser.add_argument("--rows", default="")
    parser.add_argument("--off", dest="factors", action="store_const", const=OFF, default=FIFTH)
    parser.add_argument("--as-given", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--write")
    options = parser.parse_intermixed_args()
    rows = list(rows_of(options.rows))
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        paths = recordings(options, folder)
        old = {path: told for path, told in zip(paths, pool.map(lambda path: answer(options, path), paths)) if told}
        told = ask(options, pool, old, rows)
    lines = ["\t".join(["threshold", "value", "unit"] + [way for way, _ in options.factors])]
    still = [row[0] for row in rows if not any((row[0], way) in told for way, _ in options.factors)]
    for name, value, unit, _ in rows:
        if name not in still:
            lines.append("\t".join([name, value, unit] + ["; ".join(told.get((name, way), [])) for way, _ in options.factors]))
    text = "\n".join(lines) + "\n"
    if options.write:
        with open(options.write, "w", encoding="utf-8") as f:
            f.write(text)
    else:
        print(text, end="")
    print(f"{len(rows)} thresholds, {len(old)} recordings; nothing changes with {len(still)}: {' '.join(still)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
