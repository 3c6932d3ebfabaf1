#!/usr/bin/env python3
"""Packs what is built into files for other machines: pack.py BUILD OUT wheel|archive... Packed twice, they are the same to the
byte: their times are SOURCE_DATE_EPOCH, or that of the last commit."""
import base64
import gzip
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NAME = "gpuprof-cuda"  # of the distribution: `gpuprof` is another project's on Python's package index
SUMMARY = "Why is my training loop slow, and what do I change first? A profiler for CUDA training loops"
# Another distribution may bring a command `gpuprof`, too, and replace this one: the program itself has a name of its own.
COMMAND = '#!/bin/sh\nexec "$(dirname "$(readlink -f "$0")")/%s" "$@"\n' % NAME


def output(*command):
    return subprocess.check_output(command, cwd=TOP, text=True).strip()


def moment():
    told = os.environ.get("SOURCE_DATE_EPOCH")
    return int(told if told else output("git", "log", "-1", "--format=%ct"))


def setting(build, key):
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as f:
        return re.search(rf"^{key}:[A-Z]+=(.*)$", f.read(), re.M).group(1)


def files(folder):
    """(Name in the folder, path) of all files, sorted; what is a link has the contents of its target."""
    found = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
    return sorted((os.path.relpath(path, folder), path) for path in found)


def needs_glibc(folder):
    """The newest version of the C library that a file names, as (2, 27)."""
    newest = (2, 17)
    for _, path in files(folder):
        with open(path, "rb") as f:
            if f.read(4) != b"\x7fELF":
                continue
        for version in re.findall(r"GLIBC_(\d+)\.(\d+)", output("objdump", "-p", path)):
            newest = max(newest, tuple(map(int, version)))
    return newest


def write_wheel(stage, out, version, machine):
    major, minor = needs_glibc(stage)
    tag = f"py3-none-manylinux_{major}_{minor}_{machine}"
    base = f"{NAME.replace('-', '_')}-{version}"
    inside = []  # name, contents, executable
    for name, path in files(stage):
        with open(path, "rb") as f:
            inside.append((f"{base}.data/data/{name}", f.read(), os.access(path, os.X_OK)))
        if name == "bin/gpuprof":
            inside[-1:] = [(f"{base}.data/scripts/gpuprof", COMMAND.encode(), True),
                           (f"{base}.data/scripts/{NAME}", inside[-1][1], True)]
    with open(os.path.join(TOP, "README.md"), encoding="utf-8") as f:
        about = (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version}\nSummary: {SUMMARY}\nLicense: Apache-2.0\n"
                 f"Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n{f.read()}")
    wheel = f"Wheel-Version: 1.0\nGenerator: gpuprof\nRoot-Is-Purelib: false\nTag: {tag}\n"
    with open(os.path.join(TOP, "LICENSE"), encoding="utf-8") as f:
        texts = {"METADATA": about, "WHEEL": wheel, "LICENSE": f.read()}
    inside += [(f"{base}.dist-info/{name}", text.encode(), False) for name, text in texts.items()]
    record = "".join("{},sha256={},{}\n".format(name, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("="),
                                                len(data)) for name, data, _ in inside)
    inside.append((f"{base}.dist-info/RECORD", (record + f"{base}.dist-info/RECORD,,\n").encode(), False))
    path = os.path.join(out, f"{base}-{tag}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data, runs in inside:
            entry = zipfile.ZipInfo(name, time.gmtime(moment())[:6])
            entry.external_attr = (stat.S_IFREG | (0o755 if runs else 0o644)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return path


def write_archive(stage, out, version, machine):
    base = f"gpuprof-{version}-linux-{machine}"
    path = os.path.join(out, base + ".tar.gz")

    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = moment()
        entry.mode = 0o755 if entry.mode & 0o100 else 0o644
        return entry

    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, moment()) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for name, file in files(stage):
            tar.add(file, f"{base}/{name}", filter=plain)
    return path


KINDS = {"wheel": write_wheel, "archive": write_archive}


def main():
    build, out, *kinds = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    version, machine = setting(build, "CMAKE_PROJECT_VERSION"), output("uname", "-m")
    stage = tempfile.mkdtemp()
    try:
        for component in ("gpuprof", "gpuprof-dev"):
            subprocess.run(["cmake", "--install", build, "--prefix", stage, "--component", component, "--strip"], check=True, stdout=subprocess.DEVNULL)
        for kind in kinds:
            path = KINDS[kind](stage, out, version, machine)
            print(f"{kind}: {path} ({os.path.getsize(path) / 1e6:.1f} MB; needs glibc {'.'.join(map(str, needs_glibc(stage)))})")
    finally:
        shutil.rmtree(stage)


if __name__ == "__main__":
    main()
