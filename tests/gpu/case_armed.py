"""A run that records only when somebody asks: what it costs until then, and what a request gives."""
import os
import re
import statistics

TITLE = "armed: what waiting costs a launch-bound step, and twenty steps on request"
ORDER, LIMIT_S = 55, 100
OPTIONS = ["--depth", "18", "--batch", "16", "--image", "96", "--data", "fixed"]
PAIRS, ASKED = 4, 20


def run(box):
    program = [box.program("train_conv"), *OPTIONS]
    ratios = []
    for i in range(2 if box.virtual else PAIRS):
        took = {}
        for armed in (False, True) if i % 2 == 0 else (True, False):
            took[armed] = step(box, program, armed)
        ratios.append(took[True] / took[False])
    cost = 100 * (statistics.median(ratios) - 1)
    box.row("armed, nothing recorded", cost, "% of a step", "<= 0.3 %", cost <= 0.3 if not box.virtual else None)
    on_request(box, program)


def step(box, program, armed):
    program = [*program, "--steps", "200"]
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
        while not re.search("^step", child.stdout.readline()):
            pass
        done = box.run([box.gpuprof, "record", "--steps", str(ASKED), str(child.pid)], 60)
    finally:
        box.end(child)
    report = box.analyze(window)
    count = report["steps"]["count"]
    box.row("record --steps 20: steps", count, "steps", "20 to 60", ASKED <= count <= 3 * ASKED)  # short steps go on until the end is seen
    box.row("record --steps 20: took", done.wall_s, "s")
    box.row("record --steps 20: records dropped", report["health"]["dropped"], "records", "0", report["health"]["dropped"] == 0)
