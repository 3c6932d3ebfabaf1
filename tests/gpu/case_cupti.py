"""What CUPTI costs by itself, and how our agent gets on with it here."""
import re

TITLE = "CUPTI's own cost per launch and graph node, ids it emits, long graph runs, library ranges"
ORDER, LIMIT_S = 70, 150


def run(box):
    if box.chosen(["cost"]):
        cost(box)
    if box.chosen(["launch"]):
        launch(box)
    if box.chosen(["ranges"]):
        library_ranges(box)


def cost(box):
    found = box.figures(box.plain([box.program("gpu_cupti_cost"), "1" if box.virtual else "2"], 60))
    for what, most in (("untimed", 0), ("dropped", 0)):
        for name in [n for n in found if re.match(f"long_graph_{what}_", n)]:
            box.row(f"{name} of millions", found[name], "records", f"{most}", found[name] <= most)


def launch(box):
    for how in ("none", "threads", "pinned", "device"):
        box.figures(box.plain([box.program("gpu_cupti_launch"), how], 30), f"{how}: ")


def library_ranges(box):
    """The libraries' own NVTX ranges (CUBLAS_NVTX_LEVEL, CUDNN_NVTX_LEVEL): what they add to a step."""
    trainer = [box.program("train_conv"), "--steps", "40", "--depth", "18", "--batch", "32"]
    steps = {}
    for level in (0, 1, 1, 0):
        _, done = box.profile(f"cupti-level{level}", trainer, 60, CUBLAS_NVTX_LEVEL=str(level), CUDNN_NVTX_LEVEL=str(level))
        steps.setdefault(level, []).append(done.number("median_step_ms"))
    for level, ms in steps.items():
        box.row(f"train_conv under gpuprof, library ranges at level {level}", min(ms), "ms per step")
