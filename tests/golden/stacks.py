#!/usr/bin/env python3
"""A trace of PyTorch's profiler with stacks (with_stack=True), written here: the answer names the function that holds the GPU up, the
GPU's time has lines, forward and backward, and what calls say of the program becomes facts. Usage: stacks.py GPUPROF"""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

STEPS, STEP = 8, 20000  # of one step, in us
FORWARD, LOAD, SAVE = "net.py(5): forward", "data.py(20): load", "<built-in method read of _io.BufferedReader object at 0x7f%02d>"
events, calls, ops = [], [], []


def put(to, cat, name, tid, ts, dur, **args):
    to.append({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args})


def launch(number, tid, ts, gpu_ts, dur):
    put(events, "cuda_runtime", "cudaLaunchKernel", tid, ts, 8, correlation=number)
    put(events, "kernel", "gemm_kernel", 7, gpu_ts, dur, device=0, stream=7, correlation=number, grid=[64, 1, 1], block=[128, 1, 1])


def step(i):
    """4 ms of work forward and backward; then a file is read for 14 ms; at its end garbage is collected for 1.5 ms."""
    at = 1000 + i * STEP
    put(ops, "user_annotation", f"ProfilerStep#{i}", 1, at, STEP)
    put(ops, "cpu_op", "aten::addmm", 1, at + 50, 40, **{"Sequence number": i})
    put(ops, "cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 2, at + 300, 60, **{"Sequence number": i})
    put(calls, "python_function", FORWARD, 1, at + 20, 100)
    put(calls, "python_function", "torch/_tensor.py(7): backward", 1, at + 200, 400)
    put(calls, "python_function", LOAD, 1, at + 4200, 14000)
    put(calls, "python_function", SAVE % i, 1, at + 4300, 13800)
    put(calls, "python_function", "<built-in function collect>", 1, at + 18300, 1500)
    launch(2 * i + 1, 1, at + 60, at + 100, 2000)
    launch(2 * i + 2, 2, at + 320, at + 2100, 2000)


def main():
    gpuprof, failed = sys.argv[1], 0
    put(calls, "python_function", "train.py(90): <module>", 1, 900, STEPS * STEP + 200)
    put(calls, "python_function", "torch/profiler/profiler.py(99): start", 1, 901, 50)
    for i in range(STEPS):
        step(i)
    with tempfile.TemporaryDirectory() as tmp:
        trace, profile = os.path.join(tmp, "t.json"), os.path.join(tmp, "t.gpuprof")
        with open(trace, "w", encoding="ascii") as f:
            json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU", "numSms": 80}],
                       "traceEvents": ops + calls + events}, f)
        said = subprocess.run([gpuprof, "analyze", "-v", trace], capture_output=True, text=True, timeout=60).stdout
        doc = json.loads(subprocess.run([gpuprof, "analyze", "--json", trace], capture_output=True, text=True, timeout=60).stdout)
        subprocess.run([gpuprof, "import", "-o", profile, trace], check=True, capture_output=True, timeout=60)
        db = sqlite3.connect(profile)
        ways = dict(db.execute("SELECT way, file FROM line_gpu_time"))
        facts = dict(db.execute("SELECT key, value FROM fact"))
    rules = {f["rule"] for f in doc["findings"]}
    words = " ".join(said.split())
    for holds, what in (("load() data.py:20" in words, "load() is named as what holds the GPU up"),
                        ("train.py" in words and "train.py:90" not in words, "what is older than the trace has no line"),
                        ("with_stack=True" in words, "the answer says that stacks slow the host down"),
                        (ways == {"own": "net.py", "forward": "net.py"}, f"lines forward and backward: {ways}"),
                        (facts.get("torch.gc.asked") == "train.py", f"who collects garbage: {facts.get('torch.gc.asked')}"),
                        ("gc-pauses" in rules, f"gc-pauses fires: {rules}")):
        failed += not holds
        print("ok" if holds else "FAIL", what)
    if failed:
        print(said)
    return failed > 0


sys.exit(main())
