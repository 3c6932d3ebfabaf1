#!/usr/bin/env python3
"""wheel.py WHEEL: a wheel of scripts/wheel.sh in a fresh environment, without a network: the commands are there, and record and answer
on the virtual GPU; no file of it needs a newer C library than the wheel's name says; it lies beside another project whose
command is called gpuprof as well. Skipped (77) where the file is not there: `make wheel` makes it."""
import glob
import os
import re
import subprocess
import sys
import tempfile
import zipfile

GLIBC = (2, 28)


def newest_symbol(path):
    said = subprocess.run(["objdump", "-T", path], capture_output=True, text=True, check=False).stdout
    return max([tuple(int(n) for n in v.split(".")) for v in re.findall(r"GLIBC_([0-9.]+)", said)], default=(0,))


def other_project(folder):
    """A wheel named gpuprof with a command of that name, as the index has one."""
    path = os.path.join(folder, "gpuprof-0.7.1-py3-none-any.whl")
    info = "gpuprof-0.7.1.dist-info"
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("gpuprof/__init__.py", "def main():\n    print('the other one')\n")
        z.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: gpuprof\nVersion: 0.7.1\n")
        z.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr(f"{info}/entry_points.txt", "[console_scripts]\ngpuprof = gpuprof:main\n")
        z.writestr(f"{info}/RECORD", "")
    return path


def main(wheel):
    if not os.path.exists(wheel):
        print("skipped: no wheel was made (make wheel)")
        return 77
    failed = 0

    def check(good, what, why=""):
        nonlocal failed
        failed += not good
        print(f"{'ok      ' if good else 'FAILED  '}{what}{'' if good else ': ' + str(why)[-600:]}")

    with tempfile.TemporaryDirectory() as folder:
        run = lambda *words: subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        run(sys.executable, "-m", "venv", "env")
        bin_ = os.path.join(folder, "env", "bin")
        pip = [os.path.join(bin_, "pip"), "install", "--no-index", "--no-deps", "-q"]
        done = run(*pip, os.path.abspath(wheel))
        check(done.returncode == 0, "pip installs it without a network", done.stderr)
        gpuprof = os.path.join(bin_, "gpuprof")
        done = run(gpuprof, "--version")
        check(done.returncode == 0 and "without the recorder" not in done.stdout, "the command has its recorder", done.stdout + done.stderr)
        done = run(gpuprof, "doctor")
        check(done.returncode == 0 and "hook for PyTorch" in done.stdout and "virtual GPU" in done.stdout, "doctor finds agent, hook, virtual GPU", done.stdout)
        done = run(gpuprof, "run", "-q", "-o", "x.gpuprof", "--device", "virtual:h200", "--", sys.executable, "-c", "import time; time.sleep(0.2)")
        check(done.returncode == 0 and os.path.exists(os.path.join(folder, "x.gpuprof")), "run records", done.stderr)
        done = run(gpuprof, "analyze", "--json")
        check(done.returncode == 0 and '"verdict"' in done.stdout, "analyze answers", done.stderr)
        for path in glob.glob(os.path.join(folder, "env/lib/python*/site-packages/gpuprof_why/**/*"), recursive=True):
            if os.path.isfile(path) and (path.endswith("bin/gpuprof") or ".so" in path):
                check(newest_symbol(path) <= GLIBC, f"{os.path.basename(path)} needs glibc {'.'.join(map(str, newest_symbol(path)))}",
                      "that is newer than 2.28")
        done = run(*pip, other_project(folder))
        check("the other one" in run(gpuprof).stdout, "the other project's command, installed later, is its own", done.stderr)
        done = run(os.path.join(bin_, "gpuprof-why"), "--version")
        check(done.returncode == 0 and done.stdout.startswith("gpuprof "), "and gpuprof-why is ours", done.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
