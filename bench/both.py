#!/usr/bin/env python3
"""Is the first answer on a program's own recording the same as on its trace of torch.profiler? Each program runs twice on the
virtual GPU: under `gpuprof run`, and under torch.profiler with stacks and shapes (profiled.py).

usage: both.py BUILD PYTHON OUT [--again] SCRIPT [SCRIPT ...]   a script with arguments is one word: "train.py --steps 40"

Writes recordings and traces into the folder OUT, prints a table (tabs); --again judges those that are there. Exit status 1 if a
program fails.

same    both first findings are of one rule (their lines are not compared), or neither has a finding
near    the first of one is among the first two of the other
differ  neither
"""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DEVICE = "virtual:a100-80"


def run(arguments, folder):
    return subprocess.run(arguments, capture_output=True, text=True, errors="replace", cwd=folder, timeout=500,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"})


def record(build, python, script, out):
    gpuprof, (path, *arguments) = os.path.join(build, "bin", "gpuprof"), script.split()
    path = os.path.abspath(path)
    own, trace = out + ".gpuprof", out + ".json.gz"
    start = [gpuprof, "run", "-q", "-f", "--device", DEVICE]
    done = run([*start, "-o", own, "--", python, path, *arguments], os.path.dirname(out))
    done2 = run([*start, "--no-record", "--", python, os.path.join(HERE, "profiled.py"), trace, path, *arguments],
                os.path.dirname(out))
    for d in (done, done2):
        if d.returncode:
            print(f"{script}: status {d.returncode}: {d.stderr[-300:]}", file=sys.stderr)
    return os.path.exists(own) and os.path.exists(trace)


def analyze(build, path):
    done = run([os.path.join(build, "bin", "gpuprof"), "analyze", "--json", path], os.path.dirname(path))
    return json.loads(done.stdout)


def compare(own, theirs):
    a, b = ([f["rule"] for f in x["findings"]] for x in (own, theirs))
    if not a or not b:
        return "same" if a == b else "differ"
    if a[0] == b[0]:
        return "same"
    return "near" if a[0] in b[:2] or b[0] in a[:2] else "differ"


def told(analysis):
    return ", ".join(f["rule"] for f in analysis["findings"][:3]) or "nothing"


def main():
    build, python, out, *scripts = sys.argv[1:]
    build = os.path.abspath(build)
    again = "--again" in scripts
    counts, bad = {}, 0
    os.makedirs(out, exist_ok=True)
    print("program", "verdict, own", "verdict, trace", "findings, own", "findings, trace", "", sep="\t")
    for script in scripts:
        if script == "--again":
            continue
        path = script.split()[0]
        name = os.path.basename(path)[:-3]
        name = os.path.basename(os.path.dirname(path)) if name == "train" else name
        at = os.path.join(os.path.abspath(out), re.sub(r"\W", "_", " ".join([name, *script.split()[1:]])))
        if not again and not record(build, python, script, at):
            bad += 1
            continue
        own, theirs = analyze(build, at + ".gpuprof"), analyze(build, at + ".json.gz")
        how = compare(own, theirs)
        counts[how] = counts.get(how, 0) + 1
        print(os.path.basename(at), own["verdict_class"], theirs["verdict_class"], told(own), told(theirs), how, sep="\t", flush=True)
    print(counts, file=sys.stderr)
    sys.exit(1 if bad else 0)


main()
