"""ResNet-50 in PyTorch, the ways people run it: the same losses with and without gpuprof, and findings that fit."""
import concurrent.futures
import os
import re

TITLE = "PyTorch ResNet-50: eager FP32, TF32, AMP, compiled, graphs, loaders, .item(), profiler inside, torchrun"
ORDER, LIMIT_S = 20, 240

# name: options of torch_resnet.py, rules of which one must be among the first two findings, rules that must not appear
CASES = {
    "eager-fp32": (["--mode", "eager"], {"tensor-cores"}, set()),
    "amp-channels-last": (["--mode", "amp", "--channels-last"], set(), {"tensor-cores", "channels-last"}),
    "tf32": (["--mode", "eager", "--tf32"], set(), set()),
    "workers-0": (["--mode", "amp", "--channels-last", "--workers", "0", "--decode"], {"num-workers"}, set()),
    "item-each-step": (["--mode", "amp", "--channels-last", "--batch", "8", "--item-every", "1"], {"sync-in-loop", "cuda-graphs"}, set()),
    "pageable": (["--mode", "amp", "--channels-last", "--workers", "8", "--pin", "0"], {"pin-memory", "overlap-copies", "num-workers"}, set()),
    "graphs": (["--mode", "graphs"], set(), {"cuda-graphs"}),
    "compiled": (["--mode", "compile"], set(), set()),
    "profiler-inside": (["--mode", "amp", "--channels-last", "--profiler"], set(), set()),
}
AT_ONCE = 6 # where only losses and counts are asked for: parts that are named run side by side, and their times say little


def run(box):
    python, version = box.python()
    script = os.path.join(box.source, "tests", "gpu", "torch_resnet.py")
    if not os.path.exists(script):
        raise RuntimeError("torch_resnet.py is not there")
    box.row("PyTorch", version)
    programs = {name: [python, script, "--deterministic", "--steps", "24", *CASES[name][0]] for name in box.chosen(CASES)}
    plain = without_gpuprof(box, programs)

    def tried(name):
        try:
            one(box, name, programs[name], plain[name], *CASES[name][1:])
        except Exception as why:  # noqa: BLE001 one way of running must not stop the others
            box.row(f"{name}: not run", str(why)[-200:], "", "runs", False)

    with concurrent.futures.ThreadPoolExecutor(1 if box.virtual or not box.parts else AT_ONCE) as pool:
        list(pool.map(tried, programs))
    if box.chosen(["torchrun"]):
        torchrun(box, python, script)


def losses(done):
    return re.findall(r"^loss=(.*)$", done.stdout, re.M)


def without_gpuprof(box, programs):
    """Some at once, as only their losses are asked for: name -> losses, or None where the program failed."""
    def run_one(program):
        try:
            return losses(box.plain(program, 100))
        except Exception:  # noqa: BLE001 the row of this program will say that nothing could be compared
            return None

    with concurrent.futures.ThreadPoolExecutor(1 if box.virtual else AT_ONCE) as pool:
        return dict(zip(programs, pool.map(run_one, programs.values())))


def one(box, name, program, plain, wanted, unwanted):
    profile, recorded = box.profile("pytorch-" + name, program, 90)
    same = losses(recorded) == plain and bool(plain)
    if not same and plain and losses(box.plain(program, 100)) != plain:
        box.row(f"{name}: losses of two runs without gpuprof differ, too", len(plain), "steps")
    else:
        box.row(f"{name}: losses with and without gpuprof", len(losses(recorded)), "steps", "bit-equal", same)
    report = box.analyze(profile)
    box.row(f"{name}: step", report["steps"]["median_ms"], "ms")
    most = 27 if name == "graphs" else 24 # three warm-up steps before the capture
    box.row(f"{name}: steps found", report["steps"]["count"], "steps", f"23 to {most}", 23 <= report["steps"]["count"] <= most)
    box.row(f"{name}: records dropped", report["health"]["dropped"], "records", "0", report["health"]["dropped"] == 0)
    rules = [f["rule"] for f in report["findings"]]
    box.row(f"{name}: findings", ", ".join(rules[:4]) or "none", "", " or ".join(sorted(wanted)),
            bool(wanted & set(rules[:2])) if wanted else None)
    if unwanted & set(rules):
        box.row(f"{name}: advised though already so", ", ".join(unwanted & set(rules)), "", "never", False)
    box.keep(f"pytorch-{name}.txt", box.run([box.gpuprof, "analyze", "--color", "never", profile]).stdout)


def torchrun(box, python, script):
    program = [python, "-m", "torch.distributed.run", "--nproc-per-node", "1", "--standalone", script, "--deterministic", "--steps", "24",
               "--mode", "amp", "--channels-last"]
    profile, _ = box.profile("pytorch-torchrun", program, 90)
    ranks = box.one(profile, "SELECT count(*) FROM process WHERE rank >= 0")
    box.row("torchrun: processes with a rank", ranks, "processes", "1", ranks == 1)
