#!/usr/bin/env python3
"""Measures processor time and peak memory of a process for jobs of many ranks, each with about 4,800 events.

Usage: ranks.py BUILD/bin/gpuprof [--of TRACE] [RANKS]...        (8, 64, 256 and 1024 by default; with --of 8 and 64)

Writes a Kineto .json.gz for each rank into a temporary folder: 8 steps of 4 exchanges, with 74 kernels between two exchanges; a
quarter of the ranks are late together. Then it runs `analyze` on the folder, `reduce`, and `analyze` and `report` on what reduce
wrote; if gpuprof-mpi was built, that too, with two processes. Peak memory is that of the largest process. With --of the ranks are
copies of a recorded rank whose times are changed so that one rank is late (ranks_copies.py). The exit status is 1 if gpuprof does
not name the late ranks.
"""
import gzip
import os
import random
import subprocess
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


def write_ranks(folder, ranks, trace):
    """Returns the sentence about the late ranks that gpuprof's answer must contain."""
    chance, late = random.Random(1), range(ranks // 4, ranks // 2)
    if trace:
        maker = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ranks_copies.py")  # a child's peak begins with its parent's
        subprocess.run([sys.executable, maker, trace, folder, str(ranks), str(ranks // 3)], check=True)
        return f"rank {ranks // 3} is late"
    for rank in range(ranks):
        write_rank(folder, rank, ranks, rank in late, chance)
    return f"ranks {late[0]} to {late[-1]} are late together"


def commands(gpuprof, folder, job, page):
    program = gpuprof + "-mpi"
    launch = ["env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "mpirun", "-n", "2", program]
    return [("analyze folder", [gpuprof, "analyze", folder])] + ([
        ("gpuprof-mpi, 2", [*launch, folder, "-o", job])] if os.path.exists(program) else []) + [
        ("reduce", [gpuprof, "reduce", "-f", folder, "-o", job]), ("analyze reduced", [gpuprof, "analyze", job]),
        ("report reduced", [gpuprof, "report", job, "-o", page])]


def main():
    arguments, failed, trace = sys.argv[1:], False, None
    if "--of" in arguments[:-1]:
        at = arguments.index("--of")
        trace = arguments[at + 1]
        del arguments[at:at + 2]
    if not arguments:
        sys.exit(__doc__)
    print(f"{'ranks':>6} {'command':<22} {'s':>7} {'CPU s':>7} {'peak MiB':>9} {'wrote KiB':>10}")
    for ranks in [int(a) for a in arguments[1:]] or ([8, 64] if trace else [8, 64, 256, 1024]):
        with tempfile.TemporaryDirectory(prefix="gpuprof-bench-") as beside:
            folder, job, page = (os.path.join(beside, name) for name in ("traces", "job.gpuprof", "job.html"))
            os.mkdir(folder)
            expected = write_ranks(folder, ranks, trace)
            for name, command in commands(os.path.abspath(arguments[0]), folder, job, page):
                seconds, cpu, peak, status = measure(command, beside)
                with open(os.path.join(beside, "output"), encoding="utf-8") as f:
                    told = f.read()
                wrong = status != 0 or ("analyze" in name and expected not in told)
                failed |= wrong
                wrote = 0 if "analyze" in name else os.path.getsize(page if "report" in name else job) >> 10
                print(f"{ranks:>6} {name:<22} {seconds:>7.2f} {cpu:>7.2f} {peak:>9.0f} {wrote or '':>10}{'  WRONG ' + told if wrong else ''}",
                      flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
