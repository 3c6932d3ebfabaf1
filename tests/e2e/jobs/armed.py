#!/usr/bin/env python3
"""`gpuprof run --armed` records when somebody asks: by `gpuprof record`, by a signal, by a file. Each request makes a profile while
the program goes on as if nothing happened.

usage: armed.py BUILD
"""
import glob
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import DEVICE, Build, Checks

TRAIN = ["--depth", "18", "--batch", "16", "--data", "fixed"]  # a step of some milliseconds
ANSWER_S = 60


class Run:
    """A trainer under `gpuprof run --armed` that goes on until it is ended."""

    def __init__(self, build, name, *options, steps=100000, device=DEVICE, **variables):
        self.build, self.output = build, build.path(f"{name}.gpuprof")
        self.stdout, self.stderr = build.path(f"{name}.out"), build.path(f"{name}.err")
        with open(self.stdout, "w", encoding="utf-8") as out, open(self.stderr, "w", encoding="utf-8") as err:
            self.process = subprocess.Popen([build.gpuprof, "run", *options, "--device", device, "-o", self.output, "--",
                                             build.train, *TRAIN, "--steps", str(steps)], stdout=out, stderr=err, env={**build.env, **variables},
                                            cwd=build.folder.name)
        until(lambda: "step" in self.text(self.stdout))

    @staticmethod
    def text(path):
        with open(path, encoding="utf-8") as f:
            return f.read()

    def program(self):
        """The trainer's own process."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as f:
            for child in f.read().split():
                if os.path.basename(os.readlink(f"/proc/{child}/exe")) == "train_conv":
                    return int(child)
        raise RuntimeError("no trainer")

    def window(self, number):
        return self.output.replace(".gpuprof", f".w{number}.gpuprof")

    def end(self, number=signal.SIGTERM):
        os.kill(self.program(), number)
        return self.process.wait(ANSWER_S)


def until(there, most_s=ANSWER_S):
    end = time.monotonic() + most_s
    while time.monotonic() < end:
        if there():
            return True
        time.sleep(0.05)
    return there()


def ask(build, *arguments):
    return subprocess.Popen([build.gpuprof, "record", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=build.env, cwd="/")


def answer(asked):
    out, err = asked.communicate(timeout=ANSWER_S)
    return asked.returncode, out, err


class Window:
    """What a profile says of its window."""

    def __init__(self, path):
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.meta = dict(db.execute("SELECT k.text, v.text FROM meta JOIN string k ON k.id = key JOIN string v ON v.id = value"))
        self.start, self.end, self.gpu_end = db.execute("SELECT start_ns, end_ns, gpu_end_ns FROM recorded").fetchone()
        self.steps = db.execute("SELECT count(*) FROM range JOIN string s ON s.id = name WHERE s.text = 'step'").fetchone()[0]
        self.numbers = db.execute("SELECT count(DISTINCT correlation) FROM api").fetchone()[0]
        self.calls = db.execute("SELECT min(start_ns), max(start_ns), count(*) FROM api").fetchone()
        self.kernels = db.execute("SELECT min(start_ns), max(start_ns), count(*) FROM kernel").fetchone()
        self.run_steps = db.execute("SELECT sum(steps) FROM step_block").fetchone()[0]
        self.findings = db.execute("SELECT count(*) FROM result").fetchone()[0]
        self.health = dict(db.execute("SELECT code, value FROM health_note"))
        db.close()

    def alone(self):
        """Nothing from before or behind it."""
        return (self.calls[2] > 0 and self.kernels[2] > 0 and min(self.calls[0], self.kernels[0]) >= self.start
                and self.calls[1] <= self.end and self.kernels[1] <= self.gpu_end)


def refused(checks, what, asked, phrase):
    status, out, err = answer(asked)
    checks.check(status == 2 and not out and len(err.splitlines()) == 1 and phrase in err, what, f"{status} {out!r} {err!r}")


def by_record(build, checks, run):
    """Two at once, from another folder; a third by the number of the program's own process."""
    both = [ask(build, str(run.process.pid)) for _ in range(2)]
    answers = [answer(a) for a in both]
    checks.check(all(status == 0 and not out for status, out, _ in answers), "two requests at once are both answered", str(answers))
    named = sorted(re.search(r"profile: (\S+)", err).group(1) for _, _, err in answers)
    checks.check(named == [run.window(1), run.window(2)], "each names its profile", str(named))
    checks.check(all("Verdict" in err for _, _, err in answers), "each prints what it found", answers[0][2])
    one, two = (Window(run.window(n)) for n in (1, 2))
    checks.check(all(w.alone() for w in (one, two)) and one.end < two.start, "one after the other, and nothing between them",
                 f"{vars(one)} {vars(two)}")
    checks.check(20 <= one.steps <= 60 and one.meta["window.asked"] == "20 steps" and int(one.meta.get("window.first_step", 0)) >= 1
                 and one.run_steps > one.steps, "20 steps, and the number of the first one", str(vars(one)))
    status, _, err = answer(ask(build, "-q", "--seconds", "0.5", str(run.program())))
    three = Window(run.window(3))
    checks.check(status == 0 and not err and three.alone() and abs(three.end - three.start - 5e8) < 1e6,
                 "half a second, asked of the program's process, with no word", f"{status} {err!r} {vars(three)}")
    shown = build.run([build.gpuprof, "analyze", "-v", run.window(3)])
    checks.check("window 3 (0.5 s, from step" in re.sub(r"\s+", " ", shown.stdout), "analyze names the window", shown.stdout[-500:])


