"""The agent on each trainer at three sizes: what it costs, what it loses, what it learnt about CUPTI."""
import statistics

TITLE = "the agent alone: step times with and without, losses of records, clocks, callback ids"
ORDER, LIMIT_S = 10, 110

SIZES = {
    "train_conv": {
        "small": ["--depth", "18", "--batch", "16", "--image", "96", "--steps", "120", "--data", "fixed"],
        "middle": ["--depth", "50", "--batch", "64", "--steps", "40", "--data", "fixed"],
    },
    "train_gpt": {"small": ["--steps", "120", "--layers", "2"], "middle": ["--steps", "40"]},
    "train_amp": {"middle": ["--steps", "60", "--data", "fixed"]},
}
PAIRS = 2


def run(box):
    ran = 0
    for trainer, sizes in SIZES.items():
        try:
            program = box.program(trainer)
        except Exception as why:  # noqa: BLE001 a trainer that was not built must not stop the others
            box.row(trainer, f"not run: {why}")
            continue
        for size, options in sizes.items():
            if not box.chosen([f"{trainer}-{size}"]):
                continue
            one_size(box, f"{trainer} {size}", [program, *options])
            ran += 1
    box.row("program sizes measured", ran, "", "at least 3", ran >= 3)


def one_size(box, name, program):
    """Interleaved pairs; the ratio of medians is what recording costs a step."""
    plain, recorded, profile = [], [], None
    for i in range(PAIRS):
        for record in ((False, True) if i % 2 == 0 else (True, False)):
            if record:
                profile, done = box.profile("agent-" + name.replace(" ", "-"), program)
                recorded.append(done.number("median_step_ms"))
            else:
                plain.append(box.plain(program).number("median_step_ms"))
    cost = 100 * (statistics.median(b / a for a, b in zip(plain, recorded)) - 1)
    launches = box.one(profile, "SELECT count(*) FROM kernel") / (len(recorded) and float(box.analyze(profile)["steps"]["count"] or 1))
    rate = launches / statistics.median(plain) * 1e3
    limit = 2 if name.endswith("small") else 0.5 # the small ones wait for launches, the others for the GPU
    box.row(f"{name}: step without gpuprof", statistics.median(plain), "ms")
    box.row(f"{name}: cost of recording ({rate:.0f} launches/s)", cost, "% of a step", f"<= {limit} %", cost <= limit)
    health(box, name, profile, statistics.median(recorded))


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
