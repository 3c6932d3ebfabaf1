#!/usr/bin/env python3
"""Slurm itself: slurmctld and the slurmd of two nodes, in namespaces of their own, and each task under gpuprof, as docs/slurm.md
has it. One folder becomes one job of ranks on two hosts, a late node is named; what was recorded is there however a job ends.

usage: slurm.py BUILD [PART...]       `limit` (over a minute) runs only if it is named
"""
import os
import re
import shutil
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from nodes import DEVICE, HEAD, Job, Nodes, go_apart, until
from support import Build, Checks

SOURCE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
KILL_WAIT_S = 14
NEEDED = ("slurmctld", "slurmd", "srun", "sbatch", "scancel", "munged")
CONF = f"""
ClusterName=test
SlurmctldHost={HEAD}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={{folder}}/munge.socket
StateSaveLocation={{folder}}/state
SlurmdSpoolDir={{folder}}/spool.%n
SlurmctldPidFile={{folder}}/slurmctld.pid
SlurmdPidFile={{folder}}/slurmd.%n.pid
SlurmctldLogFile={{folder}}/slurmctld.log
SlurmdLogFile={{folder}}/slurmd.%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
KillWait={KILL_WAIT_S}
GresTypes=gpu
NodeName=node[1-2] CPUs=4 Gres=gpu:4 State=UNKNOWN
PartitionName=all Nodes=node[1-2] Default=YES State=UP
"""
TRAIN = """#!/bin/sh
export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS LOCAL_WORLD_SIZE=1 MASTER_ADDR=node1 MASTER_PORT=29500
exec {bin}/train_ddp --data fixed --depth 18 --batch 16 "$@"
"""


def put(path, text):
    """A program."""
    with open(path, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o755)) as f:
        f.write(text)


class Cluster:
    """slurmctld here, a slurmd on each of two nodes."""

    def __init__(self, build):
        self.build, self.folder = build, build.path("slurm")
        os.makedirs(self.folder + "/state")
        os.chmod(build.folder.name, 0o755)
        self.nodes = Nodes(2, self.folder)
        for name, text in (("slurm.conf", CONF.format(folder=self.folder)), ("gres.conf", f"Name=gpu File={self.folder}/gpu[0-3]\n")):
            with open(f"{self.folder}/{name}", "w", encoding="ascii") as f:
                f.write(text)
        for n in range(4):
            os.mknod(f"{self.folder}/gpu{n}", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        build.env = {k: v for k, v in build.env.items() if not k.startswith(("SLURM", "SBATCH"))}
        build.env["SLURM_CONF"] = self.folder + "/slurm.conf"
        with open(self.folder + "/munge.key", "wb", opener=lambda path, flags: os.open(path, flags, 0o400)) as f:
            f.write(os.urandom(1024))
        f = self.folder + "/munge"
        self.daemons = [self.daemon("munged", "--foreground", "--force", f"--key-file={f}.key", f"--socket={f}.socket", f"--pid-file={f}.pid",
                                    f"--log-file={f}.log", f"--seed-file={f}.seed", "--num-threads=2")]
        until(lambda: os.path.exists(f + ".socket"))
        self.daemons.append(self.daemon("slurmctld", "-D", "-c"))
        self.daemons += [self.daemon(*self.nodes.on(n), "slurmd", "-D", "-N", n) for n in self.nodes.names]

    def daemon(self, *words):
        with open(f"{self.folder}/output", "ab") as f:
            return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=f, stderr=f, env=self.build.env)

    def is_up(self):
        return until(lambda: self.build.run(["sinfo", "-h", "-o", "%D %t"]).stdout == "2 idle\n", 20)

    def newest(self):
        """The number of the job that was started last."""
        found = []
        until(lambda: found.extend(self.build.run(["squeue", "-h", "-o", "%i"]).stdout.split()) or found)
        return found[-1] if found else ""

    def batch(self, *words, **variables):
        """A batch job to its end; its number. `sbatch -W` looks every ten seconds."""
        done = self.build.run(["sbatch", "--parsable", *words], **variables)
        until(lambda: not self.build.run(["squeue", "-h", "-j", done.stdout.strip()]).stdout, 60)
        return done.stdout.strip()

    def log(self):
        texts = []
        for name in sorted(os.listdir(self.folder)):
            if name.endswith((".log", "output")):
                with open(f"{self.folder}/{name}", encoding="utf-8", errors="replace") as f:
                    texts.append(f"{name}: {f.read()[-600:]}")
        return "\n".join(texts)

    def end(self):
        for d in self.daemons:
            d.terminate()
        for d in self.daemons:
            d.wait(20)


