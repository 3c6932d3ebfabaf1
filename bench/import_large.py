#!/usr/bin/env python3
"""Measures processor time per event and peak memory of `analyze` and `import` on long traces, and of reading the profile.

Usage: import_large.py BUILD/bin/gpuprof [EVENTS]...        (10**5, 10**6 and 10**7 events by default)

Writes a Kineto .json.gz of each size in batches into a temporary folder (ten million events take about 90 MB there,
their profile more), runs the commands on it as a user would, and prints a table. The trace is synthetic: steps of a
hundred launches, each with its kernel. So the table shows how the cost grows, not what a particular program's trace
costs. `profile` is `analyze` of what `import` wrote; `report` and each export read that profile, too. The exit status is
1 if a command fails or needs more than 1.5 GiB, or if, from a million events on, it takes more processor time per event
(the kernel's included) than LINEAR times that of the size before.
"""

import gzip
import os
import subprocess
import sys
import tempfile
import time

LAUNCHES = 100  # a step
EVENTS_PER_STEP = 2 * LAUNCHES + 1
LAUNCH_US, KERNEL_US, STEP_US = 8, 20, LAUNCHES * 24
LIMIT_MIB = 1536
LINEAR = 1.3  # CPU time per event relative to the size before: the aim is 1.15, the rest allows for differences between runs

FORMATS = ("chrome", "speedscope", "folded", "json", "markdown", "openmetrics")

STEP = '{"ph":"X","cat":"user_annotation","name":"ProfilerStep#%d","pid":10,"tid":10,"ts":%d,"dur":%d},\n'
PAIR = (
    '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":10,"tid":10,"ts":%d,"dur":5,'
    '"args":{"cbid":211,"correlation":%d}},\n'
    '{"ph":"X","cat":"kernel","name":"gemm_%d","pid":0,"tid":7,"ts":%d,"dur":%d,'
    '"args":{"device":0,"context":1,"stream":7,"correlation":%d,"grid":[128,1,1],"block":[256,1,1]}},\n'
)


def write_trace(path, events):
    """Writes at least `events` complete events; returns how many."""
    steps = max(1, round(events / EVENTS_PER_STEP))
    with gzip.open(path, "wt", compresslevel=1) as out:
        out.write('{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"synthetic"}],"traceEvents":[\n')
        for step in range(steps):
            start = 1000 + step * STEP_US
            parts = [STEP % (step, start, STEP_US - 10)]
            for i in range(LAUNCHES):
                id_ = step * LAUNCHES + i + 1
                parts.append(PAIR % (start + i * LAUNCH_US, id_, i % 40, start + 10 + i * 23, KERNEL_US, id_))
            out.write("".join(parts))
        out.write('{"ph":"M","name":"process_name","pid":10,"args":{"name":"python"}}]}\n')
    return steps * EVENTS_PER_STEP


def measure(command, folder):
    """Returns seconds, CPU seconds, peak MiB and exit status of one command, without those of earlier children."""
    with open(os.path.join(folder, "output"), "wb") as sink:
        start = time.monotonic()
        child = subprocess.Popen(command, stdout=sink, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, child.returncode


def commands(gpuprof, trace, folder):
    profile, page = os.path.join(folder, "large.gpuprof"), os.path.join(folder, "large.html")
    return {
        "analyze": [gpuprof, "analyze", trace],
        "import": [gpuprof, "import", trace, "-o", profile],
        "profile": [gpuprof, "analyze", profile],
        "report": [gpuprof, "report", "-f", profile, "-o", page],
        **{name: [gpuprof, "export", "--format", name, profile, "-o", "-"] for name in FORMATS},
    }


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sizes = sorted(int(a) for a in sys.argv[2:]) or [10**5, 10**6, 10**7]
    before, failed = {}, False
    print(f"aims: under {LIMIT_MIB} MiB; linear (CPU time per event at most {LINEAR:g} times that of the size before)")
    print(f"{'command':<11} {'events':>9} {'trace MB':>9} {'s':>7} {'CPU s':>7} {'ns/event':>9} {'peak MiB':>9}  verdict")
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "large.json.gz")
            events = write_trace(trace, size)
            for name, command in commands(sys.argv[1], trace, folder).items():
                seconds, cpu_s, peak, code = measure(command, folder)
                each = cpu_s / events * 1e9
                wrong = [f"exit {code}"] if code else []
                wrong += ["over the memory aim"] if peak > LIMIT_MIB else []
                wrong += ["not linear"] if each > LINEAR * before.get(name, each) else []
                before[name], failed = each, failed or bool(wrong)
                print(
                    f"{name:<11} {events:>9} {os.path.getsize(trace) / 1e6:>9.1f} {seconds:>7.2f} {cpu_s:>7.2f} {each:>9.0f}"
                    f" {peak:>9.0f}  {', '.join(wrong) or 'ok'}",
                    flush=True,
                )
    sys.exit(failed)


if __name__ == "__main__":
    main()
