#!/usr/bin/env python3
"""A rank that a signal stops in the middle of a job: gpuprof names it and the collective that it has not joined, once, within 30
seconds, whether it records or waits to be asked. A job that is stopped as a whole is no such case.

usage: stuck.py BUILD
"""
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import DEVICE, Build, Checks

RANKS, LATE, WITHIN_S = 2, 1, 30


class Job:
    """train_ddp under one gpuprof, until it is ended."""

    def __init__(self, build, name, *options):
        self.build, self.output = build, build.path(f"{name}.gpuprof")
        self.log = build.path(f"{name}.err")
        with open(self.log, "w", encoding="utf-8") as err:
            self.process = subprocess.Popen(
                [build.gpuprof, "run", *options, "--device", DEVICE, "-o", self.output, "--", os.path.join(build.bin, "train_ddp"),
                 "--ranks", str(RANKS), "--depth", "18", "--batch", "16", "--steps", "100000"],
                stdout=subprocess.DEVNULL, stderr=err, env=build.env, cwd=build.folder.name)
        until(lambda: len(self.ranks()) == RANKS)
        until(lambda: len(re.findall(r"step [1-9]\d{2,}", self.status())) == RANKS)  # well under way
        time.sleep(5)  # the usual length of a step is known

    def said(self):
        with open(self.log, encoding="utf-8") as f:
            return [line for line in f.read().splitlines() if "of a communicator" in line]

    def launcher(self):
        """The program itself, which starts the ranks."""
        for child in children(self.process.pid):
            if os.path.basename(os.readlink(f"/proc/{child}/exe")) == "train_ddp":
                return child
        return None

    def ranks(self):
        launcher, found = self.launcher(), {}
        for child in children(launcher) if launcher else []:
            with open(f"/proc/{child}/environ", "rb") as f:
                rank = re.search(rb"(?:^|\0)RANK=(\d+)", f.read())
            if rank:
                found[int(rank.group(1))] = child
        return found

    def status(self):
        done = self.build.run([self.build.gpuprof, "record", "--status", str(self.process.pid)])
        return done.stdout if done.returncode == 0 else ""

    def end(self):
        os.kill(self.launcher(), signal.SIGTERM)
        return self.process.wait(60)


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return [int(child) for child in f.read().split()]
    except OSError:
        return []


def until(there, most_s=60):
    end = time.monotonic() + most_s
    while time.monotonic() < end and not there():
        time.sleep(0.1)
    return there()


def named(line, pid):
    """Stopped before it joined, or behind that while its part of the work was not done."""
    joined = "has not joined collective" in line and "1 other rank has waited" in line
    begun = "has begun ncclAllReduce" in line and "no rank has begun another" in line
    return f"rank {LATE} (process {pid})" in line and "ncclAllReduce" in line and (joined or begun) and "a signal has stopped it" in line


def late_rank(checks, job, what):
    pid = job.ranks()[LATE]
    os.kill(pid, signal.SIGSTOP)
    try:
        since = time.monotonic()
        until(job.said, WITHIN_S)
        took, said, state = time.monotonic() - since, job.said(), job.status()
        checks.check(len(said) == 1 and said[0].startswith("gpuprof: ") and named(said[0], pid),
                     f"{what}: names the rank and the collective within {WITHIN_S} s", f"after {took:.1f} s: {said} {state}")
        checks.check(len(state.splitlines()) == RANKS + 1 and named(state.splitlines()[-1], pid),
                     f"{what}: --status tells the same", state)
        time.sleep(3)
        checks.check(len(job.said()) == 1, f"{what}: once", str(job.said()))
    finally:
        os.kill(pid, signal.SIGCONT)
    before = int(re.search(r"step (\d+)", state).group(1))
    checks.check(until(lambda: int(re.search(r"step (\d+)", job.status()).group(1)) > before + 20, 30), f"{what}: the job goes on")


def health(profile):
    db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
    texts = [text for code, text in db.execute("SELECT code, text FROM health_note") if code == "stuck"]
    db.close()
    return texts


def whole_job(checks, job):
    """As Ctrl-Z does: nobody waits for anybody, also not when it goes on."""
    for pid in job.ranks().values():
        os.kill(pid, signal.SIGSTOP)
    time.sleep(14)
    for pid in job.ranks().values():
        os.kill(pid, signal.SIGCONT)
    time.sleep(3)
    checks.check(not job.said(), "a job that is stopped as a whole: not a word", str(job.said()))


def main():
    build, checks = Build(sys.argv[1]), Checks()
    job = Job(build, "armed", "--armed")
    whole_job(checks, job)
    late_rank(checks, job, "while nothing is recorded")
    job.end()
    job = Job(build, "full")
    late_rank(checks, job, "while all is recorded")
    status = job.end()
    checks.check(status == 128 + signal.SIGTERM, "the job ends as ever", str(status))
    texts = health(job.output)
    checks.check(len(texts) == 1 and f"rank {LATE} " in texts[0], "the profile's health has it", str(texts))
    checks.done()


if __name__ == "__main__":
    main()