def srun(cluster, output, *program, options=()):
    """A task on each node."""
    return Job(cluster.build, cluster.nodes, ["srun", "-N2", "-n2", "--unbuffered", *options], output, *program)


def started(cluster, output):
    """A job that is well under way, and its number."""
    job = srun(cluster, output, "./train", "--steps", "1000000")
    job.reads("^step")
    time.sleep(0.5)
    return job, cluster.newest()


def one_job(cluster, checks):
    job = srun(cluster, "one", "./train", "--steps", "30", "--defect", "straggler-host")
    status, err = job.ends()
    made = job.left()
    number = re.search(r"\.j(\d+)\.", made[0]).group(1) if made else ""
    checks.check(status == 0 and made == job.profiles(number) and not err, "srun: a profile of each rank, by job, host and rank",
                 f"{status} {made} {err[-800:]}")
    job.is_late_node(checks, "srun")


def cancelled(cluster, checks):
    job, number = started(cluster, "cancelled")
    since = time.monotonic()
    cluster.build.run(["scancel", number])
    status, err = job.ends()
    checks.check(status != 0 and "CANCELLED" in err and "did not end" not in err, f"scancel ends the job ({time.monotonic() - since:.1f} s)", err)
    job.keeps(checks, job.profiles(number), "scancel")


def stubborn(cluster, checks):
    """A program that ignores SIGTERM, until Slurm kills all processes of the job."""
    job = srun(cluster, "ignored", "./stubborn", "--steps", "1000000")
    job.reads("^step")
    number = cluster.newest()
    cluster.build.run(["scancel", number])
    until(lambda: job.left() == job.profiles(number, "stubborn"), KILL_WAIT_S)
    checks.check(cluster.nodes.processes("train_ddp"), "SIGTERM is ignored: the profiles are there before the program ends", str(job.left()))
    status, err = job.ends()
    checks.check(status != 0 and err.count("continues after SIGTERM") == 2 and "did not end" not in err, "SIGTERM is ignored: Slurm kills the job", err)
    job.keeps(checks, job.profiles(number, "stubborn"), "SIGTERM ignored")


def lost_step(cluster, checks):
    """The daemon of the step dies on one node. Slurm does not see that for a while, but somebody does, and ends the job."""
    job, number = started(cluster, "lost")
    killed = cluster.nodes.kill("slurmstepd", "node2")
    cluster.build.run(["scancel", number])
    status, err = job.ends()
    checks.check(killed and status != 0 and "did not end" not in err, "slurmstepd is killed: the job ends", err)
    job.keeps(checks, job.profiles(number), "slurmstepd killed")


def killed(cluster, checks):
    job, number = started(cluster, "killed")
    count = cluster.nodes.kill("gpuprof", "node2")
    cluster.build.run(["scancel", number])  # else Slurm waits for the program, which goes on
    status, err = job.ends()
    checks.check(count > 1 and status != 0 and "did not end" not in err, "gpuprof is killed on node2: the job ends", f"{count} {err}")
    job.keeps_folder(checks, job.profiles(number), "gpuprof killed")


def signalled(cluster, checks):
    job = srun(cluster, "signalled", os.path.join(cluster.build.bin, "counts_signals"))
    job.reads("^ready", 2)
    cluster.build.run(["scancel", "--signal=USR1", cluster.newest()])
    job.reads("", 2)
    status, err = job.ends()
    counts = [line for line in job.seen if line.startswith("count 10:")]
    checks.check(status == 0 and counts == ["count 10: 1 0"] * 2, "scancel --signal=USR1: each program gets it once", f"{status} {job.seen} {err}")


