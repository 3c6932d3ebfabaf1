"""`gpuprof try`: what it answers for a large saving that was planted, claims that are true, a claim
that is false, an effect far below the noise, a program that refuses, ignores or fails, and Ctrl-C.

Verdicts are strict. All predictions come from one profile of the trainer, which is tried itself; what
is asked of the verdicts beyond that is asked of a stand-in that sleeps as long as it is told to, which a
busy machine hardly disturbs. What measures time is tried again: what is wrong every time is wrong.

    try.py BUILD
"""
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

from support import Build, Checks, DEVICE

ATTEMPTS = 5  # of what measures time
SLOW = ["--data", "fixed", "--defect", "pageable,nchw"]  # a third of its step are copies that wait
STEPS = 12

# Steps of 10 ms; what each setting saves is told in percent, "pin_memory=1 32.1,...". noise: every
# seventh run, from the second on, and the one after it take half as long again.
STAND_IN = """
import ctypes, os, sys, time
agent = ctypes.CDLL(None)
step, saves = 0.010, dict(word.split() for word in sys.argv[1].split(",") if " " in word)
for setting in os.environ.get("GPUPROF_APPLY", "").split(";"):
    if setting in saves:
        step -= 0.0001 * float(saves[setting])
        agent.gpuprof_agent_range_begin(b"gpuprof.apply " + setting.encode())
        agent.gpuprof_agent_range_end()
if "noise" in sys.argv[1]:
    runs = open("runs", "a+")
    runs.write("x")
    step *= 1.5 if runs.tell() % 7 in (2, 3) else 1
for i in range(12):
    agent.gpuprof_agent_range_begin(b"step")
    time.sleep(step)
    agent.gpuprof_agent_range_end()
print("over")
"""


def attempt(build, *options, program, **variables):
    return build.run([build.gpuprof, "try", "--device", DEVICE, *options, "--", *program],
                     TMPDIR=build.folder.name, **variables)


def stand_in(build, saves):
    program = [sys.executable, build.path("stand_in.py"), saves]
    with open(program[1], "w") as f:
        f.write(STAND_IN)
    return program


def answer(done):
    """The answer for the only change that was tried, with what is common to all."""
    said = json.loads(done.stdout)
    assert len(said["tried"]) == 1, done.stdout
    return {**said, **said["tried"][0]}


def leftovers(build):
    return [n for n in os.listdir(build.folder.name) if n.startswith("gpuprof-try-")]


def verdict(build, wanted, *options, program):
    """The first answer of a few with a wanted verdict, or the last."""
    for _ in range(ATTEMPTS):
        done = attempt(build, "--json", "--runs", "3", *options, program=program)
        said = answer(done)
        if said["verdict"] in wanted:
            break
    return done, said


def recorded(build):
    """A profile of the trainer that allows predictions, and what it predicts in percent of the step."""
    for _ in range(ATTEMPTS):
        profile, _ = build.profile("first", *SLOW, steps=2 * STEPS)
        said = build.analyze(profile)
        if all(f["kind"] == "predicted" for f in said["findings"]):
            break
    return profile, {f["setting"]: 100 * f["saves_ms"]["mid"] / said["steps"]["median_ms"]
                     for f in said["findings"][:2]}


def confirmed(build, checks):
    """The trainer, with the advice that saves most. Its profile is what all other trials predict from."""
    for _ in range(ATTEMPTS):
        profile, predicted = recorded(build)
        done = attempt(build, "--json", "--profile", profile, "--runs", "3",
                       program=[build.train, *SLOW, "--steps", str(STEPS)])
        said = answer(done)
        if said["verdict"] == "CONFIRMED":
            break
    checks.check(said["verdict"] == "CONFIRMED", "a large saving is confirmed", done.stdout)
    checks.check(said["apply"] == "pin_memory=1", "the first advice is tried", done.stdout)
    checks.check(min(said["measured_pct"]["low"], said["predicted_pct"]["low"]) > 20,
                 "by both intervals more than a fifth", done.stdout)
    checks.check(done.returncode == 0, "status 0: it saves time", str(done.returncode))
    checks.check("Virtual" in said["virtual_gpu"], "says that it was a virtual GPU", done.stdout)
    checks.check(said["runs_with"] == said["runs_without"] == said["runs_acknowledged"] == 3,
                 "three runs an arm, and the trainer says that it obeyed", done.stdout)
    checks.check(leftovers(build) == [], "nothing is left behind")
    text = build.run([build.gpuprof, "analyze", profile]).stdout
    checks.check("tried: CONFIRMED: predicted " in text, "analyze shows the trial with its finding",
                 text)
    text = build.run([build.gpuprof, "analyze", "--markdown", profile]).stdout
    checks.check("- `pin-memory`, tried: CONFIRMED: predicted " in text,
                 "as a table for a pull request does", text)
    return profile, predicted


