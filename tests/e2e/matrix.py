#!/usr/bin/env python3
"""Every defect of train_conv must be the first finding, and the tuned run must have none.

usage: matrix.py BUILD [DEFECT...]       `tuned` names the run without a defect
"""
import sys

from support import Build, Checks, printed_median_ms


def describe(analysis):
    found = [f"{f['rule']} {f['saves_ms']['high']:.2f} ms" for f in analysis["findings"]]
    return f"step {analysis['steps']['median_ms']:.2f} ms: " + (", ".join(found) or "no finding")


def defect(build, checks, name, rule):
    profile, _ = build.profile(name, "--defect", name)
    analysis = build.analyze(profile)
    findings = analysis["findings"]
    first = findings[0]["rule"] if findings else "nothing"
    if checks.check(first == rule, f"{name} is told as {rule}",
                    f"first is {first} ({describe(analysis)})"):
        print(f"        {describe(analysis)}")


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


def unmarked(build, checks):
    """Without NVTX: the step that is detected is the one that the trainer itself measures."""
    profile, run = build.profile("unmarked", "--no-nvtx")
    analysis = build.analyze(profile)
    steps, printed = analysis["steps"], printed_median_ms(run.stdout)
    checks.check(steps["source"] == "detected", "steps are detected without marks",
                 f"source is {steps['source']}")
    checks.check(abs(steps["median_ms"] - printed) <= 0.02 * printed,
                 "the detected step is within 2 % of the trainer's own",
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
    checks.done()


if __name__ == "__main__":
    main()
