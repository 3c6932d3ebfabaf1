#!/usr/bin/env python3
"""The exported trace in HTA and TraceLens: as many steps and kernels as gpuprof counts, and the GPU busy for the same
share of the time within 0.2 points. TraceLens also counts the arithmetic of products, convolutions and attention from the
sizes in PyTorch's traces: the same within 5 %, but for what ARITHMETIC explains.
Usage: peers.py GPUPROF SOURCES FOLDER [docs/accuracy/tracelens.tsv, to write]. The packages are looked for by the Python in GPUPROF_PEERS_PYTHON, else by this
one: `pip install HolisticTraceAnalysis 'pandas<3'`; TraceLens from its repository, AMD-AGI/TraceLens (the package index
has another project of that name). Exit 77 (skipped) where neither is there."""
import gzip
import json
import os
import subprocess
import sys
import tempfile

TRACES = ("resnet50-v100-workers0.json.gz", "linear-2080ti.json.gz", "ddp-compile-v100x2-rank1.json.gz")
POINTS = 0.2
PERCENT = 5
ARITHMETIC = {  # with why they differ, where they do
    "llama-tp-rtx4090x2.json.gz": "", "switch-moe-a100.json.gz": "", "owlv2-h100.json.gz": "", "part-a100-forward-bs512.json.gz": "",
    "pairs/timesformer-one-rtx3080.json.gz": "", "pairs/vit-one-t4.json.gz": "", "pairs/eager-rtx5080.json.gz": "",
    "dlrm-v100x8/rank0.json.gz": "", "resnet-checkpoint-mi300x8-rank0.json.gz": "",
    "pairs/compiled-rtx3060.json.gz": "TraceLens does not count the backward pass of attention",
    "pairs/cnn-b50-rtx3080.json.gz": "TraceLens counts the gradient of the pictures, which no kernel computes"}

HTA = """
import sys
from hta.trace_analysis import TraceAnalysis
a = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="", include_last_profiler_step=True)
names, events = a.t.symbol_table.get_sym_table(), a.t.get_trace(0)
idle = a.get_temporal_breakdown(visualize=False)["idle_time_pctg"][0]
result = {"steps": len({names[i] for i in events["name"] if names[i].startswith("ProfilerStep#")}),
          "kernels": sum(names[i] == "kernel" for i in events["cat"]), "busy": 100 - float(idle)}
"""
TRACELENS = """
import sys
from TraceLens import TreePerfAnalyzer
a = TreePerfAnalyzer.from_file(sys.argv[1])
times = a.get_df_gpu_timeline().set_index("type")["percent"]
result = {"steps": len({e["name"] for e in a.tree.events if e.get("name", "").startswith("ProfilerStep#")}),
          "kernels": sum(e.get("cat") == "kernel" for e in a.tree.events), "busy": float(times["busy_time"])}
"""
SIZES = """
import sys
from TraceLens import TreePerfAnalyzer
a = TreePerfAnalyzer.from_file(sys.argv[1])
df = a.build_df_unified_perf_table()
steps = len({e["name"] for e in a.tree.events if e.get("name", "").startswith("ProfilerStep#")})
df = df[df["op category"].str.startswith(("GEMM", "CONV", "SDPA")) & df["GFLOPS"].notna()]
result = {"tflop": float(df["GFLOPS"].sum()) / 1e3 / max(steps, 1)}
"""
PEERS = {"HTA": ("from hta.trace_analysis import TraceAnalysis", HTA),
         "TraceLens": ("from TraceLens import TreePerfAnalyzer", TRACELENS)}


def python(code, *args, python=os.environ.get("GPUPROF_PEERS_PYTHON", sys.executable)):
    # HTA else rounds to whole microseconds, which makes short kernels vanish.
    environment = dict(os.environ, HTA_DISABLE_NS_ROUNDING="1", PYTHONWARNINGS="ignore")
    return subprocess.run([python, "-c", code, *args], capture_output=True, text=True, timeout=300, env=environment)


def counts(peer, trace, code=None):
    done = python((code or PEERS[peer][1]) + "\nimport json\nprint('RESULT' + json.dumps(result))", trace)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    if not lines:
        raise RuntimeError(f"{peer} cannot read {trace}: {done.stderr.strip()[-300:]}")
    return json.loads(lines[0][len("RESULT"):])


