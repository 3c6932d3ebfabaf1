#!/usr/bin/env python3
"""large_pages.py BUILD: a run as on a kernel with pages of 64 KiB, as many of aarch64 have (large_pages.c refuses what these refuse).
All is recorded, and memory of the virtual GPU that is set to 0 is 0 at its ragged ends, too."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import Build, Checks  # noqa: E402

MEMORY = """import ctypes
cuda = ctypes.CDLL("libcudart.so.13")
size, gap = 8 << 20, 5 * 4096 + 8
device = ctypes.c_void_p()
assert cuda.cudaMalloc(ctypes.byref(device), ctypes.c_size_t(size)) == 0
ones, back = (ctypes.c_char * size).from_buffer(bytearray(b"\\xff" * size)), ctypes.create_string_buffer(size)
assert cuda.cudaMemcpy(device, ones, ctypes.c_size_t(size), 1) == 0
assert cuda.cudaMemset(ctypes.c_void_p(device.value + gap), 0, ctypes.c_size_t(size - 2 * gap)) == 0
assert cuda.cudaMemcpy(back, device, ctypes.c_size_t(size), 2) == 0
assert back.raw == b"\\xff" * gap + bytes(size - 2 * gap) + b"\\xff" * gap
print("zeros")
"""


def main():
    build, checks = Build(sys.argv[1]), Checks()
    pages = os.path.join(os.path.abspath(sys.argv[1]), "lib/liblarge_pages.so")

    def kernels(name, **variables):
        done = build.run([build.gpuprof, "run", "-q", "--device", "virtual:h200", "-o", f"{name}.gpuprof", "--", build.train, "--steps", "6",
                          "--depth", "18", "--image", "64", "--batch", "4", "--num-workers", "0", "--data", "fixed"], **variables)
        if not checks.check(done.returncode == 0, f"{name}: recorded", done.stderr):
            return None
        return json.loads(build.run([build.gpuprof, "analyze", "--json", f"{name}.gpuprof"]).stdout)["counts"]["kernels"]

    plain, large = kernels("plain"), kernels("large", LD_PRELOAD=pages)
    checks.check(plain and plain == large, "as many kernels as with small pages", f"{plain}, {large}")
    done = build.run([build.gpuprof, "run", "-q", "--device", "virtual:h200", "-o", "set.gpuprof", "--", sys.executable, "-c", MEMORY], LD_PRELOAD=pages)
    checks.check(done.stdout == "zeros\n", "memory that is set to 0", done.stderr)
    checks.done()


if __name__ == "__main__":
    main()
