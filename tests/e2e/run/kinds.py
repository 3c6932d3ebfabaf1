#!/usr/bin/env python3
"""Programs that the agent cannot be in, or only with care: each runs as without gpuprof, and one line says what it is."""
import json
import os
import shutil
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import Build, Checks, DEVICE
from transparent import own_lines_left_out

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
int main(void) { printf("hello\n"); fprintf(stderr, "and here\n"); return 3; }
"""


def compile_c(build, name, *options):
    source, out = build.path("kinds.c"), build.path(name)
    with open(source, "w") as f:
        f.write(SOURCE)
    done = subprocess.run([os.environ.get("CC", "cc"), source, "-o", out, *options], capture_output=True)
    return out if done.returncode == 0 else None


def compare(build, checks, what, command, note=None, **variables):
    """Same status, stdout, stderr; `note` stands in one line of ours, and without it none of these lines is there."""
    plain = build.run(command, **variables)
    traced = build.run([build.gpuprof, "run", "-f", "--device", DEVICE, "-o", build.path("kinds.gpuprof"), "--",
                        *command], **variables)
    checks.check(traced.returncode == plain.returncode, f"{what}: status",
                 f"{traced.returncode} instead of {plain.returncode}: {traced.stderr[-400:]}")
    checks.check(traced.stdout == plain.stdout and own_lines_left_out(traced.stderr) == plain.stderr,
                 f"{what}: output", traced.stdout[-200:] + traced.stderr[-400:])
    said = [line for line in traced.stderr.splitlines() if "runs as usual" in line]
    checks.check(len(said) == (1 if note else 0) and (not note or note in said[0]), f"{what}: what is said",
                 "\n".join(said))


def foreign(build):
    """The head of a 32-bit program: nothing that this system could run, but enough to tell."""
    path = build.path("old")
    with open(path, "wb") as f:
        f.write(b"\x7fELF\x01\x01\x01" + bytes(9) + b"\x02\x00\x03\x00" + bytes(200))
    os.chmod(path, 0o755)
    return path


def moved(build, checks):
    """A folder with a space in its path: the loader would split it, and write its errors into the program's."""
    folder = build.path("my programs")
    shutil.copytree(os.path.join(build.bin, "../lib"), os.path.join(folder, "lib"), symlinks=True)
    os.mkdir(os.path.join(folder, "bin"))
    program = shutil.copy(build.gpuprof, os.path.join(folder, "bin"))
    for options in ([], ["--device", DEVICE], ["--device", DEVICE, "--no-record"]):
        done = build.run([program, "run", "-f", "-o", build.path("moved.gpuprof"), *options, "--", "true"])
        checks.check(done.returncode != 0 and "space or a colon" in done.stderr and "ld.so" not in done.stderr,
                     f"a path with a space, {' '.join(options) or 'recorded'}: one clear line",
                     f"{done.returncode}: {done.stderr[-300:]}")


def another_libc(build, plain):
    """Our program, asking for musl's loader, which is not here: it fails the same way with and without us."""
    with open(plain, "rb") as f:
        text = f.read()
    at = text.index(b"/lib64/ld-linux-x86-64.so.2\0") if b"/lib64/ld-linux-x86-64.so.2\0" in text else -1
    if at < 0:
        return None
    path = build.path("musl")
    new = b"/lib/ld-musl-x86_64.so.1\0"
    with open(path, "wb") as f:
        f.write(text[:at] + new + bytes(28 - len(new)) + text[at + 28:])
    os.chmod(path, 0o755)
    return path


def notes_alone(build, checks, what, program, note):
    done = build.run([build.gpuprof, "run", "-f", "--device", DEVICE, "-o", build.path("x.gpuprof"), "--", program])
    said = [line for line in done.stderr.splitlines() if note in line]
    checks.check(len(said) == 1 and done.returncode in (126, 127), f"{what}: what is said", done.stderr[-300:])


