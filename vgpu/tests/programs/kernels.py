#!/usr/bin/env python3
"""Checks how long hand-written kernels take on the virtual H100 (kernels.cu), against bounds that follow from the card's figures and
from the work of each kernel; the same for binaries that are packed in each of nvcc's ways; and against published times of an RTX
A6000.

usage: kernels.py BUILD
"""
import os
import re
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tests/e2e"))
from support import Build, Checks  # noqa: E402

SIDE = 4096
ALL = SIDE * SIDE
SMS, CLOCK, MEMORY, FLOPS = 132, 1.98e9, 3.352e12, 67e12

# one request of a warp, or one line, for each clock of a multiprocessor
LOADS = ALL * SIDE / 32 / (SMS * CLOCK)
BOUND = {  # seconds
    "product_apart": 33 * LOADS,  # 32 lines and one
    "product_naive": 2 * LOADS,
    "product_tiled": 2 * LOADS,
    "product_column": 9 / 8 * LOADS,
    "product_square": 2 * ALL * SIDE / FLOPS,
    "gelu": 8 * ALL / MEMORY,
    "scale_stride": 8 * ALL / MEMORY,
    "total": 4 * ALL / MEMORY,
    "transpose_tile<33>": 8 * ALL / MEMORY,
    "stencil": 8 * ALL / MEMORY,
    "softmax": 8 * ALL / MEMORY,
    "turns": 1000 * 8 / CLOCK,  # each turn takes at least two dependent operations of four clocks
}
SLOWER = (("product_apart", "product_naive", 5), ("product_naive", "product_tiled", 1.1),
          ("product_tiled", "product_column", 1.2), ("product_column", "product_square", 1.2),
          ("transpose_naive", "transpose_tile<33>", 1.5), ("transpose_tile<32>", "transpose_tile<33>", 1.2),
          ("product_square", "gelu", 20), ("gelu", "total", 1.2))


OF_CODE = "static estimate 28, by name or size 0, PyTorch's launch conventions 0"
OF_TABLE = "static estimate 0, by name or size 28, PyTorch's launch conventions 0"
# The card of the published times, by its datasheet; the rest is as on an A100.
A6000 = {"cc_minor": "6 count", "sm_count": "84 count", "clock": "1800 MHz", "memory_rate": "768 GB/s", "l2": "6 MiB",
         "fp32": "38.7 TFLOP/s", "fp16": "154.8 TFLOP/s", "fp64": "0.605 TFLOP/s"}
# GFLOP/s of products of 4092 x 4092 by kernels of these five kinds: S. Boehm, "How to Optimize a CUDA Matmul Kernel for
# cuBLAS-like Performance: a Worklog", 2022
PUBLISHED = {"product_apart": 309.0, "product_naive": 1986.5, "product_tiled": 2980.3, "product_column": 8474.7,
             "product_square": 15971.7}


def plain(name):
    """Demangles: _Z13product_naivePKfS0_Pfi becomes product_naive, _Z14transpose_tileILi33EEvPKfPfi becomes transpose_tile<33>."""
    found = re.match(r"_Z(\d+)(.*)", name)
    length, rest = int(found.group(1)), found.group(2)
    width = re.match(r"ILi(\d+)E", rest[length:])
    return rest[:length] + (f"<{width.group(1)}>" if width else "")


def times(build, checks, program):
    profile = build.path("kernels.gpuprof")
    done = build.run([build.gpuprof, "run", "-f", "--device", "virtual:h100,noise=0", "-o", profile, "--",
                      os.path.join(build.bin, "programs", program)])
    checks.check(done.returncode == 0, f"{program}: recorded", done.stdout[-300:] + done.stderr[-600:])
    with sqlite3.connect(profile) as db:
        rows = db.execute("select text, (end_ns - start_ns) / 1e9 from kernel join string on string.id = kernel.name")
        origin, = db.execute("select v.text from meta join string k on k.id = key join string v on v.id = value "
                             "where k.text = 'virtual.kernel_times'").fetchone()
        checks.check(origin == (OF_TABLE if program == "kernels_no_ptx" else OF_CODE), f"{program}: says whence", origin)
        return {plain(name): seconds for name, seconds in rows}


def published(build, checks):
    libraries = build.path("a6000")
    os.makedirs(os.path.join(libraries, "profiles/all"))
    for name in ("libcudart.so.13", "libvgpu-core.so", "profiles/all/kernels.ini", "profiles/all/common.ini"):
        shutil.copy(os.path.join(build.bin, "../lib/vgpu", name), os.path.join(libraries, name))
    with open(os.path.join(build.bin, "../lib/vgpu/profiles/a100-80.ini"), encoding="utf-8") as f:
        text = f.read()
    for key, value in A6000.items():
        text = re.sub(rf"(?m)^{key} = .*", f"{key} = {value} ; datasheet, RTX A6000", text)
    with open(os.path.join(libraries, "profiles/a6000.ini"), "w", encoding="utf-8") as f:
        f.write(text)
    done = build.run([os.path.join(build.bin, "programs/kernels")], LD_LIBRARY_PATH=libraries, GPUPROF_VGPU="a6000,noise=0")
    found = {name: float(us) for name, us in re.findall(r"(?m)^(\S+) (\S+) us$", done.stdout)}
    for name, rate in PUBLISHED.items():
        ratio = found.get(name, 0) / (2 * SIDE**3 / rate / 1e3)
        checks.check(0.5 < ratio < 2, f"{name}: {ratio:.2f} of the published time", done.stdout + done.stderr)


def main():
    build, checks = Build(sys.argv[1]), Checks()
    found = times(build, checks, "kernels")
    for name, bound in BOUND.items():
        took = found.get(name, 0)
        most = {"turns": 20, "product_square": 2.25}.get(name, 2) # of the second kind llm.c's takes 1.75 times as long on an H200
        checks.check(0.9 < took / bound < most, f"{name}: at most {most} times its bound",
                     f"{took * 1e6:.1f} us, bound {bound * 1e6:.1f} us")
    for slow, fast, by in SLOWER:
        checks.check(found.get(slow, 0) > by * found.get(fast, 1), f"{slow} takes longer than {fast}",
                     f"{found.get(slow, 0) * 1e6:.1f} us, {found.get(fast, 1) * 1e6:.1f} us, wanted {by} times")
    for way in ("size", "speed", "none"):
        again = times(build, checks, f"kernels_{way}")
        checks.check(again == found, f"the same from a binary packed by --compress-mode={way}", f"{again} not {found}")
    again = times(build, checks, "kernels_linked")
    near = again.keys() == found.keys() and all(abs(again[name] / took - 1) < 0.06 for name, took in found.items())
    checks.check(near, "nearly the same where device code was linked by -rdc=true, which may give kernels other registers",
                 f"{again} not {found}")
    published(build, checks)
    coded = times(build, checks, "kernels_no_ptx")
    checks.check(coded.get("product_naive", 1) < 0.0001, "without PTX: by the number of threads",
                 f"{coded.get('product_naive', 1) * 1e6:.1f} us")
    checks.done()


main()
