#!/usr/bin/env python3
"""first_errors.py BUILD: what new users do wrong first, and the one line that each of these ends in. A row: what happens, the command
in a folder of its own, its status, and words that the last line on stderr (of `doctor`: the text) must have."""
import json
import os
import sys

from support import Build, Checks


# Starts a command where another process's memory may not be read, as some containers do it: a filter of system calls.
NO_PTRACE = """import ctypes, os, struct, sys
calls = {"x86_64": (101, 310), "aarch64": (117, 270)}[os.uname().machine]
rows = [(0x20, 0, 0, 0)] + [(0x15, 2 - i, 0, call) for i, call in enumerate(calls)] + [(0x06, 0, 0, 0x7fff0000), (0x06, 0, 0, 0x50001)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
assert libc.prctl(22, 2, struct.pack("HxxxxxxQ", len(rows), ctypes.addressof(code)), 0, 0) == 0
os.execvp(sys.argv[1], sys.argv[1:])"""


def write(folder, name, text, mode=0o644):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as f:
        f.write(text)
    os.chmod(path, mode)


def prepare(folder):
    write(folder, "notes.txt", "not a recording\n")
    write(folder, "windows.sh", "#!/bin/sh\r\necho hi\r\n", 0o755)
    write(folder, "lost.sh", "#!/no/such/interpreter\n", 0o755)
    write(folder, "train.py", "print('hi')\n")
    event = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 5, "args": {"stream": 7, "device": 0}}
    for name, shift in (("a", 0), ("b", 10 ** 12)):  # of two machines, days apart
        trace = {"traceEvents": [{**event, "ts": shift + 10 * i, "name": name + str(i % 7)} for i in range(50)]}
        write(folder, f"foreign/{name}.json", json.dumps(trace))
    write(folder, "old/lib/python3.11/site-packages/torch/version.py", "__version__ = '1.9.0'\ncuda = '11.1'\n")
    write(folder, "conda/lib/python3.12/site-packages/torch/version.py", "__version__ = '2.9.1'\ncuda = '13.0'\n")
    os.makedirs(os.path.join(folder, "empty"))


def two_cudas(gpuprof, folder):
    """CUPTI of CUDA 12 and 13, and a driver that says what FAKE_DRIVER tells."""
    lib = os.path.join(os.path.dirname(os.path.dirname(gpuprof)), "lib")
    for name, file in (("libcupti.so.12", "libagent_fake_cupti.so"), ("libcupti.so.13", "libagent_fake_cupti.so"), ("libcuda.so.1", "libagent_fake_driver.so")):
        write(folder, "two/" + name, "")
        os.remove(os.path.join(folder, "two", name))
        os.symlink(os.path.join(lib, file), os.path.join(folder, "two", name))
    return os.path.join(folder, "two")


def rows(gpuprof, folder):
    nobody = ["setpriv", "--reuid=65534", "--clear-groups"] if os.getuid() == 0 else []
    return [
        ("a file of another kind", [gpuprof, "analyze", "notes.txt"], {}, 2, "not a format that gpuprof reads (.json"),
        ("a file that is not there", [gpuprof, "analyze", "trian.gpuprof"], {}, 2, "no such file"),
        ("no driver", [gpuprof, "run", "-o", "a.gpuprof", "--", "true"], {}, 0, "--device virtual:h200 rehearses on a virtual GPU"),
        ("no permission to write", [*nobody, gpuprof, "run", "-o", "/proc/x.gpuprof", "--", "true"], {}, 125, "no permission to write the profile there"),
        ("an old PyTorch", [gpuprof, "doctor"], {"VIRTUAL_ENV": os.path.join(folder, "old")}, 0, "the hook needs 1.13 or newer"),
        ("PyTorch of conda", [gpuprof, "doctor"], {"CONDA_PREFIX": os.path.join(folder, "conda")}, 0, "PyTorch 2.9.1 for CUDA 13.0"),
        ("two CUDAs, the newer one too new for the driver", [gpuprof, "doctor"], {"LD_LIBRARY_PATH": two_cudas(gpuprof, folder), "FAKE_DRIVER": "12040"}, 0,
         "libcupti for CUDA 13 is newer than the driver: libcupti.so.13 export GPUPROF_CUPTI=libcupti.so.12"),
        ("a container without ptrace", [sys.executable, "-c", NO_PTRACE, gpuprof, "doctor"], {}, 0, "start the container with --cap-add=SYS_PTRACE"),
        ("a home that is read-only", [gpuprof, "run", "-q", "-o", "b.gpuprof", "--", "true"], {"HOME": "/proc"}, 0, ""),
        ("a full disk", ["sh", "-c", f"{gpuprof} rules >/dev/full"], {}, 2, "No space left on device"),
        ("no display", [gpuprof, "view", "--timeout", "1", "b.gpuprof"], {"DISPLAY": "", "PATH": "/nowhere"}, 2, "no browser fetched the trace"),
        ("lines that end as on Windows", [gpuprof, "run", "-o", "c.gpuprof", "--", "./windows.sh"], {}, 127, "sed -i 's/\\r$//'"),
        ("an interpreter that is not there", [gpuprof, "run", "-o", "d.gpuprof", "--", "./lost.sh"], {}, 127, "the interpreter that its first line names"),
        ("a folder of traces that do not belong together", [gpuprof, "analyze", "foreign"], {}, 2, "not the ranks of one run; pass one at a time"),
        ("an empty folder", [gpuprof, "analyze", "empty"], {}, 2, "no trace or profile in this folder"),
        ("a script in place of a command", [gpuprof, "train.py"], {}, 2, "gpuprof run python train.py"),
        ("a misspelt command", [gpuprof, "anlyze", "b.gpuprof"], {}, 2, "did you mean `gpuprof analyze`"),
    ]


def main():
    build, checks = Build(sys.argv[1]), Checks()
    folder = build.folder.name
    prepare(folder)
    for what, command, variables, status, words in rows(build.gpuprof, folder):
        done = build.run(command, **variables)
        if "doctor" in command:
            last = " ".join(done.stdout.split())
        else:
            said = done.stderr.split("gpuprof: profile:")[0].splitlines()
            last = said[-1] if said else ""
        checks.check(done.returncode == status and words in last and (last or not words), what, f"status {done.returncode}: {done.stderr}{last[-300:]}")
        if status:
            checks.check(len(done.stderr.splitlines()) <= 3, f"{what}: no more than three lines", done.stderr)
    checks.done()


if __name__ == "__main__":
    main()