def sanitized(build, checks):
    """AddressSanitizer wants to come before all that is preloaded. Ranges show that the agent is in."""
    marks = os.path.join(build.bin, "agent_marks_asan")
    if not os.path.exists(marks):
        print("skipped: no AddressSanitizer with this compiler")
        return
    compare(build, checks, "AddressSanitizer", [marks])
    compare(build, checks, "AddressSanitizer, options of the user's", [marks], ASAN_OPTIONS="detect_leaks=0")
    db = sqlite3.connect(build.path("kinds.gpuprof"))
    n = db.execute("SELECT count(*) FROM range").fetchone()[0]
    db.close()
    checks.check(n == 40, "AddressSanitizer: recorded", f"{n} of 40 ranges")


def held(build, checks):
    """Another tool holds CUPTI: the analysis names it, and calls nothing fine that was not seen."""
    profile, _ = build.profile("held", device=DEVICE + ",busy_subscriber=1", steps=20)
    done = build.run([build.gpuprof, "analyze", "--json", profile])
    said = json.loads(done.stdout)
    unknown = {c["rule"] for c in said["cannot_tell"]}
    checks.check({"sync-in-loop", "tensor-cores", "cuda-graphs", "exposed-communication"} <= unknown,
                 "CUPTI held: cannot tell", str(sorted(unknown)))
    checks.check("holds CUPTI" in done.stdout and "cupti-subscriber" in [w["code"] for w in said["health"]["warnings"]],
                 "CUPTI held: the holder is named", done.stdout[:400])
    checks.check(not said["findings"] and said["steps"]["count"] == 20, "CUPTI held: the rest is recorded",
                 str(said["steps"]))


def let_go(build, checks):
    """A tool that was there first lets CUPTI go after a while: only what follows counts as recorded."""
    top = os.path.dirname(build.bin)
    tool, program = os.path.join(top, "lib", "libagent_peer.so"), os.path.join(top, "tests", "agent", "agent_gpu")
    profile = build.path("let-go.gpuprof")
    build.run([build.gpuprof, "run", "-f", "-q", "--device", DEVICE, "-o", profile, "--", program, "30", "return", "150"],
              CUDA_INJECTION64_PATH=tool, GPUPROF_TEST_PEER=tool, GPUPROF_TEST_PEER_DOES="subscribe,dlsym")
    db = sqlite3.connect(profile)
    rows = db.execute("SELECT r.start_ns - p.start_ns, r.end_ns - p.end_ns FROM recorded r JOIN process p ON p.id = r.process").fetchall()
    first = db.execute("SELECT min(start_ns) FROM kernel").fetchone()[0]
    start = db.execute("SELECT start_ns FROM recorded").fetchone()
    db.close()
    checks.check(len(rows) == 1 and rows[0][0] > 1e9 and rows[0][1] == 0, "CUPTI let go: recorded from then on", str(rows))
    checks.check(start and first and first >= start[0], "CUPTI let go: no kernel before", f"{first} {start}")


def main():
    build, checks = Build(sys.argv[1]), Checks()
    plain = compile_c(build, "plain")
    if not plain:
        print("skipped: no C compiler")
        sys.exit(77)
    compare(build, checks, "plain", [plain])
    moved(build, checks)
    static = compile_c(build, "static", "-static")
    if static:
        compare(build, checks, "static", [static], "is statically linked")
        compare(build, checks, "static, in a script", ["sh", "-c", static])
    else:
        print("skipped: no static C library")
    if os.geteuid() == 0:
        other = shutil.copy(plain, build.path("other"))
        os.chown(other, 65534, 65534)
        os.chmod(other, 0o4755)
        compare(build, checks, "set-user-ID", [other], "runs with other rights")
    else:
        print("skipped: set-user-ID needs root")
    notes_alone(build, checks, "32 bits", foreign(build), "is a 32-bit program")
    musl = another_libc(build, plain)
    if musl:
        notes_alone(build, checks, "another C library", musl, "C library other than glibc")
    sanitized(build, checks)
    held(build, checks)
    let_go(build, checks)
    checks.done()


if __name__ == "__main__":
    main()
