#!/usr/bin/env python3
"""Processor time and peak memory of a process for jobs of many ranks, each with about 4,800 events.

Usage: ranks.py BUILD/bin/gpuprof [RANKS]...        (8, 64, 256 and 1024 unless told)

Writes a Kineto .json.gz for each rank (8 steps of 4 exchanges and 74 kernels between two of them; a quarter of the ranks late
together) into a temporary folder, and runs `analyze` on the folder, `reduce`, and `analyze` and `report` on what reduce wrote. Peak
memory is that of the largest process. Exits 1 where the late ranks are not named.
"""
import gzip
import os
import random
import sys
import tempfile

from import_large import measure

STEPS, EXCHANGES, KERNELS = 8, 4, 74
COMPUTE_US, TRANSFER_US, LATE_US = 20000, 300, 1500
HEAD = ('{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA A100-SXM4-80GB","totalGlobalMem":85899345920,"computeMajor":8,'
        '"computeMinor":0,"numSms":108}],"distributedInfo":{"backend":"nccl","rank":%d,"world_size":%d},"traceEvents":[\n')
PAIR = ('{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":100,"tid":100,"ts":%.3f,"dur":4,"args":{"cbid":211,"correlation":%d}},\n'
        '{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":%d,"ts":%.3f,"dur":%.3f,"args":{"device":0,"context":1,"stream":%d,'
        '"correlation":%d,"grid":[64,1,1],"block":[256,1,1]}},\n')
MARK = '{"ph":"X","cat":"user_annotation","name":"ProfilerStep#%d","pid":100,"tid":100,"ts":%.3f,"dur":%.3f},\n'
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def write_rank(folder, rank, ranks, late, chance):
    shift, number = chance.uniform(-5e5, 5e5) + 1e9, 0
    parts, at = [HEAD % (rank, ranks)], shift
    for step in range(STEPS):
        began = at
        for _ in range(EXCHANGES):
            work = COMPUTE_US * chance.uniform(0.997, 1.003) + (LATE_US if late else 0)
            for k in range(KERNELS):
                number += 1
                parts.append(PAIR % (at + work * k / KERNELS - 8, number, f"layer_{k}_kernel", 7, at + work * k / KERNELS,
                                     work / KERNELS - 1, 7, number))
            number += 1
            end = at + COMPUTE_US * 1.004 + LATE_US + TRANSFER_US
            parts.append(PAIR % (at + work - 8, number, NCCL, 20, at + work + 2, end - at - work - 2, 20, number))
            at = end + 2
        parts.append(MARK % (step, began - 50, at - began))
    parts.append('{"ph":"M","name":"process_name","pid":100,"args":{"name":"python"}}]}\n')
    with gzip.open(os.path.join(folder, f"train.rank{rank}.json.gz"), "wt", compresslevel=1) as f:
        f.write("".join(parts))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    gpuprof, failed = sys.argv[1], False
    print(f"{'ranks':>6} {'command':<22} {'s':>7} {'CPU s':>7} {'peak MiB':>9} {'wrote KiB':>10}")
    for ranks in [int(a) for a in sys.argv[2:]] or [8, 64, 256, 1024]:
        with tempfile.TemporaryDirectory(prefix="gpuprof-bench-") as beside:
            folder, chance = os.path.join(beside, "traces"), random.Random(1)
            job, page = os.path.join(beside, "job.gpuprof"), os.path.join(beside, "job.html")
            os.mkdir(folder)
            for rank in range(ranks):
                write_rank(folder, rank, ranks, ranks // 4 <= rank < ranks // 2, chance)
            for name, command in (("analyze folder", ["analyze", folder]), ("reduce", ["reduce", folder, "-o", job]),
                                  ("analyze reduced", ["analyze", job]), ("report reduced", ["report", job, "-o", page])):
                seconds, cpu, peak, status = measure([gpuprof, *command], beside)
                with open(os.path.join(beside, "output"), encoding="utf-8") as f:
                    told = f.read()
                wrong = status != 0 or (command[0] == "analyze" and f"ranks {ranks // 4} to {ranks // 2 - 1} are late together" not in told)
                failed |= wrong
                wrote = os.path.getsize(job if name == "reduce" else page) >> 10 if name in ("reduce", "report reduced") else 0
                print(f"{ranks:>6} {name:<22} {seconds:>7.2f} {cpu:>7.2f} {peak:>9.0f} {wrote or '':>10}{'  WRONG ' + told if wrong else ''}",
                      flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