def several(build, checks, profile, predicted):
    """Two pieces of advice that save what was predicted, each alone and both together."""
    checks.check(sorted(predicted) == ["channels_last=1", "pin_memory=1"], "two are predicted",
                 str(predicted))
    program = stand_in(build, ",".join(f"{setting} {pct:.1f}" for setting, pct in predicted.items()))
    for _ in range(ATTEMPTS):
        done = attempt(build, "--json", "--profile", profile, "--top", "2", "--runs", "3",
                       program=program)
        tried = json.loads(done.stdout)["tried"]
        if {t["verdict"] for t in tried} == {"CONFIRMED"}:
            break
    alone = [t["apply"] for t in tried if not t["together"]]
    checks.check(sorted(alone) == sorted(predicted), "--top 2 tries two changes", done.stdout)
    checks.check(len(tried) == 3 and tried[2]["together"]
                 and tried[2]["apply"] == ";".join(alone), "and both together", done.stdout)
    checks.check(all(t["runs_with"] == t["runs_acknowledged"] == 3 for t in tried),
                 "each as often as asked for", done.stdout)
    checks.check({t["verdict"] for t in tried} == {"CONFIRMED"}, "true claims are confirmed",
                 done.stdout)


def refuted(build, checks, profile):
    """A program that obeys, and becomes no faster: a third was claimed."""
    done, said = verdict(build, ["REFUTED", "SMALLER"], "--profile", profile, "--apply",
                         "pin_memory=1", program=stand_in(build, "pin_memory=1 0"))
    checks.check(said["verdict"] in ("REFUTED", "SMALLER"), "a false claim is refuted", done.stdout)
    checks.check(said["measured_pct"]["high"] < said["predicted_pct"]["low"],
                 "what was measured ends below what was claimed", done.stdout)
    checks.check(done.returncode == (1 if said["verdict"] == "REFUTED" else 0),
                 "status 1: it does not save time", str(done.returncode))


def underpowered(build, checks, profile):
    """1 % is saved, runs differ by half."""
    done, said = verdict(build, ["UNDERPOWERED"], "--profile", profile, "--apply", "little=1",
                         program=stand_in(build, "little=1 1,noise"))
    checks.check(said["verdict"] == "UNDERPOWERED" and said["runs_with"] == 3,
                 "an effect far below the noise is not told", done.stdout)
    checks.check(said["measured_pct"]["low"] < 0 < said["measured_pct"]["high"],
                 "its interval holds 0", done.stdout)
    checks.check(said["runs_acknowledged"] == 3, "a range says that the program obeyed", done.stdout)
    checks.check(done.returncode == 3, "status 3: cannot tell", str(done.returncode))


def first_run(build, checks):
    """-o keeps the profile of the first run; its output is shown."""
    kept, program = build.path("kept.gpuprof"), stand_in(build, "x=1 10")
    done = attempt(build, "--json", "--runs", "2", "-o", kept, "--apply", "x=1", program=program)
    checks.check("over" in done.stderr, "the first run's output is shown", done.stderr)
    checks.check(os.path.exists(kept) and len(build.analyze(kept)["trials"]) == 1,
                 "-o keeps the first run's profile, with the trial", done.stdout)
    done = attempt(build, "-o", kept, "--apply", "x=1", program=program)
    checks.check(done.returncode == 2 and "exists" in done.stderr,
                 "an existing profile is not replaced", done.stderr)


def learned(build, checks, profile):
    """A history in which pinning saved 30 points less than was predicted at least."""
    def finding(*options):
        said = json.loads(build.run([build.gpuprof, "analyze", "--json", *options, profile]).stdout)
        pin = [f for f in said["findings"] if f["rule"] == "pin-memory"]
        return pin[0], said["steps"]["median_ms"]
    history = build.path("trials.txt")
    with open(history, "w") as f:
        f.write("# trials\n1\treal\tpin\t0.5\t0.6\t0\n2\tvirtual\tpin\t0.5\t0.6\t0.2\n")
    plain, _ = finding()
    wide, step = finding("--history", history)
    checks.check(wide["widened_after_trials"] == plain["widened_after_trials"] + 1
                 and abs(wide["widened_ms"] - max(0.3 * step, plain["widened_ms"])) < 1e-3
                 and wide["saves_ms"]["low"] <= plain["saves_ms"]["low"],
                 "trials of other programs widen the interval", f"{plain} {wide}")
    text = build.run([build.gpuprof, "analyze", profile], GPUPROF_HISTORY=history).stdout
    checks.check("interval widened by" in " ".join(text.split()), "and the report says so", text)


