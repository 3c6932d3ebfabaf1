#!/usr/bin/env python3
"""The calls of gpuprof to the system fail, one in each run: a write finds no room, a file cannot be opened, memory cannot be
mapped, a process cannot be forked. A preloaded library makes the n-th such call fail, in gpuprof and its recorder alone. Each
time the program ends as without gpuprof, and either every complete step is in the profile, or one line says what is lost.

usage: injected.py BUILD [--all]    (--all: every call of the run, in minutes; else a sample)
"""
import os
import random
import re
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import DEVICE, Build, Checks

STEPS = 6
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../analyzer/facts/health_kinds.c"), encoding="ascii") as kinds:
    MISSING = set(re.findall(r'\{"([a-z-]+)", HEALTH_(?:MISSING|LOST_SOME|NO_GPU)', kinds.read()))
# name of the kind: the calls that are one, as (result, name, arguments, the names to pass on), errno
KINDS = {
    "open": ("EMFILE", [("int", "open", "const char *a, int b, mode_t c", "a, b, c"),
                        ("int", "open64", "const char *a, int b, mode_t c", "a, b, c"),
                        ("int", "openat", "int d, const char *a, int b, mode_t c", "d, a, b, c"),
                        ("int", "openat64", "int d, const char *a, int b, mode_t c", "d, a, b, c")]),
    "write": ("ENOSPC", [("ssize_t", "write", "int a, const void *b, size_t c", "a, b, c"),
                         ("ssize_t", "pwrite64", "int a, const void *b, size_t c, off_t d", "a, b, c, d"),
                         ("ssize_t", "pwrite", "int a, const void *b, size_t c, off_t d", "a, b, c, d")]),
    "read": ("EIO", [("ssize_t", "pread64", "int a, void *b, size_t c, off_t d", "a, b, c, d"),
                     ("ssize_t", "pread", "int a, void *b, size_t c, off_t d", "a, b, c, d")]),
    "mmap": ("ENOMEM", [("void *", "mmap", "void *a, size_t b, int c, int d, int e, off_t f", "a, b, c, d, e, f"),
                        ("void *", "mmap64", "void *a, size_t b, int c, int d, int e, off_t f", "a, b, c, d, e, f")]),
    "size": ("ENOSPC", [("int", "ftruncate", "int a, off_t b", "a, b"), ("int", "ftruncate64", "int a, off_t b", "a, b")]),
    "fork": ("EAGAIN", [("pid_t", "fork", "void", "")]),
    "name": ("EIO", [("int", "rename", "const char *a, const char *b", "a, b"),
                     ("int", "link", "const char *a, const char *b", "a, b"),
                     ("int", "linkat", "int a, const char *b, int c, const char *d, int e", "a, b, c, d, e"),
                     ("int", "renameat2", "int a, const char *b, int c, const char *d, unsigned e", "a, b, c, d, e")]),
    "fsync": ("EIO", [("int", "fsync", "int a", "a"), ("int", "fdatasync", "int a", "a")]),
}


def source():
    text = ["#define _GNU_SOURCE", "#include <dlfcn.h>", "#include <errno.h>", "#include <stdatomic.h>",
            "#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>", "#include <sys/mman.h>", "#include <sys/types.h>",
            "#include <unistd.h>", "extern char *program_invocation_short_name;", "static _Atomic int calls; static int at; static char kind[16];",
            "static char counted[4096];",
            "static void leave(void) { FILE *f = *counted ? fopen(counted, \"a\") : NULL; *kind = 0;"
            " if (f) { fprintf(f, \"%d\\n\", calls); fclose(f); } }",
            "__attribute__((constructor)) static void begin(void) { const char *k = getenv(\"FAIL_KIND\"), *n = getenv(\"FAIL_AT\");",
            "  if (!k || !n || strcmp(program_invocation_short_name, \"gpuprof\") != 0) return;",
            "  snprintf(counted, sizeof counted, \"%s\", getenv(\"FAIL_COUNTED\") ? getenv(\"FAIL_COUNTED\") : \"\"); at = atoi(n);",
            "  snprintf(kind, sizeof kind, \"%s\", k); }",
            "void _exit(int s) { leave(); ((void (*)(int))dlsym(RTLD_NEXT, \"_exit\"))(s); __builtin_unreachable(); }",
            "__attribute__((destructor)) static void end(void) { leave(); }"]
    for kind, (error, calls) in KINDS.items():
        for result, name, arguments, names in calls:
            bad = "MAP_FAILED" if result == "void *" else "-1"
            types = re.sub(r" ?\b[a-f]\b(?=,|$)", "", arguments)
            text.append(f"{result} {name}({arguments}) {{ if (strcmp(kind, \"{kind}\") == 0 && ++calls == at) {{ errno = {error}; return {bad}; }}"
                        f" return (({result} (*)({types}))dlsym(RTLD_NEXT, \"{name}\"))({names}); }}")
    return "\n".join(text) + "\n"


