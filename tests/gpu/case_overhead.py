"""What a step costs with nothing, with us, and with the PyTorch profiler, in turn on the same steps."""
import os
import statistics

TITLE = "overhead side by side with the PyTorch profiler: CUPTI activities alone, and with CPU activities"
ORDER, LIMIT_S = 40, 200
WAYS = {"ResNet-50, AMP": ["--mode", "amp", "--channels-last", "--batch", "64"],
        "launch-bound ResNet-50, batch 4": ["--mode", "amp", "--channels-last", "--batch", "4"]}


def run(box):
    python, _ = box.python()
    script = os.path.join(box.source, "tests", "gpu", "torch_resnet.py")
    for name in box.chosen(WAYS):
        options = WAYS[name]
        program = [python, script, "--steps", "60", *options]
        ms = {"plain": [], "gpuprof": [], "profiler, GPU only": [], "profiler, GPU and CPU": []}
        for way in ("plain", "gpuprof", *list(ms)[2:], "gpuprof", "plain"):
            ms[way].append(step(box, way, program))
        plain = statistics.median(ms["plain"])
        cost = {way: 100 * (statistics.median(v) / plain - 1) for way, v in ms.items()}
        limit = 0.5 if "batch 4" not in name else 2
        box.row(f"{name}: step", plain, "ms")
        box.row(f"{name}: gpuprof", cost["gpuprof"], "% of a step", f"<= {limit} %", cost["gpuprof"] <= limit)
        for way in list(ms)[2:]:
            box.row(f"{name}: PyTorch {way}", cost[way], "% of a step", "> gpuprof", cost[way] > cost["gpuprof"])


def step(box, way, program):
    if way == "gpuprof":
        return box.profile("overhead", program, 90)[1].number("median_step_ms")
    activities = {"profiler, GPU only": ["--profiler-whole", "cuda"], "profiler, GPU and CPU": ["--profiler-whole", "cuda,cpu"]}
    return box.plain([*program, *activities.get(way, [])], 90).number("median_step_ms")
