"""Programs that were not chosen by hand: a trainer, a size and a handful of habits, drawn at random.

The planted cases of truth.py have one or two faults each, and the engine was developed with them in view. A drawn
program has any number of faults, in sizes that no case has. So it tests bounds and intervals where they were not
tuned. The same seed draws the same programs.
"""
import random

# habit -> choices; the first one is the trainer's default and is drawn half of the time. Periods divide four steps: the
# trainers measure their pace over four (reference_workloads/common/clock.h).
PICTURES = {
    "depth": ["50", "18", "34", "101"],
    "batch": ["64", "4", "8", "16", "32", "96"],
    "image": ["224", "64", "128", "160"],
    "data": ["jpeg", "fixed"],
    "input": ["bytes", "float"],
    "num-workers": ["2", "0", "1"],
    "pin-memory": ["1", "0"],
    "non-blocking": ["1", "0"],
    "channels-last": ["1", "0"],
    "cudnn": ["find", "heuristic"],
    "conv-bias": ["0", "1"],
    "fuse-pointwise": ["1", "0"],
    "optimizer": ["fused", "loop", "foreach"],
    "zero-grad": ["none", "memset"],
    "sync-every": ["0", "1", "4"],
    "log-work-us": ["0", "500", "3000"],
    "host-overhead-us": ["0", "5", "15"],
    "host-work-us": ["0", "2000"],
    "small-copies": ["0", "100"],
    "alloc-per-step": ["0", "4"],
    "extra-copy": ["0", "6"],
    "check-nan": ["0", "1"],
}
TEXT = {
    "layers": ["12", "4", "8"],
    "heads": ["12", "6"],
    "context": ["1024", "256", "512"],
    "batch": ["4", "1", "8"],
    "pad-vocab": ["1", "0"],
    "fuse-pointwise": ["1", "0"],
    "clip": ["fused", "none", "per_tensor", "sync"],
    "optimizer": ["fused", "loop", "foreach"],
    "checkpoint": ["0", "1"],
    "alloc-per-step": ["0", "1"],
    "clones": ["0", "2"],
    "sync-every": ["0", "1", "4"],
    "log-work-us": ["0", "500", "3000"],
    "host-overhead-us": ["0", "5", "15"],
}
HABITS = {"train_conv": PICTURES, "train_amp": PICTURES, "train_gpt": TEXT}
# Types of matrix arithmetic that each trainer supports and each GPU has.
PRECISIONS = {"train_conv": ["bf16", "fp32", "tf32", "fp16"], "train_amp": ["fp16"],
              "train_gpt": ["bf16", "fp32", "tf32"]}
OLD = {"t4", "v100"} # no bf16, no tf32


def program(rng, trainer, model):
    """Returns the arguments of one drawn program."""
    args = []
    for habit, choices in HABITS[trainer].items():
        value = choices[0] if rng.random() < 0.5 else rng.choice(choices)
        if value != choices[0]:
            args += [f"--{habit}", value]
    types = [p for p in PRECISIONS[trainer] if model not in OLD or p in ("fp16", "fp32")] or ["fp32"]
    return " ".join([*args, "--precision", rng.choice(types)])


def draw(count, seed, trainers, models):
    """Returns `count` rows of (name, trainer, model, arguments)."""
    rng, out = random.Random(seed), []
    for i in range(count):
        trainer, model = rng.choice([t for t in trainers if t in HABITS]), rng.choice(models)
        out.append((f"drawn {seed}-{i + 1}", trainer, model, program(rng, trainer, model)))
    return out
