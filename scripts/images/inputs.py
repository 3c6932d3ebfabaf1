#!/usr/bin/env python3
"""What the pictures of docs/images are made from: the answer on a terminal, the page, the page of four ranks, the trace.
`inputs.py GPUPROF SOURCES --into FOLDER` makes them; `--check` tells whether the pictures were made from what gpuprof
writes now (docs/images/made-from.txt), `--write` keeps that. The inputs are compared as text, the pictures are not: fonts
and browsers differ."""
import argparse
import base64
import fcntl
import gzip
import hashlib
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios


def environment(folder):
    """Nobody's settings and past trials."""
    theirs = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "GPUPROF_"))}
    for name in ("COLUMNS", "LINES", "PAGER", "LESS", "NO_COLOR", "CI"):
        theirs.pop(name, None)
    return {**theirs, "HOME": folder, "TERM": "xterm", "LC_ALL": "C.UTF-8"}


def on_terminal(folder, *args):
    """What a command writes on a terminal of 80x24, in colour."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    program = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, cwd=folder,
                               env=environment(folder))
    os.close(theirs)
    text = b""
    while True:
        try:
            more = os.read(ours, 65536)
        except OSError:
            break
        if not more:
            break
        text += more
    os.close(ours)
    program.wait()
    return text.decode()


def rank_trace(rank):
    """Eight steps of 20 ms; the third rank prepares its batch 6 ms longer, and the others wait for it in an all-reduce."""
    host, gpu, events, correlation = {"pid": 4000 + rank, "tid": 4000 + rank}, {"pid": rank, "tid": 7}, [], 1
    late = 6000 if rank == 2 else 0

    def launch(name, at, start, length, **more):
        nonlocal correlation
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", **host, "ts": at, "dur": 5,
                       "args": {"correlation": correlation}})
        events.append({"ph": "X", "cat": "kernel", "name": name, **gpu, "ts": start, "dur": length,
                       "args": {"device": rank, "stream": 7, "correlation": correlation, "grid": [64, 1, 1],
                                "block": [256, 1, 1], **more}})
        correlation += 1

    for step in range(8):
        t = 1000 + step * 20000
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", **host, "ts": t, "dur": 19990})
        events.append({"ph": "X", "cat": "cpu_op", "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                       **host, "ts": t + 10, "dur": 1000 + late})
        for k in range(20):
            at = t + 1100 + late + 40 * k
            launch("sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n" if k % 2 else "vectorized_elementwise_kernel", at,
                   t + 1200 + late + 480 * k, 470)
        arrives, ends = t + 1200 + late + 9700, t + 1200 + 6000 + 9700 + 1800
        launch("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", t + 2200 + late, arrives, ends - arrives,
               **{"Collective name": "allreduce", "Group size": 4})
    return {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 4},
            "deviceProperties": [{"id": rank, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85 * 10 ** 9,
                                  "computeMajor": 8, "computeMinor": 0, "numSms": 108}],
            "baseTimeNanoseconds": 0, "traceEvents": events}


def make(gpuprof, sources, folder):
    def at(name):
        return os.path.join(folder, name)

    with gzip.open(os.path.join(sources, "docs/examples/train_conv-workers0.gpuprof.gz")) as packed:
        with open(at("train.gpuprof"), "wb") as plain:
            plain.write(packed.read())
    with open(at("terminal.txt"), "w", encoding="utf-8") as f:
        f.write(on_terminal(folder, gpuprof, "analyze", "--quiet", "train.gpuprof"))
    os.makedirs(at("ranks"))
    for rank in range(4):
        with open(os.path.join(at("ranks"), f"rank{rank}.json"), "w", encoding="utf-8") as f:
            json.dump(rank_trace(rank), f)
    for source, page in (("train.gpuprof", "page.html"), ("ranks", "ranks.html")):
        subprocess.run([gpuprof, "report", "--quiet", "-f", source, "-o", page], check=True, cwd=folder,
                       env=environment(folder))
    subprocess.run([gpuprof, "export", "--quiet", "-f", "train.gpuprof", "-o", "trace.json"], check=True, cwd=folder,
                       env=environment(folder))


def plain_page(text):
    """The page with its data unpacked: compressors differ."""
    packed = re.search(r'id="data">([^<]*)</script>', text)
    return text.replace(packed.group(1), gzip.decompress(base64.b64decode(packed.group(1))).decode()) if packed else text


def digests(folder):
    for name in ("terminal.txt", "page.html", "ranks.html", "trace.json"):
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            text = re.sub(r"gpuprof \d+\.\d+\.\d+[\w.+-]*", "gpuprof VERSION", plain_page(f.read()))
        text = re.sub(r'"version": "[^"]*"', '"version": "VERSION"', text)
        yield f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n"


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("gpuprof")
    p.add_argument("sources")
    p.add_argument("--into")
    p.add_argument("--check", action="store_true")
    p.add_argument("--write", action="store_true")
    o = p.parse_args()
    gpuprof, kept = os.path.abspath(o.gpuprof), os.path.join(o.sources, "docs/images/made-from.txt")
    with tempfile.TemporaryDirectory() as tmp:
        folder = o.into or tmp
        make(gpuprof, o.sources, folder)
        now = list(digests(folder))
    if o.write:
        with open(kept, "w", encoding="utf-8") as f:
            f.writelines(now)
    if o.check:
        with open(kept, encoding="utf-8") as f:
            stale = sorted(set(now) - set(f.readlines()))
        if stale:
            print("docs/images shows another version; run `make images`. Changed: " +
                  ", ".join(line.split()[1] for line in stale))
            return 1
        print("docs/images shows what gpuprof writes now")
    return 0


if __name__ == "__main__":
    sys.exit(main())
