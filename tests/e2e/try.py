"""`gpuprof try`: what it answers for a change without effect, a refusing program, one that fails, a
program that ignores GPUPROF_APPLY, and Ctrl-C. One check needs a saving to be seen; it is large, and tried again.

    try.py BUILD
"""
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

from support import Build, Checks, DEVICE

STEPS = "16"


def attempt(build, *options, program=None, **variables):
    program = program or [build.train, "--steps", STEPS, "--batch", "8"]
    return build.run([build.gpuprof, "try", "--device", DEVICE, *options, "--", *program],
                     TMPDIR=build.folder.name, **variables)


def answer(done):
    """The answer for the only change that was tried, with what is common to all."""
    said = json.loads(done.stdout)
    assert len(said["tried"]) == 1, done.stdout
    return {**said, **said["tried"][0]}


def leftovers(build):
    return [n for n in os.listdir(build.folder.name) if n.startswith("gpuprof-try-")]


def measured(build, checks):
    """A change that no advice names."""
    profile = build.path("first.gpuprof")
    done = attempt(build, "--json", "--runs", "2", "-o", profile, "--apply", "num_workers=4")
    said = answer(done)
    checks.check("median_step_ms" in done.stderr, "the first run's output is shown", done.stderr)
    checks.check(said["runs_with"] == 2 and said["runs_without"] == 2, "two runs an arm",
                 done.stdout)
    checks.check(said["verdict"] not in ("CONFIRMED", "LARGER", "SMALLER"),
                 "a change that nothing was predicted for is not confirmed", done.stdout)
    checks.check("Virtual" in said["virtual_gpu"], "says that it was a virtual GPU", done.stdout)
    checks.check(said["measured_pct"]["low"] <= said["measured_pct"]["mid"]
                 <= said["measured_pct"]["high"], "the interval holds the effect", done.stdout)
    checks.check(said["runs_acknowledged"] == 2, "the trainer says that it obeyed", done.stdout)
    checks.check(os.path.exists(profile), "-o keeps the first run's profile")
    again = attempt(build, "--runs", "2", "-o", profile, "--apply", "num_workers=4")
    checks.check(again.returncode == 2 and "exists" in again.stderr,
                 "an existing profile is not replaced", again.stderr)
    checks.check(leftovers(build) == [], "nothing is left behind")
    return profile


def confirmed(build, checks):
    """A third of the step, predicted from the recording: no disturbance of the machine hides that."""
    profile = build.path("advised.gpuprof")
    for attempts_left in (2, 1, 0):
        done = attempt(build, "--json", "--runs", "3", "-f", "-o", profile, program=[build.train, "--steps", "30",
                                                              "--data", "fixed", "--defect",
                                                              "pageable"])
        said = answer(done)
        if said["predicted_pct"] or not attempts_left:
            break
    text = build.run([build.gpuprof, "analyze", profile]).stdout
    checks.check(f"tried: {said['verdict']}: predicted " in text,
                 "analyze shows the trial with its finding", text)
    text = build.run([build.gpuprof, "analyze", "--markdown", profile]).stdout
    checks.check(f"- `pin-memory`, tried: {said['verdict']}: predicted " in text,
                 "as a table for a pull request does", text)
    learned(build, checks, profile)
    checks.check(said["apply"].startswith("pin_memory"), "the first advice is tried", done.stdout)
    checks.check(said["measured_pct"]["low"] > 10, "by its interval more than a tenth", done.stdout)
    if said["predicted_pct"]:
        checks.check(said["predicted_pct"]["mid"] > 10 and said["verdict"] in
                     ("CONFIRMED", "SMALLER", "LARGER", "UNDERPOWERED"), "as was predicted", done.stdout)
    else:
        checks.check(said["no_predictions"] and said["at_most_pct"] > 10,
                     "a bound, where a disturbed run allows no prediction", done.stdout)
    checks.check(done.returncode == (3 if said["verdict"] == "UNDERPOWERED" else 0),
                 "status 0: it saves time; 3: cannot tell", str(done.returncode))


def learned(build, checks, profile):
    """A history in which pinning saved 30 points less than was predicted at least."""
    def finding(*options):
        said = json.loads(build.run([build.gpuprof, "analyze", "--json", *options, profile]).stdout)
        return said["findings"][0], said["steps"]["median_ms"]
    history = build.path("trials.txt")
    with open(history, "w") as f:
        f.write("# trials\n1\treal\tpin\t0.5\t0.6\t0\n2\tvirtual\tpin\t0.5\t0.6\t0.2\n")
    plain, _ = finding()
    if plain["kind"] != "predicted":
        return
    wide, step = finding("--history", history)
    checks.check(wide["widened_after_trials"] == plain["widened_after_trials"] + 1
                 and abs(wide["widened_ms"] - max(0.3 * step, plain["widened_ms"])) < 1e-3
                 and wide["saves_ms"]["low"] <= plain["saves_ms"]["low"],
                 "trials of other programs widen the interval", f"{plain} {wide}")
    text = build.run([build.gpuprof, "analyze", profile], GPUPROF_HISTORY=history).stdout
    checks.check("interval widened by" in " ".join(text.split()), "and the report says so", text)


def several(build, checks):
    """Two pieces of advice, each alone and both together, from one profile."""
    done = attempt(build, "--json", "--top", "2", "--runs", "2",
                   program=[build.train, "--steps", STEPS, "--data", "fixed", "--defect",
                            "pageable,nchw"])
    tried = json.loads(done.stdout)["tried"]
    alone = [t["apply"] for t in tried if not t["together"]]
    checks.check(sorted(alone) == ["channels_last=1", "pin_memory=1"], "--top 2 tries two changes",
                 done.stdout)
    checks.check(len(tried) == 3 and tried[2]["together"]
                 and tried[2]["apply"] == ";".join(alone), "and both together", done.stdout)
    checks.check(all(t["runs_with"] == t["runs_acknowledged"] == 2 for t in tried),
                 "each as often as asked for", done.stdout)
    checks.check({t["verdict"] for t in tried} == {"UNDERPOWERED"},
                 "two runs an arm are too few for a verdict", done.stdout)


