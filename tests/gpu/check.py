#!/usr/bin/env python3
"""Shows on a real GPU what the virtual one can only rehearse, and measures the card.

    check.py BUILD OUT [--device auto|virtual:MODEL] [CASE[:PART,PART]...]      check.py --list

Each case (case_NAME.py beside this file) runs in a process of its own, with a time limit, and fails alone; of some cases a
PART (of its table of ways to run) can be asked for. Writes
OUT/result.json and OUT/result.md, small artefacts as OUT/CASE-*, and prints the table last. With --device virtual:MODEL it
rehearses: everything that can run without a card runs, and every row says so. Never changes the card's settings.
Exit status: 0 when every case ran and met its aims or was skipped with a reason, 1 otherwise, 2 for wrong usage.
"""
import argparse
import datetime
import glob
import importlib
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
import traceback

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
sys.dont_write_bytecode = True
from box import Box, Failed, Skip  # noqa: E402


def cases():
    """Modules by name, the most valuable first: each has TITLE, ORDER, LIMIT_S and run(box)."""
    found = {}
    for path in glob.glob(os.path.join(here, "case_*.py")):
        name = os.path.basename(path)[len("case_"):-len(".py")]
        found[name] = importlib.import_module("case_" + name)
    return dict(sorted(found.items(), key=lambda c: c[1].ORDER))


def run_here(o, name):
    """The child's side: one case, its outcome as JSON in OUT/.NAME.json."""
    box, outcome = Box(o.build, o.out, o.device), {"status": "ran", "why": ""}
    name, _, parts = name.partition(":")
    box.note, box.parts = box.path(f".{name}.json"), [p for p in parts.split(",") if p]
    try:
        cases()[name].run(box)
    except Skip as why:
        outcome = {"status": "skipped", "why": str(why)}
    except Failed as why:
        outcome = {"status": "failed", "why": str(why)}
    except Exception:  # noqa: BLE001 a defect of the case must not end the others
        outcome = {"status": "failed", "why": traceback.format_exc(limit=4)}
    box.save(outcome)


def run_case(o, name, module):
    """One case in a process group of its own, so that its end leaves nothing running."""
    note = os.path.join(o.out, f".{name.partition(':')[0]}.json")
    start = time.monotonic()
    child = subprocess.Popen([sys.executable, os.path.abspath(__file__), o.build, o.out, "--device", o.device, "--child", name],
                             start_new_session=True)
    try:
        child.wait(timeout=module.LIMIT_S)
        why = f"the case's own process ended with status {child.returncode}"
    except subprocess.TimeoutExpired:
        why = f"stopped after its limit of {module.LIMIT_S} s"
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()
    outcome = {"status": "failed", "why": why, "rows": []}
    if os.path.exists(note):
        with open(note, encoding="utf-8") as f:
            outcome.update(json.load(f))
        os.remove(note)
    return {"case": name, "title": module.TITLE, "wall_s": round(time.monotonic() - start, 1), **outcome}


def machine(o):
    """What the results belong to. No host name, no user name."""
    facts = {"date": datetime.date.today().isoformat(), "device": o.device, "python": platform.python_version(),
             "kernel": platform.release(), "cores": os.cpu_count()}
    try:
        line = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"],
                              capture_output=True, text=True, timeout=30).stdout.strip().splitlines()[0]
        facts["gpu"], facts["driver"], facts["memory"] = [p.strip() for p in line.split(",")]
    except (OSError, IndexError, ValueError, subprocess.TimeoutExpired):
        facts["gpu"] = "no NVIDIA GPU found" if o.device == "auto" else "none: a rehearsal on the virtual GPU"
    return facts


def number(value):
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e5 else f"{value:.0f}"
    return str(value)


def markdown(result):
    lines = ["# Measurements" + (" (rehearsed on the virtual GPU: nothing here was measured on a card)" if result["rehearsal"] else ""), ""]
    lines += [f"- {k}: {v}" for k, v in result["machine"].items()] + [""]
    for c in result["cases"]:
        lines += [f"## {c['case']}: {c['title']}", "", f"{c['status']}, {c['wall_s']} s{'. ' + c['why'] if c['why'] else ''}", ""]
        if c["rows"]:
            lines += ["| what | value | unit | aim | met |", "|---|---|---|---|---|"]
            for r in c["rows"]:
                met = {True: "yes", False: "NO", None: ""}[r["good"]]
                cells = (re.sub(r"[|\n]", " ", str(x)) for x in (r["what"], number(r["value"]), r["unit"], r["aim"], met))
                lines.append("| " + " | ".join(cells) + " |")
            lines.append("")
    return "\n".join(lines)


def summary(result):
    for c in result["cases"]:
        missed = [r["what"] for r in c["rows"] if r["good"] is False]
        word = c["status"] if c["status"] != "ran" else f"{len(missed)} aims missed" if missed else "good"
        why = c["why"].strip().splitlines()[-1] if c["why"] else ", ".join(missed)
        print(f"{c['case']:12s} {c['wall_s']:7.1f} s  {word:14s} {why[:110]}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build", nargs="?")
    p.add_argument("out", nargs="?")
    p.add_argument("only", nargs="*", metavar="CASE")
    p.add_argument("--device", default="auto")
    p.add_argument("--list", action="store_true")
    p.add_argument("--child", help=argparse.SUPPRESS)
    o = p.parse_intermixed_args()
    known = cases()
    if o.list:
        for name, module in known.items():
            print(f"{name:12s} at most {module.LIMIT_S:4d} s  {module.TITLE}")
        return 0
    if not o.build or not o.out or not os.access(os.path.join(o.build, "bin", "gpuprof"), os.X_OK):
        p.error("BUILD must be a folder with bin/gpuprof, and OUT a folder for the results")
    unknown = [name for name in o.only if name.partition(":")[0] not in known]
    if unknown:
        p.error(f"no case {', '.join(unknown)}; --list names them")
    os.makedirs(o.out, exist_ok=True)
    if o.child:
        run_here(o, o.child)
        return 0
    result = {"schema": 1, "rehearsal": o.device.startswith("virtual"), "machine": machine(o), "cases": []}
    for name in o.only or known:
        module = known[name.partition(":")[0]]
        print(f"{name}: {module.TITLE} ...", flush=True)
        result["cases"].append(run_case(o, name, module))
        for file, text in (("result.json", json.dumps(result, indent=1)), ("result.md", markdown(result))):
            with open(os.path.join(o.out, file), "w", encoding="utf-8") as f:
                f.write(text)  # after every case: what was measured stays if the rest is cut off
    summary(result)
    bad = any(c["status"] == "failed" or any(r["good"] is False for r in c["rows"]) for c in result["cases"])
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
