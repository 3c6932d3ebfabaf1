#!/usr/bin/env python3
"""The compiler of scripts/wheel.sh: zig cc for glibc 2.28. zig is found on PYTHONPATH.

Its linker lacks two options of ours: -Bsymbolic-functions, for which -Bsymbolic does here, and -z initfirst, which is set in the
file afterwards, in the flags that -z nodelete has made.
"""
import os
import struct
import subprocess
import sys

PT_DYNAMIC, DT_FLAGS_1, DF_1_INITFIRST = 2, 0x6FFFFFFB, 0x20


def set_initfirst(path):
    with open(path, "rb") as f:
        data = bytearray(f.read())
    headers, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for i in range(count):
        if struct.unpack_from("<I", data, headers + i * size)[0] != PT_DYNAMIC:
            continue
        at, = struct.unpack_from("<Q", data, headers + i * size + 8)
        tag = None
        while tag != 0:
            tag, value = struct.unpack_from("<qQ", data, at)
            if tag == DT_FLAGS_1:
                struct.pack_into("<Q", data, at + 8, value | DF_1_INITFIRST)
                with open(path, "wb") as f:
                    f.write(data)
                return
            at += 16
    sys.exit(f"{path}: no DT_FLAGS_1 to set")


def main(arguments):
    first = "-Wl,-z,initfirst" in arguments
    other = {"-Wl,-Bsymbolic-functions": "-Wl,-Bsymbolic", "-Wl,-z,initfirst": "-Wl,-z,nodelete"}
    arguments = [other.get(a, a) for a in arguments]
    target = f"{os.uname().machine}-linux-gnu.2.28"
    status = subprocess.run([sys.executable, "-m", "ziglang", "cc", "-target", target, *arguments], check=False).returncode
    if status == 0 and first and "-o" in arguments:
        set_initfirst(arguments[arguments.index("-o") + 1])
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