def while_it_launches(build, checks):
    """CUPTI loses records where it is turned on while the program launches: that is before the window, so it lacks nothing."""
    run = Run(build, "switched", "--armed", device=f"{DEVICE},switch_loss=20,connect=100,copies_off_crash=1", GPUPROF_CUPTI_PAUSES="1")
    begins = []
    for number in (1, 2, 3, 4):
        status, _, err = answer(ask(build, "-q", "--steps", "20", str(run.process.pid)))
        window = Window(run.window(number))
        lost = {k: v for k, v in window.health.items() if k in ("cupti-dropped", "untimed")}
        checks.check(status == 0 and not lost, f"window {number}: nothing is lost while CUPTI is turned on", f"{err} {window.health}")
        checks.check(window.numbers == window.calls[2] and "cupti-ids" not in window.health, f"window {number}: each call has its number",
                     f"{window.numbers} of {window.calls[2]}")
        late = 2e7 + 2 * (window.end - window.start) / window.steps
        begins.append(window.calls[0] - window.start < late and window.kernels[0] - window.start < late)
    # a busy machine may give the program no core as a window begins, but not each time
    checks.check(any(begins[1:]), "those in the midst of the steps are recorded from their begin", f"{begins}, the last {vars(window)}")
    run.end()


def by_others(build, checks, run):
    long = ask(build, "--seconds", "600", str(run.process.pid))
    time.sleep(1.5)
    long.send_signal(signal.SIGINT)
    status, _, err = answer(long)
    checks.check(status == 0 and Window(run.window(4)).alone(), "Ctrl-C ends a recording, and its profile is written", f"{status} {err}")
    os.kill(run.process.pid, signal.SIGRTMIN + 7)
    checks.check(until(lambda: os.path.exists(run.window(5))), "the signal asks, and does not reach the program")
    status, _, err = answer(ask(build, "--steps", "5", build.folder.name))
    until(lambda: os.path.exists(run.window(6)))
    six = Window(run.window(6))
    checks.check(status == 0 and "w6" in err and six.alone() and six.meta["window.asked"] == "5 steps", "the file asks", f"{status} {err}")


def ended_meanwhile(build, checks, run):
    """It is the program that ends, by a signal of its own; a second request had to wait."""
    first = ask(build, "--seconds", "600", str(run.process.pid))
    time.sleep(1.5)
    second = ask(build, str(run.process.pid))
    time.sleep(0.5)
    status = run.end()
    checks.check(status == -signal.SIGTERM, "the program's own end passes through", str(status))
    status, _, err = answer(first)
    seven = Window(run.window(7))
    checks.check(status == 0 and seven.alone() and seven.meta["ended.signal"] == "15", "what was recorded until its end", f"{status} {err}")
    status, _, err = answer(second)
    checks.check(status == 2 and "the program has ended" in err, "who waits is told", f"{status} {err}")
    said = run.text(run.stderr).splitlines()
    checks.check(len(said) == 8 and all(line.startswith("gpuprof: ") for line in said), "a line for each profile", "\n".join(said))
    left = [p for p in os.listdir(build.folder.name) if p.startswith(".gpuprof-") or p.endswith(".partial")]
    checks.check(not left and not os.path.exists(run.output), "nothing else is left", str(left))


