#!/usr/bin/env python3
"""`gpuprof run` and what can come between: signals to it, what its caller ignores, nobody who reads
its stderr, a disk without room, and options that keep a part of the run. The program's output and
status stay its own, and nothing is left behind but a whole profile or none.

usage: ends.py BUILD
"""
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import DEVICE, Build, Checks

PYTHON = sys.executable
COUNTS = """
import signal, sys, time
seen = []
for s in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
    signal.signal(s, lambda number, frame: seen.append(number))
print('ready', flush=True)
deadline = time.monotonic() + 10
while not seen and time.monotonic() < deadline:
    time.sleep(0.01)
time.sleep(0.2)
print(seen, flush=True)
sys.exit(5)
"""
SLEEPS = "import time; print('ready', flush=True); time.sleep(20)"
FAST = ["sh", "-c", "echo out; exit 3"]


def start(build, profile, program, *options, **how):
    return subprocess.Popen(
        [build.gpuprof, "run", "-q", "--device", DEVICE, "-o", profile, *options, "--", *program],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=build.env,
        cwd=build.folder.name, **how)


def left_behind(build, *profiles):
    return sorted(set(os.listdir(build.folder.name)) - set(profiles))


def signals(build, checks):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        run = start(build, "handled.gpuprof", [PYTHON, "-c", COUNTS], "-f")
        run.stdout.readline()
        run.send_signal(number)
        out, _ = run.communicate(timeout=60)
        checks.check(out == f"[{int(number)}]\n" and run.returncode == 5,
                     f"{number.name} to gpuprof reaches the program, once",
                     f"{out!r}, status {run.returncode}")
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        run = start(build, "ended.gpuprof", [PYTHON, "-c", SLEEPS], "-f")
        run.stdout.readline()
        run.send_signal(number)
        run.communicate(timeout=60)
        checks.check(run.returncode == -number, f"{number.name}: both end by it",
                     f"status {run.returncode}")
    run = start(build, "group.gpuprof", [PYTHON, "-c", COUNTS], "-f", start_new_session=True)
    run.stdout.readline()
    os.killpg(run.pid, signal.SIGUSR1)
    out, _ = run.communicate(timeout=60)
    checks.check(run.returncode == 5, "a signal to the whole group: the program's own status",
                 f"{out!r}, status {run.returncode}")
    left = left_behind(build, "handled.gpuprof", "ended.gpuprof", "group.gpuprof")
    checks.check(not left, "signals: nothing left behind", ", ".join(left))


def callers(build, checks):
    run = start(build, "child.gpuprof", FAST,
                preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    out, _ = run.communicate(timeout=60)
    checks.check((out, run.returncode) == ("out\n", 3), "a caller that ignores SIGCHLD",
                 f"{out!r}, status {run.returncode}")
    shown = ["sh", "-c", "grep SigIgn /proc/self/status"]
    for what, number in (("SIGCHLD", signal.SIGCHLD), ("SIGHUP", signal.SIGHUP)):
        def ignore():
            signal.signal(number, signal.SIG_IGN)
        plain = subprocess.run(shown, capture_output=True, text=True, preexec_fn=ignore)
        run = start(build, "ignored.gpuprof", shown, "-f", preexec_fn=ignore)
        out, _ = run.communicate(timeout=60)
        checks.check(out == plain.stdout, f"{what} ignored by the caller is ignored by the program",
                     f"{out!r} instead of {plain.stdout!r}")
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([build.gpuprof, "run", "-f", "-o", "pipe.gpuprof", "--", *FAST],
                          stdout=subprocess.PIPE, stderr=writer, text=True, env=build.env,
                          cwd=build.folder.name, timeout=60)
    os.close(writer)
    checks.check((done.stdout, done.returncode) == ("out\n", 3), "nobody reads gpuprof's stderr",
                 f"{done.stdout!r}, status {done.returncode}")


def limit_files(kib):
    def limit():
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (kib << 10, hard))
    return limit


def no_room(build, checks):
    """A limit on the size of files stands for a full disk: gpuprof alone runs under it."""
    run = start(build, "none.gpuprof", FAST, preexec_fn=limit_files(16))
    out, err = run.communicate(timeout=60)
    checks.check((out, run.returncode) == ("", 125), "no room for a profile: 125, nothing started",
                 f"{out!r}, status {run.returncode}")
    checks.check(len(err.splitlines()) == 1 and err.startswith("gpuprof: "),
                 "no room for a profile: one clear line", err)

    program = ["sh", "-c", 'ulimit -S -f unlimited; exec "$0" --steps 40 --defect launch-bound',
               build.train]
    run = start(build, "full.gpuprof", program, preexec_fn=limit_files(600))
    out, err = run.communicate(timeout=120)
    checks.check(run.returncode == 0 and "median_step_ms=" in out,
                 "the disk fills up: the program ends as always",
                 f"status {run.returncode}, {out[-200:]!r}, {err[-400:]}")
    said = build.run([build.gpuprof, "analyze", "full.gpuprof"])
    checks.check(said.returncode == 0 and "The disk was full" in said.stdout,
                 "the disk fills up: what was recorded until then is kept, and says so", err[-400:] + said.stderr)
    strict = start(build, "full.gpuprof", program, "--strict", preexec_fn=limit_files(600))
    strict.communicate(timeout=120)
    checks.check(strict.returncode == 125, "the disk fills up, --strict: 125",
                 f"status {strict.returncode}")
    os.unlink(build.path("full.gpuprof"))