def marks_alone(build, checks):
    """`run --range none`: what reruns record. Every step, and no work of the GPU or call to it."""
    profile = build.path("marks.gpuprof")
    build.run([build.gpuprof, "run", "-q", "--range", "none", "--device", DEVICE, "-o", profile, "--",
               build.train, "--data", "fixed", "--batch", "8", "--steps", str(STEPS)])
    db = sqlite3.connect(profile)
    counts = [db.execute(f"SELECT {what}").fetchone()[0] for what in
              ("sum(steps) FROM step_block", "count(*) FROM kernel", "count(*) FROM copy",
               "count(*) FROM api")]
    db.close()
    checks.check(counts == [STEPS, 0, 0, 0], "--range none records all steps and nothing else",
                 str(counts))


def late(build, checks, profile):
    """No rerun begins when the time is over."""
    done = attempt(build, "--json", "--profile", profile, "--max-time", "0.001", "--apply", "little=1",
                   program=stand_in(build, "little=1 1"))
    said = answer(done)
    checks.check((said["verdict"], said["decision"], said["runs_with"], said["measured_pct"], done.returncode) ==
                 ("UNDERPOWERED", "taken back", 0, None, 3), "without time nothing is decided", done.stdout)


def disobedient(build, checks, profile):
    """A program without GPUPROF_APPLY in its environment."""
    done = attempt(build, "--runs", "2", "--profile", profile, "--apply", "num_workers=4",
                   program=["env", "-u", "GPUPROF_APPLY", *stand_in(build, "")])
    checks.check("did not confirm that it applied num_workers" in done.stdout,
                 "a program that says nothing of the change is named", done.stdout + done.stderr)
    checks.check(done.stdout.startswith("num_workers=4: UNDERPOWERED") and done.returncode == 3
                 and ("fewer than three runs" in done.stdout or "too noisy" in done.stdout),
                 "two runs an arm are too few for a verdict", done.stdout)


def kept(build, checks, profile):
    """All trials are in the profile: those that made it, and those that were predicted by it."""
    db = sqlite3.connect(profile)
    rows = db.execute("SELECT k.text, v.text, runs_without, runs_with, step_ns, predicted_mid_ns, "
                      "measured_low_ns, measured_mid_ns, measured_high_ns, tried_realtime_ns "
                      "FROM trial t JOIN string k ON k.id = t.setting "
                      "JOIN string v ON v.id = t.verdict ORDER BY t.id").fetchall()
    db.close()
    said = json.loads(build.run([build.gpuprof, "analyze", "--json", profile]).stdout)
    trials = said["trials"]
    checks.check([t["setting"] for t in trials] == [row[0] for row in reversed(rows)]
                 and trials[0]["measured_ms"]["mid"] == round(rows[-1][7] / 1e6, 6),
                 "analyze --json lists them, the newest first", str(trials))
    checks.check({row[0] for row in rows} == {"pin_memory=1", "channels_last=1", "little=1",
                                              "num_workers=4", rows[3][0]} and ";" in rows[3][0],
                 "each trial is a row", str(rows))
    for setting, verdict, without, done, step, predicted, low, mid, high, when in rows:
        row = str((setting, verdict, without, done, step, predicted, low, mid, high, when))
        checks.check(without == done == (2 if setting == "num_workers=4" else 3) and verdict
                     and (predicted == -1) == (setting in ("little=1", "num_workers=4"))
                     and low <= mid <= high < step and abs(when / 1e9 - time.time()) < 600,
                     f"{setting}: its runs, prediction, measurement and date", row)


def asked_for(build, checks):
    """Lower precision is advised, and tried on request alone."""
    profile, _ = build.profile("fp32", "--data", "fixed", "--defect", "fp32", steps=STEPS)
    advised = [f["setting"] for f in build.analyze(profile)["findings"]]
    done = attempt(build, "--profile", profile, "--top", "8", program=["false"])
    checks.check("precision=bf16" in advised and done.returncode == 2
                 and "a run with precision" not in done.stderr
                 and ("--apply precision=bf16" in done.stderr or "a run with" in done.stderr),
                 "what changes the numbers is not tried unasked", f"{advised} {done.stderr}")
    for left in leftovers(build):
        shutil.rmtree(build.path(left))


