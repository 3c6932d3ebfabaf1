"""The agent on each trainer at two sizes: what it costs, what it loses, what it learnt about CUPTI."""
from box import PAUSES

TITLE = "the agent alone: steps with and without recording in one process, losses of records, clocks, callback ids"
ORDER, LIMIT_S = 10, 160

FAST = ["--depth", "18", "--batch", "16", "--image", "96", "--data", "fixed"]
SIZES = { # steps of a block: 0.4 s
    "train_conv": {
        "small": (100, FAST),
        "slow-host": (32, [*FAST, "--host-overhead-us", "60"]),
        "middle": (20, ["--depth", "50", "--batch", "64", "--data", "fixed"]),
    },
    "train_gpt": {"small": (70, ["--layers", "2"]), "middle": (26, [])},
}
BLOCKS, REHEARSED = 9, 3
ALONE = {"kernels": "10", "kernels and calls": "10,5,4", "all that gpuprof asks for": "10,1,22,2,5,4,38,36,17,48"} # CUPTI_ACTIVITY_KIND
BARE = ["env", "-u", "LD_PRELOAD"] # CUDA loads the agent all the same, but no call of a library goes through it


def run(box):
    ran = 0
    for trainer, sizes in SIZES.items():
        try:
            program = box.program(trainer)
        except Exception as why:  # noqa: BLE001 a trainer that was not built must not stop the others
            box.row(trainer, f"not run: {why}")
            continue
        for size, (block, options) in sizes.items():
            if not box.chosen([f"{trainer}-{size}"]):
                continue
            one_size(box, f"{trainer} {size}", [program, *options], block)
            ran += 1
    box.row("program sizes measured", ran, "", "at least 3", ran >= 3 or bool(box.parts))


def one_size(box, name, program, block):
    """Blocks of steps in turn with and without recording: other processes would choose other algorithms."""
    blocks = [*program, "--steps", str((REHEARSED if box.virtual else BLOCKS) * block), "--profile-every", str(block)]
    _, done = box.profile("agent-blocks", blocks, options=["--range", "cuda-profiler"], **PAUSES)
    _, bare = box.profile("agent-bare", [*BARE, *blocks], options=["--range", "cuda-profiler"], **PAUSES)
    plain = done.number("unrecorded_step_ms")
    profile, whole = box.profile("agent-" + name.replace(" ", "-"), [*program, "--steps", "40"])
    launches = box.one(profile, "SELECT count(*) FROM kernel") / float(box.analyze(profile)["steps"]["count"] or 1)
    limit = 0.5 if name.endswith("middle") else 2 # the others wait for launches
    cost = done.number("recorded_pct")
    box.row(f"{name}: step without recording", plain, "ms")
    box.row(f"{name}: cost of recording ({launches / plain * 1e3:.0f} launches/s)", cost, "% of a step", f"<= {limit} %", cost <= limit)
    box.row(f"{name}: ... per launch", cost / 100 * plain * 1e3 / launches if launches else 0, "us")
    box.row(f"{name}: ... least and most of the blocks", f"{done.number('recorded_least_pct'):.2f} to {done.number('recorded_most_pct'):.2f}", "%")
    box.row(f"{name}: ... by gpuprof without its hooks in cuBLAS and cuDNN", bare.number("recorded_pct"), "% of a step")
    if name in ("train_conv small", "train_conv middle"):
        alone(box, name, blocks)
    box.row(f"{name}: turning CUPTI on, once", done.number("switch_on_ms"), "ms")
    box.row(f"{name}: turning CUPTI off, once", done.number("switch_off_ms"), "ms")
    health(box, name, profile, whole.number("median_step_ms"))


def alone(box, name, blocks):
    """The same blocks with CUPTI and nothing of gpuprof's: what its kinds cost in this program."""
    library = box.program("libgpu_cupti_alone.so")
    for what, kinds in ALONE.items():
        done = box.plain(blocks, CUDA_INJECTION64_PATH=library, CUPTI_ALONE=kinds)
        box.row(f"{name}: CUPTI without gpuprof, {what}", done.number("recorded_pct"), "% of a step")


def health(box, name, profile, printed_ms):
    report = box.analyze(profile)
    dropped = report["health"]["dropped"]
    box.row(f"{name}: records dropped", dropped, "records", "0", dropped == 0)
    ours = report["steps"]["median_ms"] or 0
    box.row(f"{name}: step in the profile against the program's own", 100 * (ours / printed_ms - 1), "%", "within 2 %",
            abs(ours / printed_ms - 1) <= 0.02)
    late = box.one(profile, "SELECT count(*) FROM kernel k JOIN api a ON a.process = k.process AND a.correlation = k.correlation "
                            "WHERE k.start_ns < a.start_ns")
    box.row(f"{name}: kernels that start before their launch (clock error)", late, "rows", "0", late == 0)
    for severity, code, text, value in box.ask(profile, "SELECT severity, code, text, value FROM health_note"):
        box.row(f"{name}: health {severity} {code}", value if value is not None else "", text[:80])
    calls = box.ask(profile, "SELECT name, calls FROM api_time")
    box.keep(f"agent-{name.replace(' ', '-')}-calls.tsv", "".join(f"{n}\t{c}\n" for n, c in calls))