def variants(cluster, checks):
    """Array jobs, and Slurm's own PMI."""
    build = cluster.build
    job = srun(cluster, "pmi2", "true", options=["--mpi=pmi2"])
    status, err = job.ends()
    made = [re.sub(r"\.j\d+", "", f) for f in job.left()]
    checks.check(status == 0 and made == job.profiles(program="true"), "srun --mpi=pmi2: by host and rank", f"{made} {err}")
    train = f"{build.gpuprof} run -q --device {DEVICE} -o array/ -- {build.train} --data fixed --depth 18 --batch 8 --steps 12"
    cluster.batch("-n1", "--array=1-3", "-o", "array-%a.out", "--wrap", train)
    made = sorted(os.listdir(build.path("array"))) if os.path.isdir(build.path("array")) else []
    checks.check(len({re.sub(r".*\.j(\d+)\..*", r"\1", f) for f in made}) == 3 == len(made),
                 "sbatch --array: a profile of each task, by its own job", str(made))
    told = build.run([build.gpuprof, "analyze", "array"])
    checks.check(told.returncode == 2 and "not the ranks of one run" in told.stderr, "gpuprof takes array tasks for no ranks", told.stdout + told.stderr)


def script(cluster, checks):
    """The batch script of docs/slurm.md, with fewer tasks. gpuprof has the virtual GPU there, and python is a trainer."""
    build = cluster.build
    with open(os.path.join(SOURCE, "docs/slurm.md"), encoding="utf-8") as f:
        text = next(b for b in re.findall(r"```sh\n(.*?)```", f.read(), re.S) if "#SBATCH" in b)
    os.makedirs(build.path("bin"))
    put(build.path("job.sh"), text.replace("--ntasks-per-node=4", "--ntasks-per-node=1"))
    put(build.path("bin/gpuprof"), f'#!/bin/bash\n[ "$1" = run ] && set -- run --device {DEVICE} "${{@:2}}"\nexec {build.gpuprof} "$@"\n')
    put(build.path("bin/python"), f"#!/bin/sh\nexec {build.bin}/train_ddp --data fixed --depth 18 --batch 16 --steps 12\n")
    number = cluster.batch("-o", "script.out", "job.sh", PATH=f"{build.path('bin')}:{os.environ['PATH']}")
    with open(build.path("script.out"), encoding="utf-8") as f:
        said = f.read()
    made = sorted(os.listdir(build.path(f"profiles-{number}"))) if os.path.isdir(build.path(f"profiles-{number}")) else []
    checks.check(made == [f"bash.j{number}.node{n + 1}.r{n}.gpuprof" for n in range(2)] and "Verdict" in said,
                 "the batch script of docs/slurm.md", f"{made} {said}")


def limit(cluster, checks):
    """A job that reaches its time limit."""
    build = cluster.build
    job = Job(build, cluster.nodes, ["sbatch", "-W", "-N2", "-n2", "--time=1", "-o", "limit.out", "./script", "srun"], "limit", "./train", "--steps",
              "1000000")
    status, err = job.ends(180)
    with open(build.path("limit.out"), encoding="utf-8") as f:
        text = f.read()
    checks.check(status != 0 and "DUE TO TIME LIMIT" in text, "the time limit ends the job", text[-600:] + err)
    job.keeps(checks, job.profiles(re.search(r"Submitted batch job (\d+)", "\n".join(job.seen)).group(1)), "time limit")


PARTS = (one_job, cancelled, stubborn, lost_step, killed, signalled, variants, script)


def main():
    if not all(shutil.which(n) for n in NEEDED):
        print("skipped: no Slurm")
        sys.exit(77)
    if not go_apart():
        print("skipped: no namespaces")
        sys.exit(77)
    build, checks = Build(sys.argv[1]), Checks()
    for name, text in (("train", TRAIN.format(bin=build.bin)), ("script", '#!/bin/sh\nexec "$@"\n'),
                       ("stubborn", '#!/bin/sh\ntrap "" TERM\nexec ./train "$@"\n')):
        put(build.path(name), text)
    cluster = Cluster(build)
    if checks.check(cluster.is_up(), "two nodes are up", cluster.log()):
        for part in (*PARTS, limit):
            if part.__name__ in sys.argv[2:] or (not sys.argv[2:] and part in PARTS):
                since = time.monotonic()
                part(cluster, checks)
                print(f"        {part.__name__}: {time.monotonic() - since:.1f} s")
        checks.check(cluster.nodes.quiet(), "no process of a job is left", str(cluster.nodes.processes("gpuprof")))
    cluster.end()
    checks.done()


if __name__ == "__main__":
    main()