def failing(build, checks, profile):
    done = attempt(build, "--apply", "num_workers=4", program=["false"])
    checks.check(done.returncode == 2 and "status 1" in done.stderr,
                 "a first run that fails is told with its status", done.stderr)
    done = attempt(build, "--profile", profile, "--runs", "2", "--apply", "nonsense=1",
                   program=[build.train, "--steps", "2"])
    checks.check(done.returncode == 2 and "status 2" in done.stderr and "nonsense" in done.stderr,
                 "a rerun that fails is told with its status and last words", done.stderr)
    left = leftovers(build)
    checks.check(len(left) == 1 and os.listdir(build.path(left[0])) == ["with.log"],
                 "its output is kept, and nothing else", str(left))
    os.remove(build.path(os.path.join(left[0], "with.log")))
    os.rmdir(build.path(left[0]))
    for options in (["--runs", "1"], ["--apply", "x"], ["--apply", "a=1;x"], ["--top", "9"],
                    ["--top", "2", "--apply", "x=1"], ["--profile", profile, "-o", "y"]):
        done = attempt(build, *options, program=["true"])
        checks.check(done.returncode == 2, f"refused: {' '.join(options[:2])}", done.stderr)


def interrupted(build, checks, profile):
    """Ctrl-C while the third rerun is under way."""
    out = subprocess.Popen([build.gpuprof, "try", "--device", DEVICE, "--runs", "8", "--json",
                            "--profile", profile, "--apply", "num_workers=4", "--",
                            *stand_in(build, "")],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           cwd=build.folder.name, env={**build.env, "TMPDIR": build.folder.name})
    for line in out.stderr:
        if line.startswith("gpuprof: round 2 "):
            break
    time.sleep(0.1)
    out.send_signal(signal.SIGINT)
    text, _ = out.communicate(timeout=60)
    said = json.loads(text)
    said = {**said, **said["tried"][0]}
    checks.check(out.returncode == 130, "interrupted: status 130", str(out.returncode))
    checks.check(said["interrupted"] and said["runs_without"] >= 1 and said["runs_with"] >= 1,
                 "and what was measured until then is reported", text)
    checks.check(leftovers(build) == [], "and nothing is left behind", str(leftovers(build)))


def interrupted_among_several(build, checks, profile):
    """Ctrl-C, to all that is in front, while `--top 2` is at its second round: nothing is confirmed or refuted by halves."""
    for words in (["--json"], []):
        out = subprocess.Popen([build.gpuprof, "try", "--device", DEVICE, "--runs", "8", *words, "--profile", profile, "--top", "2", "--",
                                *stand_in(build, "")],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                               cwd=build.folder.name, env={**build.env, "TMPDIR": build.folder.name})
        for line in out.stderr:
            if line.startswith("gpuprof: round 2 "):
                break
        time.sleep(0.1)
        os.killpg(out.pid, signal.SIGINT)
        text, _ = out.communicate(timeout=60)
        checks.check(out.returncode == 130, "interrupted among several: status 130", str(out.returncode))
        if words:
            said = json.loads(text)
            checks.check(said["interrupted"] and {t["verdict"] for t in said["tried"]} == {"INTERRUPTED"}
                         and all(1 <= t["runs_with"] <= 2 for t in said["tried"]), "and no verdict comes of two runs", text)
        else:
            checks.check("nterrupted" in text and "CONFIRMED" not in text and "REFUTED" not in text, "and the text says so", text)
        checks.check(leftovers(build) == [], "and nothing is left behind", str(leftovers(build)))


PATCH = """\
--- a/{0}
+++ b/{0}
@@ -4,3 +4,3 @@
     agent.gpuprof_agent_range_begin(b'step')
-    time.sleep(s)
+    time.sleep(0.6 * s)
     agent.gpuprof_agent_range_end()
"""


