#!/usr/bin/env python3
"""The gate on real runs of train_conv: two runs of the same pass, a slowdown fails and is named, too
few steps are inconclusive, and what cannot be read is told apart from all of these.

usage: gate.py BUILD
"""
import json
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
           "finding pin-memory")
    expect(checks, "too few steps are inconclusive", gate(build, base, few), 3, "too few")
    expect(checks, "a budget fails alone", gate(build, "--budget", budget, base), 1, "over budget")
    expect(checks, "a missing profile is an error", gate(build, base, build.path("none")), 2)
    checks.done()


if __name__ == "__main__":
    main()
