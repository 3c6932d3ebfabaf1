#!/usr/bin/env python3
"""What CUPTI does wrong, or others do to it, in whole runs on the virtual GPU: the health table and the verdict say
what is missing, and nothing is concluded from what is.

usage: faults.py BUILD
"""
import os
import re
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import DEVICE, Build, Checks


def health(profile):
    db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
    rows = dict(db.execute("SELECT (SELECT text FROM string WHERE id = code), value FROM health"))
    db.close()
    return rows


def stolen(build, checks):
    """Another client takes the buffers over for the last second or less."""
    for after_ms in (700, 1200):
        what = f"buffers taken over after {after_ms} ms"
        profile, _ = build.profile(f"stolen{after_ms}", steps=60,
                                   device=f"{DEVICE},steal_callbacks_after={after_ms}")
        rows, found = health(profile), build.analyze(profile)
        checks.check(rows.get("cupti-end", 0) > 0, f"{what}: how long is said", str(rows))
        idle = sum(v for k, v in found["breakdown_ms"].items() if k.startswith("idle"))
        checks.check(idle <= 0.4 * found["steps"]["median_ms"], f"{what}: no idle GPU is seen in it",
                     f"{idle} ms of {found['steps']['median_ms']}; {found['verdict']}")
        said = found["why"] + found["verdict"]
        checks.check("This covers only" in said or "Not enough data" in said,
                     f"{what}: the verdict says for what part of the run it holds", said)


def kernels_off(build, checks):
    what = "kernels turned off after 500 ms"
    profile, _ = build.profile("off", steps=60, device=f"{DEVICE},kernels_off_after=500")
    found = build.analyze(profile)
    checks.check(found["verdict_class"] == "not-enough-data", f"{what}: no verdict",
                 found["verdict"])
    checks.check("launches" in found["verdict"], f"{what}: launches are the evidence",
                 found["verdict"])


def stepped(build, checks):
    """The clock that CUPTI stamps with is set forward and back while kernels run."""
    for seconds in (3, -3, 0.2, -0.2):
        what = f"clock set by {seconds} s"
        profile, _ = build.profile(f"stepped{seconds}", steps=60, device=f"{DEVICE},clock_step={seconds}:700")
        db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
        longest, short = db.execute("SELECT max(end_ns - start_ns), min(end_ns - start_ns) FROM kernel").fetchone()
        last, end = db.execute("SELECT (SELECT max(end_ns) FROM kernel), max(end_ns) FROM process").fetchone()
        db.close()
        rows, found = health(profile), build.analyze(profile)
        checks.check(0 <= short and longest < 150e6, f"{what}: no kernel lasts as long as the step",
                     f"{longest / 1e6} ms")
        checks.check(last <= end, f"{what}: none is in the future", f"{last - end} ns")
        checks.check(rows.get("clock-set") == 1, f"{what}: is said", str(rows))
        steps = found["steps"]
        checks.check(steps["mean_ms"] < 1.5 * steps["median_ms"], f"{what}: no step lasts as long", str(steps))


def switched(build, checks):
    """Between windows CUPTI is off. Turned on while the program launches, it loses records before the window begins."""
    profile = build.path("switched.gpuprof")
    run = build.run([build.gpuprof, "run", "-q", "-f", "--device", f"{DEVICE},switch_loss=20,copies_off_crash=1", "--every", "200", "--window", "5", "-o",
                     profile, "--", build.train, "--depth", "18", "--batch", "128", "--data", "fixed", "--steps", "250"], GPUPROF_CUPTI_PAUSES="1")
    rows = health(profile)
    checks.check(run.returncode == 0 and rows.get("unasked", 0) > 20, "losses between windows are told apart", f"{run.stderr} {rows}")
    checks.check("cupti-dropped" not in rows and "untimed" not in rows, "... and are none of the windows'", str(rows))
    run = build.run([build.gpuprof, "run", "-q", "-f", "--device", f"{DEVICE},connect=700,copies_off_crash=1", "--delay", "1.5", "--duration",
                     "0.5", "-o", profile, "--", build.train, "--depth", "18", "--batch", "128", "--data", "fixed", "--steps", "40"],
                    GPUPROF_CUPTI_PAUSES="1")
    db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
    calls, numbers = db.execute("SELECT count(*), count(DISTINCT correlation) FROM api").fetchone()
    db.close()
    rows = health(profile)
    checks.check(run.returncode == 0 and calls == numbers > 0 and "cupti-ids" not in rows, "--delay: each call has its number",
                 f"{run.stderr} {calls} calls, {numbers} numbers, {rows}")