def behind_last_step(trace):
    """Kernels that no call up to the end of the last step launched: HTA passes over them."""
    with open(trace, encoding="utf-8") as f:
        events = [e for e in json.load(f)["traceEvents"] if e["ph"] == "X"]
    last = max((e["ts"] + e["dur"] for e in events if e["name"].startswith("ProfilerStep#")), default=float("inf"))
    launched = {e["args"].get("correlation") for e in events if e["cat"].startswith("cuda_") and e["ts"] <= last}
    return sum(e["cat"] == "kernel" and e["args"]["correlation"] not in launched for e in events)


def check(gpuprof, source, trace, peers):
    """Yields what is wrong."""
    subprocess.run([gpuprof, "export", "--quiet", "-f", source, "-o", trace], check=True)
    ours = json.loads(subprocess.run([gpuprof, "analyze", "--json", trace], capture_output=True, check=True).stdout)
    for peer in peers:
        theirs = counts(peer, trace)
        late = behind_last_step(trace) if peer == "HTA" else 0
        wanted = {"steps": ours["steps"]["count"], "kernels": ours["counts"]["kernels"] - late}
        for key, value in wanted.items():
            if theirs[key] != value:
                yield f"{source}: {peer} counts {theirs[key]} {key}, gpuprof {value}"
        if abs(theirs["busy"] - ours["gpu"]["busy_pct"]) > POINTS:
            yield f"{source}: busy {theirs['busy']:.2f} % in {peer}, {ours['gpu']['busy_pct']:.2f} % in gpuprof"
        print(f"{os.path.basename(source)}: {peer} {theirs}, gpuprof busy {ours['gpu']['busy_pct']:.2f} %")


def arithmetic(gpuprof, folder):
    """Yields recording, TraceLens' 10^12 operations of a step, gpuprof's, and why they differ."""
    for name, why in ARITHMETIC.items():
        path = os.path.join(folder, name)
        if os.path.exists(path):
            done = subprocess.run([gpuprof, "analyze", "--no-predict", "--json", path], capture_output=True, check=True)
            ours = sum(t["tflop"] for t in json.loads(done.stdout)["work"]["arithmetic"]["types"])
            yield name, counts("TraceLens", path, SIZES)["tflop"], ours, why


def compare_arithmetic(gpuprof, folder, table):
    """Returns what is wrong; writes the table, if there is a name for it."""
    rows = list(arithmetic(gpuprof, folder))
    lines = ["recording\tTraceLens, 10^12 operations a step\tgpuprof\tdifference %\twhy"]
    lines += [f"{name}\t{theirs:.6g}\t{ours:.6g}\t{100 * (ours / theirs - 1):+.2f}\t{why}" for name, theirs, ours, why in rows]
    print("\n".join(lines))
    if table:
        with open(table, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
    return [f"{name}: {theirs:.6g} in TraceLens, {ours:.6g} in gpuprof" for name, theirs, ours, why in rows
            if not why and abs(ours / theirs - 1) * 100 > PERCENT]


def main():
    gpuprof, sources, folder, *table = sys.argv[1:]
    peers = [name for name, (probe, _) in PEERS.items() if python(probe).returncode == 0]
    for name in PEERS:
        if name not in peers:
            print(f"skipped: {name} is not installed")
    if not peers:
        print("skipped: no HTA and no TraceLens")
        return 77
    wrong = []
    with tempfile.TemporaryDirectory() as tmp:
        example = os.path.join(tmp, "example.gpuprof")
        with gzip.open(os.path.join(sources, "docs/examples/train_conv-workers0.gpuprof.gz")) as packed, \
                open(example, "wb") as plain:
            plain.write(packed.read())
        recordings = [example] + [p for p in (os.path.join(folder, t) for t in TRACES) if os.path.exists(p)]
        for i, source in enumerate(recordings):
            wrong += check(gpuprof, source, os.path.join(tmp, f"rank{i}.json"), peers)
    if "TraceLens" in peers:
        wrong += compare_arithmetic(gpuprof, folder, table[0] if table else None)
    print("\n".join(wrong) or f"{len(recordings)} traces, {' and '.join(peers)}: the same steps, kernels and busy time")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
