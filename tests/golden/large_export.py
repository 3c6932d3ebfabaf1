#!/usr/bin/env python3
"""An export large enough to be written by a thread of its own: the gzipped file holds the same text as the plain one,
lint-trace finds nothing, and where the disk has no room there is one line, status 2 and no file.

usage: large_export.py GPUPROF
"""
import gzip
import os
import resource
import signal
import subprocess
import sys
import tempfile

LAUNCHES = 6000
STEP = '{"ph":"X","cat":"user_annotation","name":"ProfilerStep#%d","pid":10,"tid":10,"ts":%d,"dur":790},\n'
PAIR = (
    '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":10,"tid":10,"ts":%d,"dur":5,'
    '"args":{"correlation":%d}},\n'
    '{"ph":"X","cat":"kernel","name":"gemm_%d","pid":0,"tid":7,"ts":%d,"dur":6,'
    '"args":{"device":0,"stream":7,"correlation":%d,"grid":[128,1,1],"block":[256,1,1]}},\n'
)


def write_trace(path):
    with open(path, "w") as out:
        out.write('{"deviceProperties":[{"id":0,"name":"synthetic"}],"traceEvents":[\n')
        for i in range(1, LAUNCHES + 1):
            if i % 100 == 1:
                out.write(STEP % (i // 100, i * 8 - 2))
            out.write(PAIR % (i * 8, i, i % 40, i * 8 + 6, i))
        out.write('{"ph":"M","name":"process_name","pid":10,"args":{"name":"python"}}]}\n')


def export(gpuprof, trace, to, limit=None):
    def before():
        if limit:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run([gpuprof, "export", trace, "-o", to], stderr=subprocess.PIPE, text=True, preexec_fn=before)


def main():
    gpuprof = sys.argv[1]
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        trace, plain, packed, none = (os.path.join(folder, n) for n in ("t.json", "x.json", "y.json.gz", "z.json"))
        write_trace(trace)
        for to in (plain, packed):
            done = export(gpuprof, trace, to)
            if done.returncode:
                sys.exit(f"export to {to}: status {done.returncode}: {done.stderr}")
        with open(plain, "rb") as a, gzip.open(packed, "rb") as b:
            text = a.read()
            if text != b.read():
                failed.append("the gzipped export differs from the plain one")
        kernels = text.count(b'"cat":"kernel"')
        if kernels != LAUNCHES or len(text) < 2 << 20:
            failed.append(f"{kernels} kernels in {len(text)} bytes")
        if subprocess.run([gpuprof, "lint-trace", plain], stdout=subprocess.DEVNULL).returncode:
            failed.append("lint-trace finds faults")
        for limit in (1 << 20, len(text) - 1000):  # while the text is made, and when all of it was
            done = export(gpuprof, trace, none, limit)
            if done.returncode != 2 or done.stderr.count("\n") != 1 or "z.json" not in done.stderr:
                failed.append(f"no room behind {limit} bytes: status {done.returncode}: {done.stderr!r}")
        left = sorted(os.listdir(folder))
        if left != ["t.json", "x.json", "y.json.gz"]:
            failed.append(f"left behind: {left}")
    for line in failed:
        print(line)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
