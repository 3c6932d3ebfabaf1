#!/usr/bin/env python3
"""`gpuprof run --light` records a few steps in full, and of all others their times; without it a run does so once enough is
recorded.

usage: light.py BUILD
"""
import json
import os
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../golden"))
import consistent
from support import DEVICE, Build, Checks

# CUPTI 13.0.1, which the virtual GPU imitates, is turned off only where this asks for it.
PAUSES = {"GPUPROF_CUPTI_PAUSES": "1"}
SMALL = ["--batch", "8", "--data", "fixed"]


def ask(profile, query):
    db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
    row = db.execute(query).fetchone()
    db.close()
    return row


def run(build, name, *program, options=("--light",), device=DEVICE, **variables):
    profile = build.path(name + ".gpuprof")
    done = build.run([build.gpuprof, "run", "-f", *options, "--device", device, "-o", profile, "--", *program], **variables)
    return profile, done


def light(build, checks):
    profile, done = run(build, "light", build.train, *SMALL, "--steps", "500", **PAUSES)
    windows, first = ask(profile, "SELECT count(*), min(first_step) FROM recorded")
    # the window may begin late where other work keeps the loop from being steady, and has 30 steps and the one that leads in
    checks.check(done.returncode == 0 and windows == 1 and 32 < first < 300, "one window, once the loop is steady", f"{windows}, {first}; {done.stderr}")
    steps, total = ask(profile, "SELECT (SELECT count(*) FROM step), (SELECT sum(steps) FROM step_block)")
    checks.check((steps, total) == (31, 500), "31 steps in full, the times of all 500", f"{steps}, {total}")
    for table in ("api", "range", "library_call"):
        where = "WHERE family <> 11" if table == "library_call" else ""
        outside, = ask(profile, f"SELECT count(*) FROM (SELECT * FROM {table} {where}) x, recorded r WHERE x.start_ns NOT BETWEEN r.start_ns AND r.end_ns")
        checks.check(outside == 0, f"{table}: nothing from outside the window", str(outside))
    searches, kernels = ask(profile, "SELECT (SELECT count(*) FROM library_call WHERE family = 11), (SELECT count(*) FROM kernel)")
    checks.check(searches > 0 and kernels > 1000, "searches for algorithms are kept", f"{searches}, {kernels}")
    found = build.analyze(profile)
    checks.check(not found["findings"] or found["findings"][0]["rule"] != "cudnn-algorithm", "... and nothing is concluded from their absence",
                 str(found["findings"]))
    checks.check(found["health"]["run_steps"] == 500 and 0 < found["health"]["recorded_pct"] < 50, "how much was recorded is said",
                 str(found["health"]))
    page = build.path("light.html")
    build.run([build.gpuprof, "report", "-o", page, profile])
    with open(page, encoding="utf-8") as f:
        checks.check("hatched where it was not recorded" in f.read(), "the page says what is hatched", "")
    said = done.stderr.replace("\ngpuprof:", "").split()
    checks.check(" ".join(said).find(f"in full steps {first} to {first + 30},") > 0, "... in one line of the summary", done.stderr)


def not_possible(build, checks):
    """A CUPTI that must not be turned off is not turned on, and programs without marks have no windows."""
    profile, done = run(build, "off", build.train, *SMALL, "--steps", "120")
    kernels, total = ask(profile, "SELECT (SELECT count(*) FROM kernel), (SELECT sum(steps) FROM step_block)")
    checks.check((done.returncode, kernels, total) == (0, 0, 120) and "--light did not turn it" in done.stderr,
                 "CUPTI 13.0.1 stays off, and the summary says so", f"{kernels}, {total}, {done.stderr}")
    profile, done = run(build, "unmarked", build.train, *SMALL, "--steps", "40", "--no-nvtx", **PAUSES)
    kernels, = ask(profile, "SELECT count(*) FROM kernel")
    checks.check(done.returncode == 0 and kernels == 0 and "marks no steps" in done.stderr, "no marks: the summary says what to do", done.stderr)
    for option in ("--full", "--armed", "--steps=1:2", "--delay=1", "--range=none", "--modules"):
        _, done = run(build, "wrong", "true", options=("--light", option))
        checks.check(done.returncode == 2 and len(done.stderr.splitlines()) == 1, f"--light {option}: one line, status 2", done.stderr)


def convolutions(profile):
    """Per step."""
    n, steps = ask(profile, "SELECT (SELECT count(*) FROM library_call WHERE family = 2), (SELECT count(*) FROM step)")
    return n / steps


# After 48 steady steps, however short, and then 20 steps at multiples of 100, whatever the pace does meanwhile.
SOON = ["env", "GPUPROF_WINDOW=steady=48:0:20:100:0:100000"]