def while_it_begins(build, checks):
    """A request for all runs of a folder that comes before this one has looked for requests: it is newer than the run's folder."""
    path = build.path("gpuprof.record")
    with open(path, "w", encoding="ascii") as f:
        f.write("steps=5\n")
    soon = time.time() + 1
    os.utime(path, (soon, soon))
    run = Run(build, "early", "--armed")
    checks.check(until(lambda: os.path.exists(run.window(1))), "a request that comes while the run begins")
    os.unlink(path)  # the next run would take it, too
    run.end()


def metrics(build, checks):
    """Between the windows Prometheus sees how long the steps take, in a window where their time goes, at the end all steps."""
    path = build.path("armed.prom")

    def values():
        try:
            lines = Run.text(path).splitlines()
        except FileNotFoundError:
            return {}
        return {re.sub(r"[{,](program|job|rank)=\"[^\"]*\"|}", "", name): float(v)
                for name, v in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}

    run = Run(build, "metered", "--armed", "--metrics", path + ",1")
    until(lambda: values().get("gpuprof_steps", 0) > 0)
    first = values()
    checks.check(first["gpuprof_running"] == 1 and 0.001 < first["gpuprof_step_median_seconds"] <= first["gpuprof_step_p95_seconds"] and
                 not any("part_seconds" in k for k in first), "--metrics: the steps' length while nothing is recorded", str(first))
    ask(build, "--steps", "30", str(run.process.pid))
    seen = until(lambda: any("part_seconds" in k for k in values()))
    checks.check(seen, "--metrics: the parts of a step in a window", str(values()))
    until(lambda: not any("part_seconds" in k for k in values()))
    run.end()
    steps = re.findall(r"^step +(\d+) ", run.text(run.stdout), re.M)
    last = values()
    checks.check(last["gpuprof_running"] == 0 and last["gpuprof_steps"] >= int(steps[-1]) - 1 > 0,
                 "--metrics: all steps of the run at its end", f"{last} {steps[-1:]}")
    made = [p for p in os.listdir(build.folder.name) if p.startswith("armed.prom")]
    checks.check(made == ["armed.prom"], "--metrics: one file", str(made))


def main():
    build, checks = Build(sys.argv[1]), Checks()
    refused(checks, "a process that does not exist", ask(build, "2147483000"), "no process")
    refused(checks, "a process that nobody records", ask(build, str(os.getpid())), "is not one that gpuprof run records")
    refused(checks, "a folder without a run", ask(build, build.folder.name), "no gpuprof run records into")
    refused(checks, "a state and a recording", ask(build, "--status", "--steps", "5", "1"), "--status records nothing")
    refused(checks, "two kinds of length", ask(build, "--steps", "5", "--seconds", "5", "1"), "exclude one another")
    run = Run(build, "train", "--armed")
    by_record(build, checks, run)
    by_others(build, checks, run)
    ended_meanwhile(build, checks, run)
    run = Run(build, "whole")
    refused(checks, "a run that records as ever", ask(build, str(run.process.pid)), "--armed")
    run.end()
    checks.check(os.path.exists(run.output), "... and its profile is there")
    quiet = Run(build, "quiet", "--armed", steps=60)
    status = quiet.process.wait(ANSWER_S)
    checks.check(status == 0 and "median_step_ms=" in quiet.text(quiet.stdout) and not glob.glob(build.path("quiet*.gpuprof")),
                 "nobody asks: no profile", f"{status} {quiet.text(quiet.stderr)}")
    while_it_begins(build, checks)
    while_it_launches(build, checks)
    metrics(build, checks)
    done = build.run([build.gpuprof, "run", "--armed", "--every", "10", "--window", "2", "true"])
    checks.check(done.returncode == 2 and "--armed excludes" in done.stderr, "--armed and --every", done.stderr)
    checks.done()


if __name__ == "__main__":
    main()