def marks_alone(build, checks):
    """`run --range none`: what reruns record. Every step, and no work of the GPU or call to it."""
    profile = build.path("marks.gpuprof")
    build.run([build.gpuprof, "run", "-q", "--range", "none", "--device", DEVICE, "-o", profile, "--",
               build.train, "--steps", STEPS, "--batch", "8", "--data", "fixed"])
    db = sqlite3.connect(profile)
    counts = [db.execute(f"SELECT {what}").fetchone()[0] for what in
              ("sum(steps) FROM step_block", "count(*) FROM kernel", "count(*) FROM copy",
               "count(*) FROM api")]
    db.close()
    checks.check(counts == [int(STEPS), 0, 0, 0], "--range none records all steps and nothing else",
                 str(counts))


def disobedient(build, checks, profile):
    """The trainer without GPUPROF_APPLY in its environment."""
    done = attempt(build, "--runs", "2", "--profile", profile, "--apply", "num_workers=4",
                   program=["env", "-u", "GPUPROF_APPLY", build.train, "--steps", STEPS,
                            "--batch", "8"])
    checks.check("did not say whether it obeyed num_workers" in done.stdout,
                 "a program that says nothing of the change is named", done.stdout + done.stderr)
    checks.check("CONFIRMED" not in done.stdout, "and not confirmed", done.stdout)


def kept(build, checks, profile):
    """Both trials are in the profile: the one that made it, and the one that was predicted by it."""
    db = sqlite3.connect(profile)
    rows = db.execute("SELECT k.text, v.text, runs_without, runs_with, step_ns, predicted_mid_ns, "
                      "measured_low_ns, measured_mid_ns, measured_high_ns, tried_realtime_ns "
                      "FROM verification t JOIN string k ON k.id = t.knob "
                      "JOIN string v ON v.id = t.verdict ORDER BY t.id").fetchall()
    db.close()
    said = json.loads(build.run([build.gpuprof, "analyze", "--json", profile]).stdout)
    trials = said["verification"]
    checks.check(len(trials) == 2 and trials[0]["knob"] == "num_workers=4"
                 and trials[0]["measured_ms"]["mid"] == round(rows[1][7] / 1e6, 6),
                 "analyze --json lists them, the newest first", str(trials))
    checks.check(len(rows) == 2, "each trial is a row of the profile", str(rows))
    for knob, verdict, without, done, step, predicted, low, mid, high, when in rows:
        row = str((knob, verdict, without, done, step, predicted, low, mid, high, when))
        checks.check(knob == "num_workers=4" and verdict, "with its knob and verdict", row)
        checks.check((without, done) == (2, 2) and predicted == -1, "its runs, no prediction", row)
        checks.check(low <= mid <= high < step, "what was measured of the step", row)
        checks.check(abs(when / 1e9 - time.time()) < 600, "and its date", row)


def failing(build, checks, profile):
    done = attempt(build, "--apply", "num_workers=4", program=["false"])
    checks.check(done.returncode == 2 and "status 1" in done.stderr,
                 "a first run that fails is told with its status", done.stderr)
    done = attempt(build, "--profile", profile, "--runs", "2", "--apply", "nonsense=1")
    checks.check(done.returncode == 2 and "status 2" in done.stderr and "nonsense" in done.stderr,
                 "a rerun that fails is told with its status and last words", done.stderr)
    left = leftovers(build)
    checks.check(len(left) == 1 and os.listdir(build.path(left[0])) == ["with.log"],
                 "its output is kept, and nothing else", str(left))
    os.remove(build.path(os.path.join(left[0], "with.log")))
    os.rmdir(build.path(left[0]))
    for options in (["--runs", "1"], ["--apply", "x"], ["--top", "9"],
                    ["--top", "2", "--apply", "x=1"], ["--profile", profile, "-o", "y"]):
        done = attempt(build, *options)
        checks.check(done.returncode == 2, f"refused: {' '.join(options[:2])}", done.stderr)


def interrupted(build, checks, profile):
    """Ctrl-C while the third rerun is under way."""
    out = subprocess.Popen([build.gpuprof, "try", "--device", DEVICE, "--runs", "8", "--json",
                            "--profile", profile, "--apply", "num_workers=4", "--", build.train,
                            "--steps", "60", "--batch", "8"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, cwd=build.folder.name,
                           env={**build.env, "TMPDIR": build.folder.name})
    for line in out.stderr:
        if line.startswith("gpuprof: round 2 "):
            break
    time.sleep(0.3)
    out.send_signal(signal.SIGINT)
    text, _ = out.communicate(timeout=60)
    said = json.loads(text)
    said = {**said, **said["tried"][0]}
    checks.check(out.returncode == 130, "interrupted: status 130", str(out.returncode))
    checks.check(said["interrupted"] and said["runs_without"] >= 1 and said["runs_with"] >= 1,
                 "and what was measured until then is reported", text)
    checks.check(leftovers(build) == [], "and nothing is left behind", str(leftovers(build)))


def main():
    build, checks = Build(sys.argv[1]), Checks()
    profile = measured(build, checks)
    confirmed(build, checks)
    several(build, checks)
    marks_alone(build, checks)
    disobedient(build, checks, profile)
    kept(build, checks, profile)
    failing(build, checks, profile)
    interrupted(build, checks, profile)
    checks.done()


main()