def enough(build, checks):
    """A run that goes light by itself: turned off, and with a CUPTI that stays on."""
    program = [build.train, *SMALL, "--steps", "600"]
    full, _ = run(build, "full", *program, options=("--full",))
    kernels, windows = ask(full, "SELECT (SELECT count(*) FROM kernel), (SELECT count(*) FROM recorded)")
    checks.check(windows == 0 and kernels > 100000, "--full: all of it", f"{windows}, {kernels}")
    for what, variables in (("turned off", PAUSES), ("stays on", {})):
        profile, done = run(build, "enough", *SOON, *program, options=(), **variables)
        checks.check(done.returncode == 0, f"CUPTI {what}: runs", done.stderr)
        db = sqlite3.connect(profile)
        windows = db.execute("SELECT first_step, start_ns, end_ns, gpu_end_ns FROM recorded ORDER BY id").fetchall()
        checks.check(len(windows) >= 2 and windows[0][0] == 0 and any((w[0] + 1) % 100 == 0 for w in windows[1:]),
                     f"CUPTI {what}: the first steps, then some at round ones", str(windows))
        kept, = db.execute("SELECT count(*) FROM kernel").fetchone()
        checks.check(0 < kept < 0.8 * kernels, f"CUPTI {what}: fewer kernels than in full", f"{kept} of {kernels}")
        outside = [k for k, in db.execute("SELECT start_ns FROM kernel") if not any(w[1] <= k < w[3] for w in windows)]
        calls = [k for k, in db.execute("SELECT start_ns FROM api") if not any(w[1] <= k < w[2] for w in windows)]
        checks.check(not outside and not calls, f"CUPTI {what}: nothing from between the windows", f"{len(outside)}, {len(calls)}")
        total, runs_on = db.execute("SELECT (SELECT sum(steps) FROM step_block), (SELECT value FROM health JOIN string s ON s.id = code"
                                    " WHERE s.text = 'cupti-runs-on')").fetchone()
        db.close()
        checks.check(total == 600, f"CUPTI {what}: the times of all steps", str(total))
        checks.check(runs_on == (None if variables else 130001), f"CUPTI {what}: health says if it is on for nothing", str(runs_on))
        said = " ".join(done.stderr.replace("\ngpuprof:", "").split())
        checks.check("in full steps 1 to" in said and "later, " in said, f"CUPTI {what}: the summary says which steps", done.stderr)
        trace = build.path("enough.json")
        build.run([build.gpuprof, "export", "-f", "-o", trace, profile])
        with open(trace, encoding="utf-8") as f:
            marks = [e["name"] for e in json.load(f)["traceEvents"] if e.get("name", "").startswith(("ProfilerStep#", "not recorded: "))]
        between = [m for m in marks if m.startswith("not")]
        first = windows[1][0]
        checks.check(f"not recorded: steps {int(between[0].split()[3])} to {first - 1}" == between[0] and f"ProfilerStep#{first - 1}" in marks,
                     f"CUPTI {what}: an exported trace says what was not recorded", f"{between}, {windows}")
        lint = build.run([build.gpuprof, "lint-trace", trace])
        checks.check(lint.returncode == 0, f"CUPTI {what}: ... and is a good trace", lint.stdout + lint.stderr)
        wrong = consistent.asked(build.gpuprof, [profile], build.path("enough.html"))
        checks.check(wrong == [], f"CUPTI {what}: text, page, Markdown and JSON agree", str(wrong))
        of_all, of_some = convolutions(full), convolutions(profile)
        checks.check(of_all == of_some, f"CUPTI {what}: each recorded step is whole", f"{of_all}, {of_some} convolutions")


def all_of_it(build, checks):
    """What is too short, or marks no steps, is recorded as a whole."""
    for what, program in (("a short run", [build.train, *SMALL, "--steps", "40"]),
                          ("a run without marks", [build.train, *SMALL, "--steps", "300", "--no-nvtx"])):
        profile, done = run(build, "all", *SOON, *program, options=())
        steps = 300 if "--no-nvtx" in program else 40
        windows, blocks, kernels = ask(profile, "SELECT (SELECT count(*) FROM recorded), (SELECT count(*) FROM step_block),"
                                       " (SELECT count(*) FROM kernel)")
        checks.check(done.returncode == 0 and windows == blocks == 0 and kernels > 200 * steps, f"{what} is recorded as a whole",
                     f"{windows}, {blocks}, {kernels}; {done.stderr}")
        checks.check("Recorded" not in done.stderr, "... and the summary does not speak of it", done.stderr)


def main():
    build, checks = Build(sys.argv[1]), Checks()
    light(build, checks)
    enough(build, checks)
    all_of_it(build, checks)
    not_possible(build, checks)
    checks.done()


if __name__ == "__main__":
    main()
