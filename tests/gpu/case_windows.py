"""What a run costs that records a few steps out of many: the steps of one process, recorded and not, beside each other.

CUPTI is off between the windows (GPUPROF_CUPTI_PAUSES=1: see case_pauses.py), so the steps there serve as the measure. A cycle is what lies between the begins of two
windows; its cost holds what turning CUPTI on and off takes. The agent's own cost between the windows cannot be seen here
(case_armed.py)."""
import os
import statistics

from box import PAUSES

TITLE = "recording some steps out of many: the cost of the recorded ones, and of the whole run"
ORDER, LIMIT_S = 42, 170
AWAKE_S = 0.25 # CUPTI may be on for so long behind a window, and for EARLY steps before the next
EARLY = 5
SMALL = ["train_conv", "--depth", "18", "--batch", "16", "--image", "96", "--data", "fixed"]
# name: program, its steps, of how many how many are recorded, aim in % of the run's time
WAYS = {
    "conv-small": (SMALL, 6000, 1000, 20, 2),
    "conv-small-busy-host": ([*SMALL, "--host-overhead-us", "60"], 2000, 300, 20, 2),
    "conv-50": (["train_conv", "--depth", "50", "--batch", "64", "--data", "fixed"], 1000, 200, 10, 0.5),
    "gpt": (["train_gpt"], 1600, 200, 10, 0.5),
    "torch": (["torch_resnet.py", "--mode", "amp", "--channels-last"], 800, 200, 10, 0.5),
}


def run(box):
    for name in box.chosen(WAYS):
        program, steps, every, window, aim = WAYS[name]
        if box.virtual:
            steps = 3 * every
        if program[0].endswith(".py"):
            program = [box.python()[0], os.path.join(box.source, "tests", "gpu", program[0]), *program[1:]]
        else:
            program = [box.program(program[0]), *program[1:]]
        profile, _ = box.profile("windows-" + name, [*program, "--steps", str(steps)], 60,
                                 options=["--every", str(every), "--window", str(window)], **PAUSES)
        judge(box, f"{name}, {window} of {every} steps", profile, aim)
        os.remove(profile)


def judge(box, name, profile, aim):
    found = cycles(box.ask(profile, "SELECT start_ns, end_ns, gpu_end_ns FROM recorded ORDER BY id"),
                   box.ask(profile, "SELECT start_ns, end_ns, steps FROM step_block ORDER BY start_ns"))
    box.row(f"{name}: cycles measured", len(found), "", "at least 1", bool(found))
    if not found:
        return
    box.row(f"{name}: step without recording", statistics.median(c["off"] for c in found), "ms")
    spread(box, f"{name}: recorded steps take more", [100 * (c["on"] / c["off"] - 1) for c in found])
    spread(box, f"{name}: the run takes more", [100 * (c["all"] / c["off"] - 1) for c in found], aim)
    dropped = box.analyze(profile)["health"]["dropped"]
    box.row(f"{name}: records dropped", dropped, "records", "0", dropped == 0)


def spread(box, what, percent, aim=None):
    middle = statistics.median(percent)
    box.row(f"{what} ({min(percent):.1f} to {max(percent):.1f})", middle, "%", f"<= {aim} %" if aim else "", middle <= aim if aim else None)


def cycles(windows, blocks):
    """Of each cycle but the first, which holds the warm-up: ms per step of all its steps, of the recorded ones, of those that nothing records."""
    found = []
    for (start, end, gpu_end), (following, _, _) in zip(windows[1:], windows[2:]):
        step_ns = mean(blocks, start, following)
        kinds = {"all": step_ns, "on": mean(blocks, start, end),
                 "off": mean(blocks, gpu_end + AWAKE_S * 1e9, following - EARLY * step_ns if step_ns else following)}
        if all(kinds.values()):
            found.append({kind: ns / 1e6 for kind, ns in kinds.items()})
    return found


def mean(blocks, from_ns, to_ns):
    """ns per step of the blocks within; None if there is none."""
    inside = [(end - start, steps) for start, end, steps in blocks if start >= from_ns and end <= to_ns]
    steps = sum(n for _, n in inside)
    return sum(ns for ns, _ in inside) / steps if steps else None
