#!/usr/bin/env python3
"""Programs run as if gpuprof were not there: the same stdout, stderr and status with and without
`gpuprof run`, and no file left behind but the profile. What a CUDA program had done before it ended,
however it ended, is in the profile.

usage: transparent.py BUILD
"""
import os
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import DEVICE, Build, Checks

PYTHON = sys.executable
FORK = """
import os, sys
sys.stdout.write('parent\\n'); sys.stdout.flush()
workers = []
for i in range(4):
    pid = os.fork()
    if pid == 0:
        os.write(1, b''); os._exit(i)
    workers.append(pid)
print([os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) for p in workers])
"""
PIPES = """
import subprocess, sys
out = subprocess.run([sys.executable, '-c', 'import sys; print(sys.stdin.read().upper())'],
                     input='through a pipe', capture_output=True, text=True)
print(out.stdout, end='')
"""

# 50 memsets on the GPU, waited for; then the end that is named
CUDA = """
import ctypes, os, signal, sys, threading
cuda = ctypes.CDLL('libcudart.so.13')
def work():
    p = ctypes.c_void_p()
    assert cuda.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(1 << 20)) == 0
    for i in range(50):
        assert cuda.cudaMemset(p, i, ctypes.c_size_t(1 << 20)) == 0
    assert cuda.cudaDeviceSynchronize() == 0
    os.write(1, b'worked\\n')
"""
CUDA_ENDS = {  # how it ends: code, how many processes work
    "returns": ("work()", 1),
    "exits by status": ("work(); sys.exit(4)", 1),
    "_exit": ("work(); os._exit(7)", 1),
    "abort": ("work(); os.abort()", 1),
    "segmentation fault": ("work(); ctypes.string_at(0)", 1),
    "SIGTERM": ("work(); os.kill(os.getpid(), signal.SIGTERM)", 1),
    "SIGKILL": ("work(); os.kill(os.getpid(), signal.SIGKILL)", 1),
    "execs another": ("work(); os.execvp('echo', ['echo', 'other'])", 1),
    "forks workers without CUDA":
        ("work(); pids = [os.fork() or os._exit(i) for i in range(3)]; "
         "print([os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) for p in pids])", 1),
    "forks before CUDA, both work":
        ("p = os.fork(); work(); p or os._exit(2); "
         "print(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]))", 2),
    "works in a thread": ("t = threading.Thread(target=work); t.start(); t.join()", 1),
    "leaves a thread behind":
        ("work(); threading.Thread(target=lambda: signal.pause(), daemon=True).start()", 1),
}

PROGRAMS = {  # what it does: command
    "no CUDA, status 0": ["sh", "-c", "echo out; echo err >&2"],
    "status 3": ["sh", "-c", "echo out; exit 3"],
    "status 127 of its own": ["sh", "-c", "exit 127"],
    "forks workers": [PYTHON, "-c", FORK],
    "starts children with pipes": [PYTHON, "-c", PIPES],
    "execs another program": ["sh", "-c", "echo first; exec printf '%s\\n' second"],
    "a hundred short children": ["sh", "-c", "i=0; while [ $i -lt 100 ]; do /bin/true; "
                                 "i=$((i+1)); done; echo $i"],
    "_exit": [PYTHON, "-c", "import os; os.write(1, b'x'); os._exit(7)"],
    "abort": [PYTHON, "-c", "import os; os.write(2, b'going\\n'); os.abort()"],
    "ends itself by SIGTERM": ["sh", "-c", "echo here; kill -TERM $$"],
    "ends itself by SIGKILL": ["sh", "-c", "echo here; kill -KILL $$"],
    "ends by SIGPIPE": ["sh", "-c", "kill -PIPE $$"],
    "sees its arguments": ["sh", "-c", "printf '<%s>' \"$@\"", "name", "a b", "", "--steps", "*"],
    "reads its input": ["cat"],
    "closes stderr and stdout": ["sh", "-c", "exec 1>&- 2>&-; exit 5"],
    "CUDA program with a wrong option": ["{train}", "--batch", "none"],
    "CUDA program that only lists": ["{train}", "--defect", "list"],
}


def own_lines_left_out(text):
    return "".join(line for line in text.splitlines(True) if not line.startswith("gpuprof: "))


def compare(build, checks, what, command):
    command = [a.replace("{train}", build.train) for a in command]
    profile = build.path("transparent.gpuprof")
    plain = build.run(command, stdin="a line\n")
    before = set(os.listdir(build.folder.name))
    traced = build.run([build.gpuprof, "run", "-f", "--device", DEVICE, "-o", profile, "--",
                        *command], stdin="a line\n")
    left = set(os.listdir(build.folder.name)) - before - {os.path.basename(profile)}
    checks.check(traced.returncode == plain.returncode, f"{what}: status",
                 f"{traced.returncode} instead of {plain.returncode}; {traced.stderr[-300:]}")
    checks.check(traced.stdout == plain.stdout, f"{what}: stdout", repr(traced.stdout[-300:]))
    checks.check(own_lines_left_out(traced.stderr) == plain.stderr, f"{what}: stderr",
                 repr(traced.stderr[-300:]))
    checks.check(not left, f"{what}: nothing left behind", ", ".join(left))


def compare_cuda(build, checks, what, code, processes):
    """Both under `gpuprof run`, which chooses the virtual GPU; one of them unrecorded."""
    profile = build.path("cuda.gpuprof")
    run = [build.gpuprof, "run", "-f", "--device", DEVICE]
    # Python 3.12 warns of a fork beside other threads. A CUDA driver has some, the virtual GPU none but the agent's.
    program = ["--", PYTHON, "-W", "ignore:This process:DeprecationWarning", "-c", CUDA + code]
    plain = build.run([*run, "--no-record", *program])
    traced = build.run([*run, "-q", "-o", profile, *program])
    checks.check(traced.returncode == plain.returncode, f"CUDA, {what}: status",
                 f"{traced.returncode} instead of {plain.returncode}; {traced.stderr[-300:]}")
    checks.check(traced.stdout == plain.stdout and "worked" in plain.stdout,
                 f"CUDA, {what}: stdout", repr(traced.stdout[-300:]))
    checks.check(own_lines_left_out(traced.stderr) == own_lines_left_out(plain.stderr),
                 f"CUDA, {what}: stderr", repr(traced.stderr[-300:]))
    db = sqlite3.connect(profile)
    count = db.execute("SELECT count(*) FROM memset").fetchone()[0]
    db.close()
    checks.check(count == 50 * processes, f"CUDA, {what}: all work is in the profile",
                 f"{count} of {50 * processes} memsets")


def missing_program(build, checks):
    """As env does it: 127 when there is no such program, 126 when it cannot be run."""
    for name, status in (("/no/such/program", 127), ("no-such-program", 127), ("/etc/passwd", 126), ("/etc", 126)):
        for device in (DEVICE, "auto"):
            run = build.run([build.gpuprof, "run", "--device", device, "-o",
                             build.path("none.gpuprof"), "--", name])
            checks.check(run.returncode == status, f"{name}, {device}: status {status}", str(run.returncode))
            checks.check(len(run.stderr.splitlines()) == 1, f"{name}, {device}: one clear line", run.stderr)


def main():
    build, checks = Build(sys.argv[1]), Checks()
    for what, command in PROGRAMS.items():
        compare(build, checks, what, command)
    for what, (code, processes) in CUDA_ENDS.items():
        compare_cuda(build, checks, what, code, processes)
    missing_program(build, checks)
    checks.done()


if __name__ == "__main__":
    main()
