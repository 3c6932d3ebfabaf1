"""A run that records only when somebody asks: what it costs until then, and what a request gives.

The agent cannot be taken out of a process, so what it costs is a matter of processes, and on a virtual machine these differ by more
than it costs. So many runs of each kind are made in turn, and the least of them are compared: what disturbs a run makes it longer.
Two runs of a kind that are as good as each other show that the least one is no accident."""
import os
import re

from box import Failed

TITLE = "armed: what waiting costs a launch-bound step, and twenty steps on request"
ORDER, LIMIT_S = 55, 110
OPTIONS = ["--depth", "18", "--batch", "16", "--image", "96", "--data", "fixed"]
RUNS, STEPS, ASKED = 10, 400, 20
AIM_PCT = 0.3


def run(box):
    program = [box.program("train_conv"), *OPTIONS]
    if box.chosen(["request"]):
        on_request(box, program)
    if box.chosen(["waiting"]):
        waiting(box, program)


def waiting(box, program):
    took = {False: [], True: []}
    for i in range(2 if box.virtual else RUNS):
        for armed in (False, True) if i % 2 == 0 else (True, False):
            took[armed].append(step(box, program, armed))
    least = {kind: sorted(ms) for kind, ms in took.items()}
    cost = 100 * (least[True][0] / least[False][0] - 1)
    sure = 100 * max(ms[1] / ms[0] - 1 for ms in least.values())
    decided = not box.virtual and (sure <= AIM_PCT or cost <= 0)
    box.row("armed, nothing recorded: the least of the runs", cost, "% of a step", f"<= {AIM_PCT} %", cost <= AIM_PCT if decided else None)
    box.row("... and how far the second least lies from it", sure, "%")
    for kind, ms in least.items():
        box.row(f"... steps of the runs {'armed' if kind else 'without gpuprof'}", " ".join(f"{v:.3f}" for v in ms), "ms")


def step(box, program, armed):
    program = [*program, "--steps", str(STEPS)]
    if not armed:
        return box.plain(program).number("median_step_ms")
    return box.run([box.gpuprof, "run", "-q", "-f", "--armed", "--device", box.device, "-o", box.path("armed.gpuprof"), "--",
                    *program]).number("median_step_ms")


def on_request(box, program):
    window = box.path("armed.w1.gpuprof")
    if os.path.exists(window):
        os.remove(window)
    child = box.start([box.gpuprof, "run", "-q", "-f", "--armed", "--device", box.device, "-o", box.path("armed.gpuprof"), "--",
                       *program, "--steps", "100000"])
    try:
        while not re.search("^step", line := child.stdout.readline()):
            if not line:
                raise Failed(f"the program ended before its first step: {child.stderr.read()[-500:]}")
        done = box.run([box.gpuprof, "record", "--steps", str(ASKED), str(child.pid)], 60)
    finally:
        box.end(child)
    report = box.analyze(window)
    count = report["steps"]["count"]
    box.row("record --steps 20: steps", count, "steps", "20 to 60", ASKED <= count <= 3 * ASKED)  # short steps go on until the end is seen
    box.row("record --steps 20: took", done.wall_s, "s")
    for severity, code, text, value in box.ask(window, "SELECT severity, code, text, value FROM health_note"):
        box.row(f"record --steps 20: health {severity} {code}", value if value is not None else "", text[:80])
    begin = box.one(window, "SELECT (SELECT min(start_ns) FROM api) - (SELECT min(start_ns) FROM recorded)") / 1e6
    box.row("record --steps 20: the first call behind the window's begin", begin, "ms", "<= 5", begin <= 5 if not box.virtual else None)
    box.row("record --steps 20: records dropped", report["health"]["dropped"], "records", "0", report["health"]["dropped"] == 0)
