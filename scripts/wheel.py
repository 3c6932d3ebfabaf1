#!/usr/bin/env python3
"""wheel.py BUILD OUT: packs what a portable build installs into one Python wheel in the folder OUT, and prints its path.

The wheel holds no Python of the product's but a start: the command `gpuprof` begins the program that lies in the package
beside agent, hook and virtual GPU. On the index another project is called gpuprof, so the distribution is `gpuprof-why`, and a
second command of that name is always this one, whoever wrote `gpuprof` last. The same build gives the same bytes: names in
order, one date (SOURCE_DATE_EPOCH, else the last commit's).
"""
import base64
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DISTRIBUTION, PACKAGE = "gpuprof-why", "gpuprof_why"
GLIBC = "2_28"

START = '''"""Starts the program that lies in this package."""
import os
import sys


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "gpuprof")
    try:
        os.execv(program, ["gpuprof", *sys.argv[1:]])
    except OSError as e:
        sys.exit(f"gpuprof: {program} cannot be started: {e.strerror}; this wheel is for Linux on x86-64 with glibc 2.28 or newer")


if __name__ == "__main__":
    main()
'''


def version():
    with open(os.path.join(TOP, "CMakeLists.txt"), encoding="utf-8") as f:
        return re.search(r"project\(gpuprof VERSION ([0-9.]+)", f.read()).group(1)


def date():
    stamp = os.environ.get("SOURCE_DATE_EPOCH") or subprocess.run(
        ["git", "-C", TOP, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False).stdout.strip()
    return time.gmtime(max(int(stamp or 0), 315532800))[:6]  # zip knows no time before 1980


def installed(build, folder):
    """{path in the wheel: (bytes, executable)} of what the build installs."""
    subprocess.run(["cmake", "--install", build, "--prefix", folder, "--component", "gpuprof", "--strip"], check=True,
                   stdout=subprocess.DEVNULL)
    files = {}
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            inside = os.path.relpath(path, folder)
            if not inside.startswith(("bin/", "lib/")):
                if not inside.startswith(("share/man/", "share/bash-completion/", "share/zsh/", "share/fish/")):
                    continue
                inside = f"{PACKAGE}-{version()}.data/data/{inside}"
            else:
                inside = f"{PACKAGE}/{inside}"
            with open(path, "rb") as f:  # a wheel knows no links: pip unpacks files
                files[inside] = (f.read(), os.access(path, os.X_OK))
    return files


def metadata(machine):
    info = f"{PACKAGE}-{version()}.dist-info"
    tag = f"py3-none-manylinux_{GLIBC}_{machine}"
    with open(os.path.join(TOP, "README.md"), encoding="utf-8") as f:
        readme = f.read()
    with open(os.path.join(TOP, "LICENSE"), "rb") as f:
        licence = f.read()
    about = (f"Metadata-Version: 2.1\nName: {DISTRIBUTION}\nVersion: {version()}\n"
             "Summary: Finds out why a CUDA training loop is slow, and what to change first\n"
             "License: Apache-2.0\nRequires-Python: >=3.9\nClassifier: Operating System :: POSIX :: Linux\n"
             f"Description-Content-Type: text/markdown\n\n{readme}")
    wheel = f"Wheel-Version: 1.0\nGenerator: scripts/wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n"
    commands = f"[console_scripts]\ngpuprof = {PACKAGE}.__main__:main\n{DISTRIBUTION} = {PACKAGE}.__main__:main\n"
    files = {"METADATA": about, "WHEEL": wheel, "entry_points.txt": commands}
    made = {f"{info}/{name}": (text.encode(), False) for name, text in files.items()}
    made[f"{info}/LICENSE"] = (licence, False)
    return made, info, tag


def main(build, out):
    machine = os.uname().machine
    made, info, tag = metadata(machine)
    with tempfile.TemporaryDirectory() as folder:
        made.update(installed(build, folder))
    for needed in ("bin/gpuprof", "lib/gpuprof/libgpuprof_agent.so", "lib/gpuprof/python/sitecustomize.py", "lib/gpuprof/vgpu/libvgpu-core.so"):
        if f"{PACKAGE}/{needed}" not in made:
            sys.exit(f"wheel: the build has no {needed}: no wheel is made without it")
    made[f"{PACKAGE}/__init__.py"] = (b"", False)
    made[f"{PACKAGE}/__main__.py"] = (START.encode(), False)
    record = [f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
              for name, (data, _) in sorted(made.items())]
    made[f"{info}/RECORD"] = ("\n".join([*record, f"{info}/RECORD,,"]) + "\n").encode(), False
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, f"{PACKAGE}-{version()}-{tag}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for name, (data, executable) in sorted(made.items(), key=lambda file: (".dist-info/" in file[0], file[0])):
            entry = zipfile.ZipInfo(name, date())
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            z.writestr(entry, data)
    print(path)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
