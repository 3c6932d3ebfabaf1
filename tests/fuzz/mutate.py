#!/usr/bin/env python3
"""Structured mutations of profiles, traces and exports: hostile values in every column and every field, through all commands.

  mutate.py GPUPROF [--first N] [--count N] [--seconds S] [--mib M] [--keep DIR] [--jobs N]

A mutant is made from its number alone, so that one that fails can be made again (--first N --count 1 --keep DIR). Of each
command is demanded: no signal, no report of a sanitizer, a status from 0 to 3, at most one line of error at status 2, bounded
time and memory; JSON that is JSON. Mutants go on until --count of them or --seconds are over. Exit status: 1 when one failed."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import mutants
import seeds

CPU_S = 40
WALL_S = 900  # however busy the machine is


def job(path, good, folder):
    """A folder of ranks: one that is sound, the mutant, and what is no recording."""
    made = os.path.join(folder, "job")
    os.mkdir(made)
    os.link(good, os.path.join(made, "rank0.gpuprof"))
    os.link(path, os.path.join(made, "rank1" + path[path.index(".", path.rindex("/")):]))
    os.mkfifo(os.path.join(made, "rank2.json"))
    os.symlink("/dev/zero", os.path.join(made, "rank3.json"))
    os.symlink("..", os.path.join(made, "rank4.gpuprof"))
    open(os.path.join(made, "rank5.gpuprof"), "wb").close()
    return made


def commands(number, path, good, folder):
    """Each: arguments, and the file of JSON that a status 0 leaves ("-": its output)."""
    out = lambda name: os.path.join(folder, os.path.basename(path) + name)  # noqa: E731
    profile, ranks = out(".imported.gpuprof"), job(path, good, folder)
    every = [
        (["analyze", "-v", path], None), (["analyze", "--markdown", path], None),
        (["report", "-f", "-o", out(".html"), path], None),
        (["export", "-f", "-o", out(".trace.json"), path], out(".trace.json")),
        (["export", "-f", "--format", "speedscope", "-o", out(".ss.json"), path], out(".ss.json")),
        (["diff", good, path], None), (["diff", "--json", path, good], "-"), (["diff", "--markdown", path, path], None),
        (["gate", "-f", "--junit", out(".xml"), path, good], None), (["gate", "--json", good, path], "-"),
        (["import", "-f", "-o", profile, path], None), (["analyze", "--json", path, good], "-"),
        (["reduce", "-f", "-o", out(".reduced.gpuprof"), path, good], None),
        (["reduce", "-f", "-o", out(".job.gpuprof"), ranks], None), (["analyze", "--json", ranks], "-"),
        (["analyze", "--json", "--rows", "9", path], "-"),
    ] + ([(["lint-trace", path], None)] if path.endswith(".json") else [])
    # each command meets every third mutant, `analyze --json` all of them
    return [(["analyze", "--json", path], "-")] + every[number % 3::3]


def run(gpuprof, args, json_file, most_mib):
    """What is wrong with one command, as text; None when all is well."""
    env = dict(os.environ, ASAN_OPTIONS="exitcode=99:detect_leaks=1:allocator_may_return_null=1", UBSAN_OPTIONS="exitcode=99",
               LC_ALL="C.UTF-8")
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        began = time.monotonic()
        child = subprocess.Popen(["timeout", "-s", "KILL", str(WALL_S), "prlimit", f"--cpu={CPU_S}", gpuprof, *args],
                                 stdout=out, stderr=errors, stdin=subprocess.DEVNULL, env=env)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = status = os.waitstatus_to_exitcode(status)
        took = time.monotonic() - began
        out.seek(0)
        errors.seek(0)
        output, error = out.read(), errors.read().decode("utf-8", "replace")
    if status not in (0, 1, 2, 3):
        slow = f" after {took:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of CPU time"
        return f"status {status}{slow}: {error[-3000:]}"
    if "AddressSanitizer" in error or "runtime error" in error or "LeakSanitizer" in error:
        return f"a sanitizer's report: {error[-3000:]}"
    if status == 2 and len(error.strip().splitlines()) > 1:
        return f"more than a line of error: {error[:500]!r}"
    if status == 2 and not error.strip():
        return "no line of error"
    if used.ru_maxrss > most_mib << 10:
        return f"uses {used.ru_maxrss >> 10} MiB, allowed are {most_mib}"
    if status == 0 and json_file:
        try:
            if json_file != "-":
                with open(json_file, "rb") as f:
                    output = f.read()
            json.loads(output.decode("utf-8", "strict"))
        except (ValueError, OSError) as e:
            return f"no JSON: {e}"
    return None


class Campaign:
    def __init__(self, args, folder):
        self.args, self.folder, self.lock = args, folder, threading.Lock()
        self.next, self.done, self.ran, self.bad = args.first, 0, 0, 0
        self.until = time.monotonic() + args.seconds if args.seconds else None
        self.originals = {"profile": os.path.join(folder, "whole.gpuprof"),
                          "windows": os.path.join(folder, "windows.gpuprof"), "nsys": os.path.join(folder, "export.sqlite")}
        seeds.profile(self.originals["profile"], windows=False)
        seeds.profile(self.originals["windows"])
        seeds.nsys(self.originals["nsys"])

    def take(self):
        with self.lock:
            over = self.next >= self.args.first + self.args.count or self.until and time.monotonic() > self.until
            self.next += not over
            return None if over else self.next - 1

    def work(self):
        while (number := self.take()) is not None:
            try:
                with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                    self.one(number, folder)
            except Exception as e:  # the mutator's own fault: no mutant may pass for that
                print(f"FAIL mutant {number}: {e!r}")
                self.bad += 1

    def one(self, number, folder):
        path = mutants.make(number, self.originals, folder)
        problems = []
        todo = commands(number, path, self.originals["profile"], folder)
        for args, json_file in todo:
            problem = run(self.args.gpuprof, args, json_file, self.args.mib)
            if problem:
                problems.append(f"gpuprof {' '.join(os.path.basename(a) if '/' in a else a for a in args)}: {problem}")
        with self.lock:
            self.done += 1
            self.ran += len(todo)
            self.bad += bool(problems)
            if problems:
                print(f"FAIL mutant {number} ({os.path.basename(path)})")
                for p in problems:
                    print("     " + p.replace("\n", "\n     "))
                sys.stdout.flush()
                if self.args.keep:
                    os.makedirs(self.args.keep, exist_ok=True)
                    shutil.copy(path, self.args.keep)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("gpuprof")
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--count", type=int, default=1 << 60)
    p.add_argument("--seconds", type=float, default=0)
    p.add_argument("--mib", type=int, default=2048)
    p.add_argument("--keep")
    p.add_argument("--jobs", type=int, default=1)
    args = p.parse_args()
    if not args.seconds and args.count == 1 << 60:
        p.error("--count or --seconds is wanted")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gpuprof-mutants-") as folder:
        c = Campaign(args, folder)
        workers = [threading.Thread(target=c.work) for _ in range(args.jobs)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
    print(f"{c.done} mutants, {c.ran} commands, {c.bad} mutants failed, {time.monotonic() - began:.0f} s")
    return 1 if c.bad or not c.done else 0


if __name__ == "__main__":
    sys.exit(main())
