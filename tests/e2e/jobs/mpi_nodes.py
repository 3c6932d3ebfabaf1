#!/usr/bin/env python3
"""Open MPI's mpirun over two hosts, in namespaces of their own, each rank under gpuprof: one folder becomes one job of ranks on two
hosts, a late node is named; what was recorded is there however the job ends. gpuprof-mpi makes one profile by processes of both hosts.

usage: mpi_nodes.py BUILD [PART...]
"""
import os
import shutil
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from nodes import Job, Nodes, go_apart
from support import Build, Checks

TRAIN = """#!/bin/sh
export RANK=$OMPI_COMM_WORLD_RANK LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE LOCAL_WORLD_SIZE=1
export MASTER_ADDR=node1 MASTER_PORT=29500
exec {bin}/train_ddp --data fixed --depth 18 --batch 16 "$@"
"""


class Hosts:
    """Two nodes, which mpirun reaches by what stands for ssh."""

    def __init__(self, build):
        self.build = build
        self.nodes = Nodes(2, build.folder.name)
        cases = "".join(f"{name}) exec {' '.join(self.nodes.on(name))} sh -c \"$*\" ;;\n" for name in self.nodes.names)
        for name, text in (("train", TRAIN.format(bin=build.bin)), ("reach", f"#!/bin/sh\nhost=$1\nshift\ncase $host in\n{cases}esac\n")):
            with open(build.path(name), "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o755)) as f:
                f.write(text)
        self.mpirun = ["mpirun", "--allow-run-as-root", "--mca", "plm_rsh_agent", build.path("reach"), "--host", "node1:1,node2:1", "-n", "2"]

    def start(self, output, *program):
        return Job(self.build, self.nodes, self.mpirun, output, *program)


def started(hosts, output):
    job = hosts.start(output, "./train", "--steps", "1000000")
    job.reads("^step")
    time.sleep(0.5)
    return job


def one_job(hosts, checks):
    job = hosts.start("one", "./train", "--steps", "30", "--defect", "straggler-host")
    status, err = job.ends()
    made = job.left()
    checks.check(status == 0 and made == job.profiles(), "mpirun: a profile of each rank, by host and rank", f"{status} {made} {err[-800:]}")
    job.is_late_node(checks, "mpirun")
    reduced(hosts, checks)


def reduced(hosts, checks):
    build = hosts.build
    program = build.gpuprof + "-mpi"
    if not os.path.exists(program):
        print("skipped  gpuprof-mpi: not built")
        return
    done = build.run([*hosts.mpirun, program, "one", "-o", build.path("one.gpuprof")])
    checks.check(done.returncode == 0 and "2 files" in done.stderr, "gpuprof-mpi on both hosts makes one profile", done.stderr)
    told = build.run([build.gpuprof, "analyze", "one.gpuprof"])
    checks.check(told.returncode == 0 and "rank 1 is late (on node2)" in " ".join(told.stdout.split()), "gpuprof-mpi: the late rank is named with its node",
                 told.stdout[-800:] + told.stderr)


def ended(hosts, checks):
    job = started(hosts, "ended")
    job.process.send_signal(signal.SIGTERM)
    status, err = job.ends()
    checks.check(status != 0 and "did not end" not in err, "SIGTERM to mpirun ends the job", err)
    job.keeps(checks, job.profiles(), "SIGTERM")


def lost_node(hosts, checks):
    """mpirun's daemon dies on one node, and mpirun ends the other one."""
    job = started(hosts, "lost")
    killed = hosts.nodes.kill("orted", "node2")
    status, err = job.ends()
    checks.check(killed and status != 0 and "did not end" not in err, "orted is killed: the job ends", err)
    job.keeps(checks, job.profiles(), "orted killed")


def killed(hosts, checks):
    job = started(hosts, "killed")
    count = hosts.nodes.kill("gpuprof", "node2")
    status, err = job.ends()
    checks.check(count > 1 and status != 0 and "did not end" not in err, "gpuprof is killed on node2: the job ends", f"{count} {err}")
    job.keeps_folder(checks, job.profiles(), "gpuprof killed")


def hangs(hosts, checks):
    """Rank 1 is stopped: the gpuprof beside it names it, its node and the collective."""
    job = hosts.start("hangs", "./train", "--batch", "256", "--steps", "1000000")
    job.reads(r"^step +[1-9]\d\d")
    pid = hosts.nodes.processes("train_ddp")["node2"][0]
    time.sleep(5)  # the usual length of a step is known
    os.kill(pid, signal.SIGSTOP)
    time.sleep(25)
    told = hosts.build.run([hosts.build.gpuprof, "record", "--status", "hangs"]).stdout.splitlines()
    job.process.send_signal(signal.SIGTERM)
    os.kill(pid, signal.SIGCONT)
    said = [line for line in job.ends()[1].splitlines() if "of a communicator" in line]
    checks.check(len(said) == 1 and f"rank 1 (process {pid} on node2) has" in said[0] and "ncclAllReduce" in said[0],
                 "a rank is stopped: it is named with its node and the collective, once", str(said))
    checks.check(len(told) == 3 and told[0].startswith("node1: rank 0 ") and told[1].startswith("node2: rank 1 ")
                 and f"process {pid} on node2" in told[2], "record --status of the folder tells where each rank is", str(told))


PARTS = (one_job, hangs, ended, lost_node, killed)


def main():
    if not shutil.which("mpirun") or not shutil.which("orted"):
        print("skipped: no MPI")
        sys.exit(77)
    if not go_apart():
        print("skipped: no namespaces")
        sys.exit(77)
    build, checks = Build(sys.argv[1]), Checks()
    hosts = Hosts(build)
    for part in PARTS:
        if not sys.argv[2:] or part.__name__ in sys.argv[2:]:
            since = time.monotonic()
            part(hosts, checks)
            print(f"        {part.__name__}: {time.monotonic() - since:.1f} s")
    checks.check(hosts.nodes.quiet(), "no process of a job is left", str(hosts.nodes.processes("gpuprof")))
    checks.done()


if __name__ == "__main__":
    main()
