#!/usr/bin/env python3
"""Programs that reach CUDA in different ways, on the virtual GPU: either it sees everything they do, or gpuprof's answer names the
reason and what to do.

usage: programs.py BUILD LIBCUDART
"""
import os
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tests/e2e"))
from support import Build, Checks  # noqa: E402

WORK = (30, 3, 2)  # kernels, copies, memsets of work.cu
CALLS = (0, 3, 2)  # the same without kernels: opens.c


def counts(profile):
    with sqlite3.connect(profile) as db:
        return tuple(db.execute(f"select count(*) from {table}").fetchone()[0] for table in ("kernel", "copy", "memset"))


def seen(build, checks, what, command, expected, **variables):
    profile = build.path("seen.gpuprof")
    done = build.run([build.gpuprof, "run", "-f", "--device", "virtual:h100", "-o", profile, "--", *command], **variables)
    found = counts(profile) if os.path.exists(profile) else None
    checks.check(done.returncode == 0 and found == expected, f"{what}: all seen",
                 f"status {done.returncode}, {found} not {expected}: {done.stdout[-300:]}{done.stderr[-600:]}")


def missed(build, checks, what, command, *words):
    profile = build.path("missed.gpuprof")
    done = build.run([build.gpuprof, "run", "-f", "--device", "virtual:h100", "-o", profile, "--", *command])
    answer = " ".join(line.removeprefix("gpuprof:").strip() for line in done.stderr.splitlines())
    lacking = [word for word in words if word not in answer]
    checks.check(not lacking, f"{what}: the answer says why, and what to do", f"no {lacking} in: {answer}")


def main():
    build, checks = Build(sys.argv[1]), Checks()
    runtime = sys.argv[2]
    programs = os.path.join(build.bin, "programs")
    at = lambda name: os.path.join(programs, name)  # noqa: E731
    for name, what in (("shared", "a shared runtime"), ("static", "a static runtime"),
                       ("own_names", "a static runtime, and functions called as the driver's"),
                       ("rpath", "an RPATH to NVIDIA's own runtime")):
        seen(build, checks, what, [at(name)], WORK)
    seen(build, checks, "a static runtime, found through PATH", ["static"], WORK,
         PATH=programs + os.pathsep + os.environ["PATH"])
    seen(build, checks, "a static runtime, started by a shell", ["sh", "-c", f"{at('static')}; true"], WORK)
    seen(build, checks, "a library with a static runtime, opened", [at("opens"), at("libstatic.so")], WORK)
    seen(build, checks, "a library with a static runtime, opened by Python",
         [sys.executable, "-c", f"import ctypes, sys; sys.exit(ctypes.CDLL('{at('libstatic.so')}').work())"], WORK)
    seen(build, checks, "a library with a static runtime and no device code, opened", [at("opens"), at("libbindings.so")], CALLS)
    seen(build, checks, "the runtime, opened without a version", [at("opens"), "libcudart.so"], CALLS)
    seen(build, checks, "the runtime, opened by its path", [at("opens"), os.path.realpath(runtime)], CALLS)
    seen(build, checks, "the driver's interface", [at("driver")], CALLS)
    seen(build, checks, "the driver's interface, and device code", [at("driver_code")], CALLS)
    with sqlite3.connect(build.path("seen.gpuprof")) as db:
        notes = db.execute("select count(*) from meta join string on string.id = meta.key where text = 'virtual.unreached'")
        checks.check(notes.fetchone() == (0,), "the same: no runtime is taken to be linked in", "virtual.unreached")
    seen(build, checks, "the runtime of CUDA 12", [at("kernels12")], WORK)
    seen(build, checks, "the runtime of CUDA 12 by its own forms of calls", [at("runtime12")], CALLS)
    seen(build, checks, "the runtime of CUDA 12, opened", [at("opens"), "libcudart.so.12"], CALLS)
    seen(build, checks, "the runtime of CUDA 11, linked in", [at("runtime11")], CALLS)
    there = "import os, sys; sys.exit(not (os.path.exists('/dev/nvidia0') and os.access('/dev/nvidiactl', os.R_OK)) or " \
            "os.path.exists('/dev/nvidia-none'))"
    seen(build, checks, "a program that looks for the card's device files", [sys.executable, "-c", there], (0, 0, 0))
    missed(build, checks, "a program that fails after its kernels", ["sh", "-c", f"{at('static')}; exit 3"],
           "failed with exit status 3; kernels compute no results on the virtual GPU")
    missed(build, checks, "one that is killed by its own fault", ["sh", "-c", f"{at('static')}; kill -SEGV $$"],
           "killed the program; kernels compute no results on the virtual GPU")
    missed(build, checks, "a program that gives the GPU no work",
           [sys.executable, "-c", "import ctypes; ctypes.CDLL('libcudart.so.13').cudaFree(None)"], "Virtual GPU (Virtual NVIDIA H100")
    advice = ("virtual GPU", "nvcc -cudart shared", "symbols")
    missed(build, checks, "a static runtime without symbols", [at("stripped")], at("stripped"), *advice)
    missed(build, checks, "the same, started by a shell", ["sh", "-c", f"{at('stripped')}; true"], at("stripped"), *advice)
    missed(build, checks, "a library of that kind, opened", [at("opens"), at("libstripped.so")], at("libstripped.so"), *advice)
    done = build.run([build.gpuprof, "run", "-f", "--device", "virtual:h100", "-o", build.path("idle.gpuprof"), "--", at("idle")])
    checks.check("linked in" not in done.stderr, "a shared runtime and no kernels: nothing is linked in", done.stderr[-600:])
    wheels = build.path("site-packages/nvidia/lib")
    os.makedirs(wheels, exist_ok=True)
    for named, like in ((build.path("libcublasLt.so.13"), "libvendors.so"), (build.path("libcusparseLt.so.0"), "libstripped.so"),
                        (os.path.join(wheels, "libother.so.1"), "libstripped.so")):
        shutil.copy(at(like), named)
        done = build.run([build.gpuprof, "run", "-f", "--device", "virtual:h100", "-o", build.path("idle.gpuprof"), "--",
                          sys.executable, "-c", f"import ctypes; ctypes.CDLL('{named}')"])
        checks.check("linked in" not in done.stderr and "profile:" in done.stderr,
                     f"{os.path.basename(named)} of NVIDIA's, loaded and not used: the runtime in it is no reason",
                     done.stderr[-600:])
    named = build.path("libcutensor.so.2")
    shutil.copy(at("libstripped.so"), named)
    profile = build.path("named.gpuprof")
    done = build.run([build.gpuprof, "run", "-f", "--device", "virtual:h100", "-o", profile, "--", at("opens"), named])
    lines = [line for line in done.stderr.splitlines() if "libcutensor.so.2 is not modelled" in line]
    checks.check(len(lines) == 1 and "-cudart shared" not in done.stderr,
                 "a library of NVIDIA's that is not modelled: one line names it, nobody shall link it again", done.stderr[-600:])
    checks.done()


main()
