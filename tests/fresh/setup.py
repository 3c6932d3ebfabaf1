#!/usr/bin/env python3
"""scripts/setup.sh with an apt-get and a pip that only write down how they are called: it says what is missing, asks one question
on a terminal and installs nothing after a no, asks nobody without one, installs all packages in one go, and fetches what CUDA lacks
only after a yes. Nothing of this machine is changed.

usage: setup.py
"""
import os
import pty
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
FAKES = {"apt-get": 'echo "$*" >>"$CALLS"', "dpkg-query": 'case $* in *libdw-dev*) exit 1 ;; esac; [ -n "${ALL:-}" ] && echo ok installed', "apt-cache": "exit 0", "sudo": '"$@"',
         "pkg-config": "exit 1", "id": "echo 0", "python3": 'case $* in -c* | *--version) ;; *) echo "$*" >>"$CALLS" ;; esac'}
TOOLS = ("sh", "dirname", "tr", "env", "mktemp", "rm", "tail", "cat", "grep", "awk", "date", "sleep", "sed", "sort", "ls", "mkdir", "uname", "ln")
CUDA = ("include/cuda_runtime_api.h", "include/cupti.h", "include/nvtx3/nvToolsExt.h", "bin/nvcc")


def fake(folder):
    for name, body in FAKES.items():
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\n{body}\n")
        os.chmod(path, 0o755)
    for name in TOOLS:
        os.symlink(subprocess.check_output(["which", name], text=True).strip(), os.path.join(folder, name))


def on_terminal(arguments, environment, answer):
    ours, theirs = pty.openpty()
    with subprocess.Popen(arguments, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as run:
        os.close(theirs)
        os.write(ours, answer.encode())
        said = b""
        while True:
            try:
                more = os.read(ours, 4096)
            except OSError:
                break
            if not more:
                break
            said += more
    os.close(ours)
    return run.returncode, said.decode()


def cuda(check, called, setup, environment):
    """Nothing of NVIDIA's comes without a yes, and a no is not asked again."""
    whole, part, none = (os.path.join(environment["PATH"], name) for name in ("whole", "part", "none"))
    for place, files in ((whole, CUDA), (part, CUDA[-1:])):
        for name in files:
            os.makedirs(os.path.dirname(os.path.join(place, name)), exist_ok=True)
            open(os.path.join(place, name), "w", encoding="utf-8").close()
    cases = [("all of CUDA is there", whole, {}, None, "", ""),
             ("headers are missing, and it may", part, {"GPUPROF_SETUP": "yes"}, "nvidia-cuda-cupti", "nvcc", "13 MB"),
             ("all is missing, and it may", none, {"GPUPROF_SETUP": "yes"}, "nvidia-cuda-nvcc", "nowhere-else", "115 MB"),
             ("it may not", none, {"GPUPROF_SETUP": "no"}, None, "", "without its recorder"),
             ("nobody can be asked", none, {}, None, "", "GPUPROF_SETUP=yes fetches them"),
             ("the build wants none", none, {"CMAKE_FLAGS": "-DGPUPROF_CUDA=OFF"}, None, "", ""),
             ("CMake is told where", none, {"CMAKE_FLAGS": f"-O -DCUDA_ROOT={whole}"}, None, "", "")]
    for what, places, more, fetched, left, said in cases:
        if "CUDA_ROOT" in more.get("CMAKE_FLAGS", ""):
            settings = {**environment, "ALL": "1", **more}
        else:
            settings = {**environment, "ALL": "1", "GPUPROF_CUDA_PLACES": places, **more}
        done = subprocess.run([*setup, "build"], env=settings, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        got = called()
        check(done.returncode == 0 and (fetched in got and (not left or left not in got) if fetched else "nvidia" not in got), f"{what}: fetched",
              f"{done.returncode} {got} {done.stdout}{done.stderr}")
        check(said in done.stdout if said else not done.stdout, f"{what}: said", done.stdout)
    settings = {**environment, "ALL": "1", "GPUPROF_CUDA_PLACES": none}
    status, said = on_terminal([*setup, "build"], settings, "n\n")
    check(status == 0 and said.count("[Y/n]") == 1 and "nvidia" not in called(), "a no to CUDA alone lets the build go on", said)
    status, said = on_terminal([*setup, "build"], settings, "")
    check(status == 0 and "[Y/n]" not in said, "and is not asked again", said)


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        fake(folder)
        tree = os.path.join(folder, "tree")
        shutil.copytree(os.path.join(TOP, "scripts"), os.path.join(tree, "scripts"))
        shutil.copy(os.path.join(TOP, "packages.txt"), tree)
        there = os.path.join(folder, "there")
        for name in CUDA:
            os.makedirs(os.path.dirname(os.path.join(there, name)), exist_ok=True)
            open(os.path.join(there, name), "w", encoding="utf-8").close()
        calls = os.path.join(folder, "calls")
        environment = {"PATH": folder, "CALLS": calls, "GPUPROF_CUDA_PLACES": there}
        setup = [os.path.join(folder, "sh"), os.path.join(tree, "scripts/setup.sh")]

        def check(good, what, why):
            nonlocal failed
            failed += not good
            print(f"{'ok      ' if good else 'FAILED  '}{what}{'' if good else ': ' + why}")

        def called():
            text = ""
            if os.path.exists(calls):
                with open(calls, encoding="utf-8") as f:
                    text = f.read()
                os.remove(calls)
            return text

        for answer, installs in (("n\n", False), ("\n", True), ("y\n", True)):
            status, said = on_terminal([*setup, "build"], environment, answer)
            got = called()
            check("cmake" in said and "install that? [Y/n]" in said, f"it says what is missing and asks ({answer!r})", said)
            check(("install -y" in got) == installs and (status == 0) == installs, f"and obeys ({answer!r})", f"{status} {got}")
        done = subprocess.run([*setup, "build"], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
        got = called().splitlines()
        check(done.returncode == 0 and "[Y/n]" not in done.stdout, "without a terminal it asks nobody", done.stdout + done.stderr)
        check(len(got) == 2 and all(p in got[1] for p in ("gcc", "cmake", "zlib1g-dev", "libjpeg62-turbo-dev")) and "|" not in got[1],
              "and installs all in one go", str(got))
        check("libdw-dev" in got[1], "with what gpuprof can do without", str(got))
        done = subprocess.run([*setup, "build"], env={**environment, "ALL": "1"}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)
        got = called()
        check(done.returncode == 0 and not got and not done.stdout, "which alone it does not install", f"{got} {done.stdout}{done.stderr}")
        del environment["GPUPROF_CUDA_PLACES"]
        cuda(check, called, setup, environment)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
