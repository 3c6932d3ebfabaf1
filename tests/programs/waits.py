#!/usr/bin/env python3
"""Long waits of C programs on the virtual GPU: each names the line of the program that waits, and the program prints and
returns what it does without gpuprof.

usage: waits.py BUILD
"""
import json
import os
import re
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from support import Build, Checks  # noqa: E402

FOLDER = os.path.dirname(os.path.abspath(__file__))
C = {"waits.c": {"stream": "sync cudaStreamSynchronize() {} (wait_for_stream)", "again": "sync cudaStreamSynchronize() {} (wait_for_stream)",
                 "event": "sync cudaEventSynchronize() {} (wait_for_event)", "read": "copy cudaMemcpy() {} (read_back)",
                 "inlined": "sync cudaDeviceSynchronize() {} (inlined)", "thread": "sync cudaStreamSynchronize() {} (other_thread)"}}
CPP = {"waits_cpp.cu": {"method": "sync cudaStreamSynchronize() {} (net::trainer::step)",
                        "header": "copy cudaMemcpyFromSymbol() {} (read_table)", "lambda": "sync cudaStreamSynchronize() {} (operator())",
                        "coroutine": "sync cudaDeviceSynchronize() {} (coroutine)"},
       "waits_library.c": {"library": "sync cudaDeviceSynchronize() {} (library_wait)"}}
STEPS = 20
MOST = STEPS * 3 // 4 # a thread that had no core comes when the GPU is done, and does not wait


def wanted_of(sources):
    """Names of the ranges that must be there, by their marks in the sources."""
    wanted = {}
    for source, marks in sources.items():
        with open(os.path.join(FOLDER, source)) as f:
            lines = {m[1]: n for n, line in enumerate(f, 1) if (m := re.search(r"/[*/] wait: (\w+)", line))}
        wanted.update({text.format(f"{source}:{lines[mark]}"): mark for mark, text in marks.items()})
    return wanted


def record(build, name, *options, **variables):
    profile = build.path(f"{name}.gpuprof")
    done = build.run([build.gpuprof, "run", "-f", "--device", "virtual:a100-80", "-o", profile, *options, "--",
                      os.path.join(build.bin, "programs", name), str(STEPS)], **variables)
    with sqlite3.connect(profile) as db:
        ranges = dict(db.execute(
            "select n.text, count(*) from range r join string n on n.id = r.name join string d on d.id = r.domain "
            "where d.text = 'caller' group by 1"))
        missing = db.execute(
            "select count(*), coalesce(group_concat(distinct n.text), '') from api a join string n on n.id = a.name "
            "where a.end_ns - a.start_ns > 1000000 and a.layer = 0 and n.text glob 'cuda*Synchronize' and not exists "
            "(select 1 from range r join string d on d.id = r.domain where d.text = 'caller' and r.thread = a.thread "
            "and r.start_ns = a.start_ns and r.end_ns = a.end_ns)").fetchone()
        health = [row[0] for row in db.execute("select text from health_note")]
    return done, ranges, missing, health


def check_lines(build, checks, name, what, sources):
    done, ranges, missing, _ = record(build, name)
    checks.check(done.returncode == 7 and done.stdout.startswith(f"{STEPS} steps\n"), f"{what}: output and status stay",
                 f"{done.returncode}: {done.stdout[:200]}{done.stderr[-300:]}")
    wanted = wanted_of(sources)
    for text, mark in wanted.items():
        checks.check(ranges.get(text, 0) >= MOST, f"{what}: {mark} in most steps", f"no {text} in {ranges}")
    others = [text for text in ranges if text not in wanted and not text.startswith("call ")]
    checks.check(not others, f"{what}: no other place", str(others))
    checks.check(missing[0] <= 2, f"{what}: every long wait has its place", str(missing))


def check_trace(build, checks, name):
    """The call itself says in the Chrome trace who makes it, and no range of the program's does."""
    trace = build.path("trace.json")
    build.run([build.gpuprof, "export", "-f", build.path(f"{name}.gpuprof"), "-o", trace])
    with open(trace) as f:
        events = json.load(f)["traceEvents"]
    line = next(iter(wanted_of(C))).split("() ")[1]
    calls = [e for e in events if e.get("args", {}).get("called from") == line and e["name"] == "cudaStreamSynchronize"]
    checks.check(len(calls) >= MOST and all(e["cat"] == "cuda_runtime" for e in calls), "the trace names the caller of each call",
                 f"{len(calls)} calls from {line}")
    checks.check(not [e for e in events if "() waits.c" in e.get("name", "")], "and has no range for it")


def check_functions(build, checks, name, what):
    done, ranges, _, _ = record(build, name)
    found = {m[1] for text in ranges if (m := re.search(r"\(\) (\w+)\+0x[0-9a-f]+ \(" + name + r"\)$", text))}
    wanted = {"wait_for_stream", "wait_for_event", "read_back", "wait_for_device", "other_thread"}
    checks.check(done.returncode == 7 and wanted <= found, f"{what}: functions", f"{done.returncode} {ranges}")


def check_without(build, checks):
    done, ranges, _, health = record(build, "waits")
    checks.check(done.returncode == 7 and not ranges and any("libdw" in text for text in health), "without libdw: a note, and no lines",
                 f"{done.returncode} {ranges} {health}")
    checks.done()


def main():
    build, checks = Build(sys.argv[1]), Checks()
    looked = json.loads(build.run([build.gpuprof, "doctor", "--json"]).stdout)["checks"]
    if [c for c in looked if c["check"] == "stacks" and c["state"] != "ok"]:
        check_without(build, checks)
    check_lines(build, checks, "waits", "no frame pointers", C)
    check_trace(build, checks, "waits")
    check_lines(build, checks, "waits_frames", "frame pointers", C)
    check_lines(build, checks, "waits_static", "a static runtime", C)
    check_lines(build, checks, "waits_cpp", "C++, a library, a coroutine", CPP)
    check_functions(build, checks, "waits_bare", "no debug information")
    _, ranges, _, health = record(build, "waits_opens")
    checks.check(not ranges and any("GPUPROF_STACKS=1" in text for text in health), "a program that loads code: no subscription, and a note",
                 f"{ranges} {health}")
    _, ranges, _, _ = record(build, "waits_opens", GPUPROF_STACKS="1")
    checks.check(wanted_of(C).keys() <= ranges.keys(), "the same on request: lines", str(ranges))
    _, ranges, _, _ = record(build, "waits", GPUPROF_STACKS="0")
    checks.check(not ranges, "GPUPROF_STACKS=0: no stacks", str(ranges))
    checks.done()


if __name__ == "__main__":
    main()