def existing(build, checks):
    for what, name in (("profile", "kept.gpuprof"), ("page", "kept.html")):
        with open(build.path(name), "w") as f:
            f.write("mine")
        run = start(build, "kept.gpuprof", FAST, "--report")
        out, err = run.communicate(timeout=60)
        checks.check((out, run.returncode) == ("", 125) and len(err.splitlines()) == 1,
                     f"an existing {what}: refused before the program starts",
                     f"{out!r}, status {run.returncode}, {err}")
        with open(build.path(name)) as f:
            checks.check(f.read() == "mine", f"an existing {what} is kept")
        os.unlink(build.path(name))
    run = start(build, "no/such/folder/x.gpuprof", FAST)
    out, err = run.communicate(timeout=60)
    checks.check((out, run.returncode) == ("", 125) and len(err.splitlines()) == 1,
                 "a folder that is not there: 125, one clear line", f"{run.returncode}, {err}")


def simultaneous(build, checks):
    """Four starts with one name: each program runs, and each has a profile, numbered where another writes the first."""
    for options in ([], ["-f"]):
        bad = []
        for i in range(20):
            runs = [start(build, f"one{i}.gpuprof", ["sh", "-c", "echo ran; read line"], *options,
                          stdin=subprocess.PIPE) for _ in range(4)]
            ran = [run.stdout.readline() for run in runs]
            told = [run.communicate("\n", timeout=60)[1] for run in runs]
            if ran != ["ran\n"] * 4 or any(run.returncode for run in runs) or any(told):
                bad.append((i, ran, told))
            for name in [f"one{i}{n}.gpuprof" for n in ("", ".2", ".3", ".4")]:
                if ask(build, name, "SELECT count(*) FROM meta")[0] < 1:
                    bad.append((i, "the profile is empty"))
                os.unlink(build.path(name))
        checks.check(not bad, f"twenty times four simultaneous starts {' '.join(options)}", str(bad))


def names(build, checks):
    """Names made for each rank, process and host."""
    host = os.uname().nodename
    for pattern, variables, wanted in (
            (None, {"RANK": "3"}, "true.r3.gpuprof"),
            ("a.%r.gpuprof", {"OMPI_COMM_WORLD_RANK": "12"}, "a.12.gpuprof"),
            ("a.gpuprof", {"RANK": "1", "WORLD_SIZE": "2"}, "a.r1.gpuprof"),
            ("a.gpuprof", {"RANK": "0", "WORLD_SIZE": "1"}, "a.gpuprof"),
            ("a.%r.gpuprof", {}, "a.0.gpuprof"),
            ("%h.%q{JOB}.gpuprof", {"JOB": "j7"}, f"{host}.j7.gpuprof"),
            ("100%.%%.%q{.gpuprof", {}, "100%.%.%q{.gpuprof")):
        option = ["-o", pattern] if pattern else []
        done = build.run([build.gpuprof, "run", "-q", *option, "--", "true"], **variables)
        made = os.path.exists(build.path(wanted))
        checks.check(done.returncode == 0 and made, f"-o {pattern}: {wanted}",
                     f"status {done.returncode}, {os.listdir(build.folder.name)}")
        if made:
            os.unlink(build.path(wanted))
    os.mkdir(build.path("src"))
    for module in ("train_it", "other"):
        with open(build.path(f"src/{module}.py"), "w", encoding="utf-8") as f:
            f.write("print('trained')\n")
    for command, wanted in (
            ([PYTHON, "-u", "src/train_it.py", "x.py"], "train_it.gpuprof"),
            ([PYTHON, "-m", "src.other"], "other.gpuprof"),
            (["env", "A=b.py", PYTHON, "src/other.py"], "other.gpuprof"),
            (["echo", "src/train_it.py"], "echo.gpuprof")):
        done = build.run([build.gpuprof, "run", "-q", "--", *command])
        made = os.path.exists(build.path(wanted))
        checks.check(done.returncode == 0 and made, f"{' '.join(command[1:])}: {wanted}",
                     f"status {done.returncode}, {done.stderr}, {os.listdir(build.folder.name)}")
        if made:
            os.unlink(build.path(wanted))
    shutil.rmtree(build.path("src"))


def ask(build, profile, query):
    db = sqlite3.connect(build.path(profile))
    answer = db.execute(query).fetchone()
    db.close()
    return answer


