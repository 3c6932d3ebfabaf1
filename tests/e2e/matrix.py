#!/usr/bin/env python3
"""Every defect of train_conv must be the first finding, its remedy must make the step faster, and the
tuned run must have no finding.

usage: matrix.py BUILD [DEFECT...]       `tuned` names the run without a defect
"""
import sqlite3
import sys

from support import DEVICE, Build, Checks, printed_median_ms


def describe(analysis):
    found = [f"{f['rule']} {f['saves_ms']['high']:.2f} ms" for f in analysis["findings"]]
    return f"step {analysis['steps']['median_ms']:.2f} ms: " + (", ".join(found) or "no finding")


# Steps are milliseconds: a run long enough that another program on the machine spoils few of them.
LONG = 120


def defect(build, checks, name, rule):
    profile, run = build.profile(name, "--defect", name, steps=LONG)
    analysis = build.analyze(profile)
    findings = analysis["findings"]
    first = findings[0]["rule"] if findings else "nothing"
    if not checks.check(first == rule, f"{name} is told as {rule}",
                        f"first is {first} ({describe(analysis)})"):
        return
    print(f"        {describe(analysis)}")
    evidence(checks, name, profile, findings)
    if rule != "num-workers":  # workers need cores that a busy machine does not have
        remedy(build, checks, name, findings[0]["knob"], printed_median_ms(run.stdout))


def evidence(checks, name, profile, findings):
    """The rows behind each number can be listed by the query that stands beside it."""
    database = sqlite3.connect(profile)
    empty = [f"{f['rule']}: {e['text']}" for f in findings for e in f["evidence"]
             if e["sql"] and e["value"] and not database.execute(e["sql"]).fetchone()]
    database.close()
    checks.check(not empty, f"{name}: each query of the evidence lists rows", "; ".join(empty))


def remedy(build, checks, name, knob, before):
    """What the finding tells the trainer to change, changed. A disturbed run is measured again."""
    for attempt in range(3):
        again = build.run([build.gpuprof, "run", "--no-record", "--device", DEVICE, "--", build.train,
                           "--defect", name], GPUPROF_APPLY=knob)
        after = printed_median_ms(again.stdout)
        if after < 0.97 * before:
            break
    checks.check(after < 0.97 * before, f"{name}: {knob} makes the step faster",
                 f"{before:.2f} ms before, {after:.2f} ms after")
    print(f"        {before:.2f} ms before, {after:.2f} ms after")


def tuned(build, checks):
    profile, _ = build.profile("tuned")
    analysis = build.analyze(profile)
    limit = 0.03 * analysis["steps"]["median_ms"]
    above = [f["rule"] for f in analysis["findings"] if f["saves_ms"]["high"] > limit]
    checks.check(not above, "the tuned run has no finding above 3 % of the step",
                 f"{', '.join(above)} ({describe(analysis)})")
    print(f"        {describe(analysis)}")
    parts = sum(analysis["breakdown_ms"].values())
    checks.check(abs(parts - analysis["steps"]["median_ms"]) < 1e-3,
                 "the parts of the step sum to it", f"{parts} ms of {limit / 0.03} ms")
    checks.check(analysis["device"]["virtual"] is True, "the profile says that the GPU is virtual")


def unmarked(build, checks, *arguments):
    """Without NVTX: the step that is detected is the one that the trainer itself measures. The two medians are of
    different steps (each leaves out its own warm-up), so the run is long; a burst of other work on the machine in one of
    them is measured again. A wrong period is wrong by far more, every time."""
    what = " ".join(["unmarked", *arguments])
    for attempt in range(3):
        profile, run = build.profile("unmarked", "--no-nvtx", "--steps", "120", *arguments)
        steps, printed = build.analyze(profile)["steps"], printed_median_ms(run.stdout)
        close = abs(steps["median_ms"] - printed) <= 0.02 * printed
        if close and steps["source"] == "detected":
            break
    checks.check(steps["source"] == "detected", f"{what}: steps are detected",
                 f"source is {steps['source']}")
    checks.check(close, f"{what}: the detected step is within 2 % of the trainer's own",
                 f"{steps['median_ms']:.3f} ms, the trainer says {printed:.3f} ms")


def main():
    build, checks = Build(sys.argv[1]), Checks()
    wanted = sys.argv[2:]
    rows = build.run([build.train, "--defect", "list"]).stdout.splitlines()
    for row in rows:
        name, rule, _ = row.split("\t")
        if not wanted or name in wanted:
            defect(build, checks, name, rule)
    if not wanted or "tuned" in wanted:
        tuned(build, checks)
    if not wanted or "unmarked" in wanted:
        unmarked(build, checks)
        unmarked(build, checks, "--optimizer", "loop", "--batch", "32")
        unmarked(build, checks, "--cuda-graph", "1")
        unmarked(build, checks, "--depth", "18", "--sync-every", "1")
    checks.done()


if __name__ == "__main__":
    main()