def run(build, library, kind, at, counted=""):
    for name in os.listdir(build.folder.name):
        if name.startswith((".gpuprof-", "a.gpuprof", ".a.gpuprof")):
            subprocess.run(["rm", "-rf", build.path(name)], check=True)
    return build.run([build.gpuprof, "run", "-q", "-f", "--device", DEVICE, "-o", "a.gpuprof", "--", build.train, "--steps", str(STEPS)],
                     LD_PRELOAD=library, FAIL_KIND=kind, FAIL_AT=str(at), FAIL_COUNTED=counted)


def steps(profile):
    """The kernels that are there; None: there is no profile, or it is unsound."""
    if not os.path.exists(profile):
        return None
    db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
    try:
        if db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            return None
        return db.execute("SELECT count(*) FROM kernel").fetchone()[0]
    except sqlite3.Error:
        return None
    finally:
        db.close()


def missing(profile):
    """What the profile's health says of records that are not there; verdict and --strict read it."""
    if not os.path.exists(profile):
        return set()
    db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
    codes = {row[0] for row in db.execute("SELECT s.text FROM health h JOIN string s ON s.id = h.code")}
    db.close()
    return codes & MISSING


def main():
    build, checks = Build(sys.argv[1]), Checks()
    library = build.path("fails.so")
    made = subprocess.run(["cc", "-shared", "-fPIC", "-w", "-x", "c", "-", "-o", library, "-ldl"], input=source(), text=True, check=False,
                          capture_output=True)
    if made.returncode != 0:
        print(f"skipped: no C compiler here: {made.stderr[:300]}")
        sys.exit(77)
    seed = int.from_bytes(os.urandom(4), "little")
    random.seed(seed)
    print(f"seed {seed}")
    done = run(build, library, "none", 0)
    whole = steps(build.path("a.gpuprof"))
    checks.check(done.returncode == 0 and whole, "no call fails: a profile", done.stderr)
    for kind in KINDS:
        counted = build.path("counted")
        open(counted, "w", encoding="ascii").close()
        run(build, library, kind, 0, counted)
        with open(counted, encoding="ascii") as f:
            most = max([int(line) for line in f] or [0])
        places = range(1, most + 1)
        if "--all" not in sys.argv:
            places = sorted({1, *random.sample(places, min(3, most))}) if most else []
        for at in places:
            what = f"{kind} {at} of {most} fails"
            done = run(build, library, kind, at)
            ran = "median_step_ms=" in done.stdout
            told = [line for line in done.stderr.splitlines() if line.startswith("gpuprof: ")]
            kept, noted = steps(build.path("a.gpuprof")), missing(build.path("a.gpuprof"))
            checks.check(done.returncode >= 0 and len(told) == len(done.stderr.splitlines()), f"{what}: no crash", f"{done.returncode} {done.stderr}")
            checks.check(ran and done.returncode == 0 or not ran and done.returncode == 125 and told, f"{what}: the program runs, or a line says why not",
                         f"{done.returncode} {done.stderr}")
            checks.check(not ran or kept == whole or told or noted, f"{what}: every step is there, or gpuprof says that some are lost",
                         f"{kept} of {whole} kernels; {done.stderr}")
    checks.done()


if __name__ == "__main__":
    main()
