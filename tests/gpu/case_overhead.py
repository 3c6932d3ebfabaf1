"""What a step costs with nothing, with us, and with the PyTorch profiler, in turn on the same steps."""
import os

from box import PAUSES

TITLE = "overhead side by side with the PyTorch profiler: CUPTI activities alone, and with CPU activities"
ORDER, LIMIT_S = 40, 170
WAYS = {"ResNet-50, AMP, batch 64": 64, "launch-bound ResNet-50, batch 4": 4}
ROUNDS = ["--rounds", "10", "--steps-of-block", "12"]


def run(box):
    python, _ = box.python()
    script = os.path.join(box.source, "tests", "gpu", "torch_overhead.py")
    program = [python, "-W", "ignore", script, "--batch", ",".join(str(n) for n in WAYS.values()), *ROUNDS]
    theirs = box.plain([*program, "off", "kineto-gpu", "kineto-all"], 90)
    _, ours = box.profile("overhead", [*program, "off", "range"], 90, options=["--range", "cuda-profiler"], **PAUSES)
    box.keep("overhead.txt", theirs.stdout + ours.stdout)
    for name, batch in WAYS.items():
        judge(box, name, batch, theirs, ours)


def judge(box, name, batch, theirs, ours):
    """Per cent of the step without a profiler, of the same process, by the clock and in the launching thread's CPU time."""
    def cost(done, way, of):
        return done.number(f"{way}_{batch}_{of}_pct")

    limit = 2 if batch == 4 else 0.5
    box.row(f"{name}: step", theirs.number(f"off_{batch}_step_ms"), "ms")
    box.row(f"{name}: step under gpuprof between the windows", ours.number(f"off_{batch}_step_ms"), "ms")
    mine = {of: cost(ours, "range", of) for of in ("step", "host")}
    box.row(f"{name}: gpuprof", mine["step"], "% of a step", f"<= {limit} %", mine["step"] <= limit)
    box.row(f"{name}: gpuprof, CPU time of the launching thread", mine["host"], "% more")
    for way in ("kineto-gpu", "kineto-all"):
        box.row(f"{name}: {way}", cost(theirs, way, "step"), "% of a step", "> gpuprof", cost(theirs, way, "step") > mine["step"])
        box.row(f"{name}: {way}, CPU time of the launching thread", cost(theirs, way, "host"), "% more")