def windows(build, checks):
    """--steps, --delay and --duration keep a part, and what earlier searches found stays known."""
    program = [build.train, "--steps", "40"]
    whole = start(build, "window.gpuprof", program, "-f")
    whole.communicate(timeout=120)
    query = ("SELECT (SELECT count(*) FROM step), (SELECT count(*) FROM kernel), "
             "(SELECT count(*) FROM library_call WHERE family = 11)")
    _, kernels, searches = ask(build, "window.gpuprof", query)
    for option, steps in (("11:20", 10), ("31:", 10), (":5", 5), ("38:90", 3)):
        run = start(build, "window.gpuprof", program, "-f", "--steps", option)
        run.communicate(timeout=120)
        got = ask(build, "window.gpuprof", query)
        checks.check(run.returncode == 0 and got[0] == steps, f"--steps {option}: {steps} steps",
                     str(got))
        checks.check(0 < got[1] < kernels * (steps + 3) / 40 and got[2] == searches > 0,
                     f"--steps {option}: their kernels, and all searches", str(got))
    run = start(build, "window.gpuprof", [build.train, "--steps", "120"], "-f", "--delay", "1", "--duration", "0.5")
    run.communicate(timeout=120)
    low, high = ask(build, "window.gpuprof", "SELECT ifnull(min(start_ns), 0), ifnull(max(start_ns), 0) FROM api")
    checks.check(1_000_000_000 <= low < high < 1_500_000_000, "--delay and --duration", f"{low} {high}")
    run = start(build, "window.gpuprof", program, "-f", "--every", "16", "--window", "4")
    run.communicate(timeout=120)
    got = ask(build, "window.gpuprof", "SELECT count(*), (SELECT sum(steps) FROM step_block), "
              "(SELECT count(*) FROM recorded), (SELECT max(first_step) FROM recorded) FROM step")
    checks.check(got == (4 + 5 + 5, 40, 3, 32), "--every 16 --window 4: 4 steps and twice 5 of 40", str(got))
    for option in (("--every", "16"), ("--every", "3", "--window", "4"), ("--every", "3s", "--window", "4"),
                   ("--every", "9", "--window", "2", "--steps", "1:2"), ("--range", "all")):
        run = start(build, "window.gpuprof", FAST, "-f", *option)
        out, err = run.communicate(timeout=60)
        checks.check((out, run.returncode) == ("", 2) and len(err.splitlines()) == 1,
                     f"{' '.join(option)}: one clear line, status 2", f"{run.returncode}, {err}")
    for option in ("x", "1M", "-1"):
        run = start(build, "window.gpuprof", FAST, "-f", f"--max-size={option}")
        out, err = run.communicate(timeout=60)
        checks.check((out, run.returncode) == ("", 2) and len(err.splitlines()) == 1,
                     f"--max-size {option}: one clear line, status 2", f"{run.returncode}, {err}")
    for option in ("x", "3", "5:4", ":", "0:2", "1:2:3", "-1:"):
        run = start(build, "window.gpuprof", FAST, "-f", f"--steps={option}")
        out, err = run.communicate(timeout=60)
        checks.check((out, run.returncode) == ("", 2) and len(err.splitlines()) == 1,
                     f"--steps {option}: one clear line, status 2", f"{run.returncode}, {err}")
    for variable, value in (("CUPTI_INTERFACE", "3"), ("LINES", "no"), ("HOOK", "1")):
        run = subprocess.run([build.gpuprof, "run", "--", "true"], capture_output=True, text=True, cwd=build.folder.name,
                             env={**build.env, f"GPUPROF_{variable}": value})
        checks.check((run.stdout, run.returncode) == ("", 2) and len(run.stderr.splitlines()) == 1 and variable in run.stderr,
                     f"GPUPROF_{variable}={value}: one clear line, status 2", f"{run.returncode}, {run.stderr}")


RANGE = """
import ctypes
cuda, p = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p()
cuda.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(4096))
for n in range(1, 6):
    n % 2 == 0 and cuda.cudaProfilerStart()
    for _ in range(10 * n):
        cuda.cudaMemset(p, 0, ctypes.c_size_t(4096))
    cuda.cudaDeviceSynchronize()
    n % 2 == 0 and cuda.cudaProfilerStop()
"""


def profiler_range(build, checks):
    """What lies between cudaProfilerStart and cudaProfilerStop, twice."""
    run = start(build, "range.gpuprof", [sys.executable, "-c", RANGE], "-f", "--range", "cuda-profiler")
    run.communicate(timeout=60)
    got = ask(build, "range.gpuprof", "SELECT count(*), (SELECT count(*) FROM recorded), (SELECT count(*) "
              "FROM api JOIN string s ON s.id = name WHERE text = 'cudaMemset') FROM memset")
    checks.check(run.returncode == 0 and got == (20 + 40, 2, 20 + 40), "--range cuda-profiler", str(got))


def main():
    build, checks = Build(sys.argv[1]), Checks()
    for part in (signals, callers, no_room, existing, simultaneous, names, windows, profiler_range):
        part(build, checks)
    left = left_behind(build, "handled.gpuprof", "ended.gpuprof", "group.gpuprof", "child.gpuprof",
                       "ignored.gpuprof", "pipe.gpuprof", "window.gpuprof",
                       "range.gpuprof")
    checks.check(not left, "nothing left behind", ", ".join(left))
    checks.done()


if __name__ == "__main__":
    main()