def patched(build, checks, profile):
    """A diff is tried in a copy: the program runs there, and the user's files stay. What it patches is a module beside the program."""
    folder = build.path("project")
    os.makedirs(os.path.join(folder, "sub", "deep"))
    program = "import step\nfor i in range(12):\n    step.run(0.010)\n"
    module = ("import ctypes, time\nagent = ctypes.CDLL(None)\ndef run(s):\n    agent.gpuprof_agent_range_begin(b'step')\n    time.sleep(s)\n"
              "    agent.gpuprof_agent_range_end()\n")
    for name, text in (("sub/deep/train.py", program), ("sub/deep/step.py", module), ("good.patch", PATCH.format("sub/deep/step.py")),
                       ("other.patch", PATCH.format("sub/deep/train.py")), ("out.patch", PATCH.format("../step.py")),
                       ("none.patch", "no diff\n")):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    before = sorted(os.walk(folder))

    def patch(name, *options, path="sub/deep/train.py"):
        return build.run(["env", "-C", folder, build.gpuprof, "try", "--json", "--device", DEVICE, "--profile", profile, "--runs", "3",
                          "--patch", name, *options, "--", sys.executable, "-B", path], TMPDIR=build.folder.name)

    for _ in range(ATTEMPTS):
        done = patch("good.patch", "-f", "--record", build.path("why.md"))
        said = answer(done)
        if said["verdict"] == "MEASURED" and abs(said["measured_pct"]["mid"] - 40) < 8:
            break
    checks.check(said["verdict"] == "MEASURED" and abs(said["measured_pct"]["mid"] - 40) < 8 and done.returncode == 0,
                 "a patch is measured", done.stdout + done.stderr)
    checks.check((said["apply"], said["patch"], said["predicted_pct"]) == (None, "good.patch", None), "and named", done.stdout)
    checks.check((said["decision"], said["diff"]) == ("kept", PATCH.format("sub/deep/step.py")), "it is kept, says JSON", done.stdout)
    with open(build.path("why.md"), encoding="utf-8") as f:
        record = f.read()
    checks.check("## gpuprof try: 1 of 1 change kept" in record and "It is kept, because it saves time; the losses were not compared (MEASURED: " in record
                 and "```diff\n" + said["diff"] + "```\n" in record, "and the record, with the diff", record)
    checks.check(sorted(os.walk(folder)) == before and leftovers(build) == [], "nothing is left behind", str(sorted(os.walk(folder))))
    with open(os.path.join(folder, "sub", "deep", "step.py"), encoding="utf-8") as f:
        checks.check(f.read() == module, "the user's file stays")
    for name, options, path, why in (("other.patch", (), "sub/deep/train.py", "does not fit the files here"),
                                     ("out.patch", (), "sub/deep/train.py", "is no unified diff"),
                                     ("none.patch", (), "sub/deep/train.py", "is no unified diff"),
                                     ("good.patch", (), os.path.join(folder, "sub/deep/train.py"), "as a path from here"),
                                     ("good.patch", ("--apply", "pin_memory=1"), "sub/deep/train.py", "only one of --apply"),
                                     ("good.patch", ("--until", "2"), "sub/deep/train.py", "--until needs --fix FILE"),
                                     ("good.patch", ("--record", "x.json"), "sub/deep/train.py", "format markdown is no json file")):
        done = patch(name, *options, path=path)
        checks.check(done.returncode == 2 and why in done.stderr and leftovers(build) == [], f"refused: {why}", done.stderr)


def unfixed(build, checks, profile):
    """Of a program in C nothing can be changed."""
    diff = build.path("faster.patch")
    done = build.run([build.gpuprof, "try", "--profile", profile, "--fix", diff, "--", "true"], TMPDIR=build.folder.name)
    checks.check(done.returncode == 2 and "there is no advice that gpuprof can put into the files here" in done.stderr and
                 not os.path.exists(diff) and leftovers(build) == [], "a program without Python files cannot be fixed", done.stderr)


def main():
    build, checks = Build(sys.argv[1]), Checks()
    profile, predicted = confirmed(build, checks)
    claims = build.path("claims.gpuprof")
    with open(profile, "rb") as f, open(claims, "wb") as to:
        to.write(f.read())  # a false claim teaches: of this copy alone
    refuted(build, checks, claims)
    unfixed(build, checks, claims)
    patched(build, checks, claims)  # what is tried is written into a profile
    several(build, checks, profile, predicted)
    learned(build, checks, profile)
    underpowered(build, checks, profile)
    late(build, checks, claims)
    disobedient(build, checks, profile)
    kept(build, checks, profile)
    marks_alone(build, checks)
    first_run(build, checks)
    asked_for(build, checks)
    failing(build, checks, profile)
    interrupted(build, checks, profile)
    interrupted_among_several(build, checks, profile)
    checks.done()


main()
