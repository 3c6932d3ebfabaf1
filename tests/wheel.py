#!/usr/bin/env python3
"""The wheel, as somebody has it who has only that: wheel.py BUILD. Packs what BUILD holds, installs the file into a new venv without
an index, records a Python program that calls CUDA on the virtual GPU, reads a trace, lives beside another distribution with the
same command, and leaves no file when it goes. Packed twice, it is the same to the byte. WHEEL=FILE tries that file instead."""
import glob
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = """import ctypes
cuda = ctypes.CDLL("libcudart.so.13")
device, host = ctypes.c_void_p(), ctypes.create_string_buffer(1 << 24)
assert cuda.cudaMalloc(ctypes.byref(device), 1 << 24) == 0
for step in range(12):
    for _ in range(3):
        assert cuda.cudaMemcpy(device, host, 1 << 24, 1) == 0
    cuda.cudaDeviceSynchronize()
"""


def skip(why):
    print(f"wheel: skipped: {why}")
    sys.exit(77)


def check(good, what, why=""):
    print(f"{'ok      ' if good else 'FAILED  '}{what}{'' if good else ': ' + str(why)}")
    if not good:
        sys.exit(1)


def call(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)
    check(done.returncode == 0, " ".join(os.path.basename(word) for word in command)[:70], f"{done.returncode}\n{done.stdout}")
    return done.stdout


def pack(build, folder):
    call(sys.executable, os.path.join(TOP, "scripts/pack.py"), folder, "wheel", build, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
    return glob.glob(folder + "/*.whl")[0]


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def namesake(folder):
    """A wheel named gpuprof with a command of that name, as the index has one."""
    path = os.path.join(folder, "gpuprof-9.9-py3-none-any.whl")
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("gpuprof/__init__.py", "def main():\n    print('the other')\n")
        wheel.writestr("gpuprof-9.9.dist-info/METADATA", "Metadata-Version: 2.1\nName: gpuprof\nVersion: 9.9\n")
        wheel.writestr("gpuprof-9.9.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("gpuprof-9.9.dist-info/entry_points.txt", "[console_scripts]\ngpuprof = gpuprof:main\n")
        wheel.writestr("gpuprof-9.9.dist-info/RECORD", "".join(f"{name},,\n" for name in wheel.namelist()))
    return path


def files(folder):
    return {os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if not name.endswith(".pyc")}


def main():
    build = os.path.abspath(sys.argv[1])
    wheel = os.environ.get("WHEEL")
    if not wheel and not os.path.exists(build + "/lib/libgpuprof_agent.so"):
        skip("no recorder")
    with tempfile.TemporaryDirectory() as folder:
        if not wheel:
            wheel = pack(build, folder + "/a")
            check(digest(wheel) == digest(pack(build, folder + "/b")), "packed twice, the same")
        place = folder + "/venv"
        try:
            venv.create(place, with_pip=True)
        except subprocess.CalledProcessError:
            skip("no venv with pip")
        bare = files(place)
        pip = [place + "/bin/python", "-m", "pip", "--disable-pip-version-check", "-q"]
        call(*pip, "install", "--no-index", "--no-deps", os.path.abspath(wheel))
        gpuprof = place + "/bin/gpuprof"
        clean = {"PATH": "/usr/bin:/bin", "HOME": folder}
        check(call(gpuprof, "--version", env=clean).startswith("gpuprof "), "--version")
        said = subprocess.run([gpuprof, "doctor"], env=clean, capture_output=True, text=True, check=False).stdout
        check(f"agent: {os.path.realpath(place)}/" in said and "virtual GPU: a100" in said and "namesake" not in said, "doctor finds all", said)
        with open(folder + "/prog.py", "w", encoding="utf-8") as f:
            f.write(PROGRAM)
        said = call(gpuprof, "run", "--device", "virtual:a100-80", "-o", "x.gpuprof", "--", place + "/bin/python", "prog.py", cwd=folder, env=clean)
        check("Pin the host buffers" in said, "the program's answer", said)
        with gzip.open(TOP + "/docs/examples/train_conv-workers0.gpuprof.gz") as packed, open(folder + "/example.gpuprof", "wb") as plain:
            shutil.copyfileobj(packed, plain)
        check("Load data" in call(gpuprof, "analyze", "example.gpuprof", cwd=folder, env=clean), "the example's answer")
        call(*pip, "install", "--no-index", namesake(folder))
        check(call(place + "/bin/gpuprof") == "the other\n", "the other one's command, installed last")
        said = subprocess.run([place + "/bin/gpuprof-cuda", "doctor"], env=clean, capture_output=True, text=True, check=False).stdout
        check("gpuprof-9.9.dist-info" in said, "and doctor of this one, by its own name, says so", said)
        call(*pip, "uninstall", "-y", "gpuprof")
        call(*pip, "uninstall", "-y", "gpuprof-cuda")
        check(files(place) <= bare, "nothing is left", sorted(files(place) - bare)[:9])


if __name__ == "__main__":
    main()
