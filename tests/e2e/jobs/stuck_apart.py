#!/usr/bin/env python3
"""As stuck.py, but each rank has a gpuprof of its own, as srun and mpirun start them: the one that records the stopped rank names
it and the collective, within 30 seconds and once, by what the others show in the folder of the job.

usage: stuck_apart.py BUILD [RANKS...]
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from stuck import LATE, WITHIN_S, children, health, until
from support import Build, Checks

HOST = os.uname().nodename


class Ranks:
    """train_ddp, a gpuprof around each rank."""

    def __init__(self, build, count):
        self.build, self.folder = build, build.path(f"of{count}")
        shared = {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1",
                  "MASTER_PORT": str(20000 + os.getpid() % 20000)}
        self.logs = [build.path(f"{count}.{r}.err") for r in range(count)]
        self.runs = []
        for rank, log in enumerate(self.logs):
            with open(log, "w", encoding="utf-8") as err:
                self.runs.append(subprocess.Popen(
                    [build.gpuprof, "run", "--device", "virtual:h200", "-o", self.folder + "/", "--", os.path.join(build.bin, "train_ddp"),
                     "--depth", "18", "--batch", "256", "--data", "fixed", "--steps", "1000000"], stdout=subprocess.DEVNULL, stderr=err,
                    env={**build.env, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}, cwd=build.folder.name))

    def under_way(self):
        return until(lambda: all(self.step(r) > 100 for r in range(len(self.runs))))

    def status(self, rank):
        done = self.build.run([self.build.gpuprof, "record", "--status", str(self.runs[rank].pid)])
        return done.stdout if done.returncode == 0 else done.stderr

    def everywhere(self):
        return self.build.run([self.build.gpuprof, "record", "--status", self.folder]).stdout.splitlines()

    def step(self, rank):
        found = re.search(r"step (\d+)", self.status(rank))
        return int(found.group(1)) if found else 0

    def program(self, rank):
        for child in children(self.runs[rank].pid):
            if os.path.basename(os.readlink(f"/proc/{child}/exe")) == "train_ddp":
                return child
        return None

    def said(self):
        lines = []
        for rank, log in enumerate(self.logs):
            with open(log, encoding="utf-8") as f:
                lines += [(rank, line) for line in f.read().splitlines() if "of a communicator" in line]
        return lines

    def shown(self):
        return [f for f in os.listdir(self.folder) if os.path.exists(f"{self.folder}/{f}/where")]

    def end(self):
        for rank in range(len(self.runs)):
            os.kill(self.program(rank), signal.SIGTERM)
        for run in self.runs:
            run.wait(60)


def named(line, pid, others):
    waited = "1 other rank has waited" if others == 1 else f"{others} other ranks have waited"
    joined = "has not joined collective" in line and waited in line
    begun = "has begun ncclAllReduce" in line and "no rank has begun another" in line
    return f"rank {LATE} (process {pid} on {HOST})" in line and "ncclAllReduce" in line and (joined or begun) and "a signal has stopped it" in line


def late_rank(build, checks, count):
    job = Ranks(build, count)
    checks.check(job.under_way(), f"{count} ranks are under way", job.status(0))
    time.sleep(5)  # the usual length of a step is known
    checks.check(until(lambda: not job.shown(), 15), f"{count} ranks that go on show nothing", str(job.shown()))
    everywhere = job.everywhere()
    checks.check(len(everywhere) == count and all(line.startswith(f"{HOST}: rank {r} (process {job.program(r)}): step ")
                                                  for r, line in enumerate(everywhere)), f"{count} ranks: --status of the folder", str(everywhere))
    checks.check(until(lambda: not job.shown(), 25), f"{count} ranks: for some seconds", str(job.shown()))
    pid, before = job.program(LATE), job.step(0)
    os.kill(pid, signal.SIGSTOP)
    try:
        since = time.monotonic()
        until(job.said, WITHIN_S)
        took, said = time.monotonic() - since, job.said()
        checks.check(len(said) == 1 and said[0][0] == LATE and named(said[0][1], pid, count - 1),
                     f"{count} ranks: the late one and the collective are named within {WITHIN_S} s, after {took:.1f} s", f"{said} {job.status(0)}")
        told = job.status(0).splitlines()
        checks.check(len(told) == 2 and told[0].startswith("rank 0 ") and "ncclAllReduce, collective" in told[0] and named(told[1], pid, count - 1),
                     f"{count} ranks: --status of another rank names it, too", str(told))
        everywhere = job.everywhere()
        checks.check(len(everywhere) == count + 1 and all(line.startswith(f"{HOST}: rank {r} ") and "collective" in line for r, line in
                                                         enumerate(everywhere[:-1])) and named(everywhere[-1], pid, count - 1),
                     f"{count} ranks: --status of the folder tells where each is", str(everywhere))
        time.sleep(3)
        checks.check(len(job.said()) == 1, f"{count} ranks: once", str(job.said()))
    finally:
        os.kill(pid, signal.SIGCONT)
    checks.check(until(lambda: job.step(0) > before + 20, WITHIN_S), f"{count} ranks: the job goes on", job.status(0))
    checks.check(until(lambda: not job.shown(), 25), f"{count} ranks: and shows nothing any more", str(job.shown()))
    job.end()
    texts = {r: health(f"{job.folder}/{f}") for r in range(count) for f in os.listdir(job.folder) if f".r{r}." in f}
    checks.check(len(texts) == count == len(os.listdir(job.folder)) - 1 and [r for r, t in texts.items() if t] == [LATE],
                 f"{count} ranks: a profile each and nothing else; the late rank's health has it", f"{texts} {os.listdir(job.folder)}")
    shutil.rmtree(job.folder)


def main():
    build, checks = Build(sys.argv[1]), Checks()
    for name in list(build.env):
        if name.startswith(("SLURM_", "OMPI_", "PMI", "FLUX_")) or name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"):
            del build.env[name]
    for count in [int(a) for a in sys.argv[2:]] or [4]:
        late_rank(build, checks, count)
    checks.done()


if __name__ == "__main__":
    main()
