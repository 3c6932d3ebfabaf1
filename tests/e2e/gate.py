#!/usr/bin/env python3
"""The gate on real runs of train_conv: two runs of the same pass, a slowdown fails and is named, too
few steps are inconclusive, and what cannot be read is told apart from all of these.

usage: gate.py BUILD
"""
import json
import os
import sys

from support import Build, Checks


def gate(build, *arguments):
    done = build.run([build.gpuprof, "gate", "--json", *arguments])
    return done.returncode, (json.loads(done.stdout) if done.stdout else None), done.stderr


def expect(checks, what, got, status, named=""):
    code, result, stderr = got
    why = "; ".join(c["why"] for c in result["checks"]) if result else stderr.strip()
    checks.check(code == status and named in why, what, f"status {code}, {why}")
    print(f"        {why}")


def history(build, checks):
    """A folder of earlier runs: those of the same work count, the others are named."""
    os.mkdir(build.path("past"))
    small = ("--batch", "16", "--depth", "18", "--data", "fixed")
    device = "virtual:a100-80,scale=8"  # steps so long that other work on this machine does not matter
    for i in range(4):
        build.profile(f"past/{i}", *small, device=device)
    build.profile("past/other-batch", *small[:1], "32", *small[2:], device=device)
    build.profile("past/other-gpu", *small, device="virtual:h100")
    with open(build.path("past/damaged.gpuprof"), "w", encoding="ascii") as f:
        f.write("no profile")
    with open(build.path("past/x.gpuprof.AbCdEf.partial"), "w", encoding="ascii") as f:
        f.write("half of one")
    same, _ = build.profile("same", *small, device=device)
    slow, _ = build.profile("slow", *small, device="virtual:a100-80,scale=8.8")
    got = gate(build, "--history", build.path("past"), same)
    expect(checks, "the history: the same passes", got, 0, "last 4 good runs")
    why = got[1]["checks"][0]["why"]
    checks.check("16 samples" in why and "different GPUs" in why and "damaged.gpuprof" in why and "partial" not in why,
                 "what does not count is named", why)
    expect(checks, "the history: slower", gate(build, "--history", build.path("past"), slow), 1, "first slow one")
    first = build.path("past/0.gpuprof")
    expect(checks, "a run of the history, beside those before it", gate(build, "--history", build.path("past"), first), 3,
           "began after the new run")
    expect(checks, "no history", gate(build, "--history", build.path("none"), same), 2)


def main():
    build, checks = Build(sys.argv[1]), Checks()
    base, _ = build.profile("base")
    again, _ = build.profile("again")
    more, _ = build.profile("more", "--fuse-pointwise", "0")  # more kernels for the same
    twice, _ = build.profile("twice", "--batch", "128")
    pageable, _ = build.profile("pageable", "--pin-memory", "0")
    few, _ = build.profile("few", steps=6)
    budget = build.path("budget.ini")
    with open(budget, "w", encoding="utf-8") as f:
        f.write("[step_time]\nmedian_ms_max = 1\n")

    expect(checks, "two runs of the same pass", gate(build, base, again), 0)
    expect(checks, "more kernels fail", gate(build, base, more), 1)
    expect(checks, "fewer kernels pass", gate(build, more, base), 0)
    expect(checks, "twice the batch is refused", gate(build, base, twice), 3, "batch")
    expect(checks, "pageable batches fail, and are named", gate(build, base, pageable), 1,
           "new advice: pin-memory")
    expect(checks, "too few steps are inconclusive", gate(build, base, few), 3, "too few")
    expect(checks, "a budget fails alone", gate(build, "--budget", budget, base), 1, "over budget")
    expect(checks, "a missing profile is an error", gate(build, base, build.path("none")), 2)
    history(build, checks)
    checks.done()


if __name__ == "__main__":
    main()