def runs_on(build, checks):
    """A CUPTI that must not be turned off stays on between windows, the profile has the windows alone, and says so."""
    profile = build.path("runs_on.gpuprof")
    run = build.run([build.gpuprof, "run", "-q", "-f", "--device", f"{DEVICE},switch_loss=20", "--every", "100", "--window", "5", "-o",
                     profile, "--", build.train, "--depth", "18", "--batch", "128", "--data", "fixed", "--steps", "220"])
    rows = health(profile)
    db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
    windows, outside = db.execute("SELECT (SELECT count(*) FROM recorded), (SELECT count(*) FROM api WHERE NOT EXISTS (SELECT 1 FROM recorded r"
                                  " WHERE api.start_ns BETWEEN r.start_ns AND r.end_ns))").fetchone()
    db.close()
    checks.check(run.returncode == 0 and rows.get("cupti-runs-on") == 130001 and "unasked" not in rows, "CUPTI 13.0.1 is not turned off",
                 f"{run.stderr} {rows}")
    checks.check(windows >= 3 and outside == 0, "... and nothing from between the windows is kept", f"{windows} windows, {outside} calls outside")


def lost(build, checks):
    """More threads at once than rings: every range is there or counted, once, and all say the same number."""
    threads, ranges = 1100, 10
    profile = build.path("lost.gpuprof")
    run = build.run([build.gpuprof, "run", "-f", "-o", profile, "--", os.path.join(build.bin, "agent_many"), "threads",
                     str(threads)])
    checks.check(run.returncode == 0, "1100 threads: status", run.stderr[-300:])
    db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
    there = db.execute("SELECT count(*) FROM range").fetchone()[0]
    db.close()
    said = health(profile).get("no-ring", 0)
    checks.check(said > 0 and there + said == threads * ranges, "1100 threads: ranges that are lost are counted once",
                 f"{there} there, {said} lost, of {threads * ranges}")
    told = build.analyze(profile)["health"]["dropped"]
    page = build.run([build.gpuprof, "report", profile, "-o", "lost.html"])
    with open(build.path("lost.html"), encoding="utf-8") as f:
        html = f.read()
    words = f"{said} records lost", f"{said:,} records lost", f"{said / 1000:.3g}k records lost"
    terminal = build.run([build.gpuprof, "analyze", profile]).stdout
    checks.check(told == said and page.returncode == 0 and any(w in html or w.replace("lost", "were lost") in html
                                                               for w in words)
                 and any(w in terminal for w in words), "1100 threads: terminal, page and JSON say the same number",
                 f"{said}, JSON {told}: {re.findall('.{20}records (?:were )?lost', terminal + html)}")


def cut(build, checks):
    """The program cuts the file short that it is recorded in: what was read is kept, and it is said."""
    for size in (0, 100000):
        what = f"spool cut to {size} bytes"
        profile = build.path(f"cut{size}.gpuprof")
        run = build.run([build.gpuprof, "run", "-f", "-o", profile, "--", os.path.join(build.bin, "agent_cut"), str(size)])
        checks.check((run.returncode, run.stdout) == (0, "cut\n"), f"{what}: status and output",
                     f"{run.returncode} {run.stdout} {run.stderr[-300:]}")
        if not checks.check(os.path.exists(profile), f"{what}: a profile"):
            continue
        db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
        there = db.execute("SELECT count(*) FROM range").fetchone()[0]
        db.close()
        checks.check(there == 10, f"{what}: what had been read is there", str(there))
        checks.check("spool-cut" in health(profile), f"{what}: is said", str(health(profile)))


def sound(build, checks):
    """Nothing of this where nothing is wrong, also where launches are captured."""
    for arguments in ([], ["--cuda-graph", "1"]):
        what = " ".join(["nothing wrong", *arguments])
        profile, _ = build.profile("sound", *arguments, steps=30)
        rows, found = health(profile), build.analyze(profile)
        checks.check(not {"cupti-end", "names-missing"} & rows.keys(), f"{what}: no complaint",
                     str(rows))
        said = found["why"]
        checks.check("missing" not in said and "alone" not in said, f"{what}: no doubt", said)


def main():
    build, checks = Build(sys.argv[1]), Checks()
    stolen(build, checks)
    kernels_off(build, checks)
    stepped(build, checks)
    switched(build, checks)
    runs_on(build, checks)
    lost(build, checks)
    cut(build, checks)
    sound(build, checks)
    checks.done()


if __name__ == "__main__":
    main()
