#!/usr/bin/env python3
"""The commands of docs/slurm.md, docs/torchrun.md and docs/kubernetes.md, as they are printed there. `srun` stands for Slurm: it starts
tasks on two hosts (host names of their own, where this may be done) with the variables that Slurm sets; `python` runs a trainer
on the virtual GPU. mpirun and torchrun are real, where they are installed.

usage: guides.py BUILD [PAGE...]
"""
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import Build, Checks

SOURCE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
OWN_HOST = os.uname().nodename.split(".")[0]
SRUN = r"""
import os, subprocess, sys
words, per_node = sys.argv[1:], 2
while words and words[0].startswith("--"):
    option = words.pop(0).split("=")
    if option[0] == "--ntasks-per-node":
        per_node = int(option[1] if len(option) > 1 else words.pop(0))
tasks = []
for rank in range(2 * per_node):
    env = dict(os.environ, SLURM_PROCID=str(rank), SLURM_LOCALID=str(rank % per_node), SLURM_NODEID=str(rank // per_node),
               SLURM_NTASKS=str(2 * per_node), SLURM_STEP_NUM_TASKS=str(2 * per_node), SLURM_JOB_ID="4711")
    named = ["unshare", "--uts", "sh", "-c", 'hostname "$1" && shift && exec "$@"', "sh", f"node{rank // per_node}"] if HOSTS and not os.environ.get("ONE_HOST") else []
    tasks.append(subprocess.Popen(named + words, env=env))
    if per_node == 1 and words[0] == "bash":
        tasks[-1].wait()  # copies from what is each node's own disk, and one folder here: one node after the other
sys.exit(max(t.wait() for t in tasks))
"""
PYTHON_SHIM = """#!/bin/sh
exec {train} --batch 16 --depth 18 --data fixed --steps "${{STEPS:-12}}"
"""
TORCHRUN_SHIM = """#!/bin/bash
words=()
while [ $# -gt 0 ] && [ "$1" != gpuprof ] && [ "$1" != train.py ]; do
    case $1 in --*) words+=("--$(echo "${{1#--}}" | tr - _)") ;; *) words+=("$1") ;; esac # PyTorch 1 knows these names only
    shift
done
exec {python} -m torch.distributed.run -r 1 -t 1 --log_dir "$PWD/log" "${{words[@]}}" "$@"
"""
GLOO = """
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 2))
opt = torch.optim.SGD(model.parameters(), 1e-3)
for i in range(12):
    opt.zero_grad()
    model(torch.ones(4, 8) * i).sum().backward()
    opt.step()
dist.destroy_process_group()
"""


class Guide:
    """A folder in which the words of the page mean what stands in for them."""

    def __init__(self, build, name):
        self.build, self.folder = build, build.path(name)
        os.makedirs(self.folder + "/bin")
        self.hosts = subprocess.run(["unshare", "--uts", "hostname", "node0"], capture_output=True, check=False).returncode == 0
        self.command("gpuprof", f'#!/bin/bash\n[ "$1" = run ] && set -- run --device virtual:a100-80 "${{@:2}}"\nexec {build.gpuprof} "$@"\n')
        self.command("srun", f"#!{sys.executable}\nHOSTS = {self.hosts}\n{SRUN}")
        self.command("scontrol", "#!/bin/sh\necho 127.0.0.1\n")
        self.command("python", PYTHON_SHIM.format(train=build.train))
        self.variables = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}"}

    def command(self, name, text):
        path = f"{self.folder}/bin/{name}"
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def shell(self, text, **variables):
        run = subprocess.Popen(["bash", "-e", "-c", text], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**self.build.env, **self.variables, **variables}, start_new_session=True)
        try:
            out, err = run.communicate(timeout=100)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGTERM)  # launchers would wait for each other for ever
            out, err = run.communicate()
            err += "\nit did not end"
        return subprocess.CompletedProcess(text, run.returncode, out, err)

    def profiles(self, folder="profiles"):
        path = f"{self.folder}/{folder}"
        found = sorted(os.listdir(path)) if os.path.isdir(path) else []
        shutil.rmtree(path, ignore_errors=True)
        return found

    def host(self, node):
        return f"node{node}" if self.hosts else OWN_HOST


def blocks(page, kind="sh"):
    with open(os.path.join(SOURCE, "docs", page), encoding="utf-8") as f:
        return re.findall(rf"```{kind}\n(.*?)```", f.read(), re.S)


def on_request(guide, checks, text, names):
    """The job runs when its profiles are asked for; each rank makes one."""
    run, ask, analyze = text.splitlines()
    wanted = [n.replace(".gpuprof", ".w1.gpuprof") for n in names]
    folder = guide.folder + "/profiles"
    job = subprocess.Popen(["bash", "-c", run], cwd=guide.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env={**guide.build.env, **guide.variables, "STEPS": "6000"}, start_new_session=True)
    try:
        wait_for(lambda: os.path.isdir(folder) and sum(n.startswith(".gpuprof-") for n in os.listdir(folder)) == len(names))
        asked = guide.shell(ask)
        wait_for(lambda: all(n in os.listdir(folder) for n in wanted))
    finally:
        os.killpg(job.pid, signal.SIGTERM)
        said = job.communicate()[1]
    read = guide.shell(analyze)
    made = guide.profiles()
    checks.check(asked.returncode == 0 and made == sorted(["gpuprof.record", *wanted]) and read.returncode == 0 and "Verdict" in read.stdout,
                 "a job that is slow now: each rank records when asked", f"{made} {asked.stderr} {read.stderr[-500:]} {said[-500:]}")


def wait_for(there, most_s=60):
    until = time.monotonic() + most_s
    while not there() and time.monotonic() < until:
        time.sleep(0.1)


def with_mpirun(guide):
    real = shutil.which("mpirun")
    guide.command("mpirun", f'#!/bin/sh\nexec {real} --oversubscribe --allow-run-as-root "$@"\n')


def by_mpi(guide, checks, text):
    program = guide.build.gpuprof + "-mpi"
    if not os.path.exists(program) or not shutil.which("mpirun"):
        print("skipped  gpuprof-mpi: not built")
        return
    with_mpirun(guide)
    guide.command("gpuprof-mpi", f'#!/bin/sh\nexec {program} "$@"\n')
    os.remove(guide.folder + "/job.gpuprof")
    done = guide.shell(text.replace("-n 16", "-n 3"), SLURM_JOB_ID="4711")
    checks.check(done.returncode == 0 and "wrote job.gpuprof: 4 files" in done.stderr, "the same profile by processes of MPI", done.stderr[-500:])


def slurm(build, checks):
    guide = Guide(build, "slurm")
    ranks, script, reduce, reduce_mpi, armed, mpi = blocks("slurm.md")
    wanted = [f"train.j4711.{guide.host(r // 2)}.r{r}.gpuprof" for r in range(4)]
    done = guide.shell(ranks)
    made = guide.profiles()
    checks.check(done.returncode == 0 and made == wanted, "srun: one profile a rank", f"{made} {done.stderr[-500:]}")
    done = guide.shell(script, SLURM_JOB_ID="4711", SLURM_JOB_NODELIST="node[0-1]")
    small = guide.shell(reduce, SLURM_JOB_ID="4711")
    by_mpi(guide, checks, reduce_mpi)
    made = guide.profiles("profiles-4711")
    checks.check(done.returncode == 0 and made == [w.replace("train.", "bash.", 1) for w in wanted] and "gpuprof: profile" not in done.stderr,
                 "a batch script", f"{made} {done.stderr[-500:]}")
    pages = [name for name in sorted(os.listdir(guide.folder)) if name.startswith("job.")]
    checks.check(small.returncode == 0 and "4 files" in small.stderr and pages == ["job.gpuprof", "job.html"], "one small profile of all ranks",
                 f"{pages} {small.stderr[-500:]}")
    on_request(guide, checks, armed, wanted)
    if not shutil.which("mpirun"):
        print("skipped  mpirun: not installed")
        return
    with_mpirun(guide)
    shutil.copy(guide.folder + "/bin/python", guide.folder + "/train")
    done = guide.shell(mpi.replace("-n 8", "-n 3"))
    made = guide.profiles()
    checks.check(done.returncode == 0 and made == [f"train.{OWN_HOST}.r{r}.gpuprof" for r in range(3)], "mpirun: one profile a rank",
                 f"{made} {done.stderr[-500:]}")


def with_torch():
    for path in ("/usr/bin/python3", sys.executable, *filter(None, os.environ.get("GPUPROF_TEST_PYTHONS", "").split(":"))):
        if os.path.exists(path) and subprocess.run([path, "-c", "import torch.distributed.run"], capture_output=True,
                                                   check=False).returncode == 0:
            return path
    return None


def torchrun(build, checks):
    python = with_torch()
    if not python:
        print("skipped  torchrun: no Python with PyTorch")
        return
    guide = Guide(build, "torchrun")
    guide.command("gpuprof", f'#!/bin/sh\nexec {build.gpuprof} "$@"\n')  # PyTorch for processors: no virtual GPU
    guide.command("python", f'#!/bin/sh\nexec {python} "$@"\n')
    guide.command("torchrun", TORCHRUN_SHIM.format(python=python))
    with open(guide.folder + "/train.py", "w", encoding="utf-8") as f:
        f.write(GLOO)
    node, nodes, rank = (b.replace("--nproc-per-node 4", "--nproc-per-node 2") for b in blocks("torchrun.md"))
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    variables = {"MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "1", "HEAD": "127.0.0.1", "PET_MASTER_PORT": str(port)}
    done = guide.shell(node.replace("gpuprof analyze profiles", "gpuprof analyze --json profiles"), **variables)
    made = guide.profiles()
    checks.check(done.returncode == 0 and made == [f"train.{OWN_HOST}.gpuprof"] and '"rank": 1' in done.stdout,
                 "torchrun: one profile of both ranks", f"{made} {done.stderr[-500:]}")
    done = guide.shell(nodes.replace("29500", str(port)), ONE_HOST="1", **variables)  # PyTorch looks host names up
    made = guide.profiles()
    checks.check(done.returncode == 0 and made == [f"train.j4711.{OWN_HOST}.r{n}.gpuprof" for n in range(2)],
                 "torchrun on two nodes: one profile a node", f"{made} {done.stderr[-800:]}")
    done = guide.shell(rank, **variables)
    made = guide.profiles()
    checks.check(done.returncode == 0 and made == [f"train.{OWN_HOST}.r{r}.gpuprof" for r in range(2)], "torchrun: one profile a rank",
                 f"{made} {done.stderr[-500:]}")


def kubernetes(build, checks):
    guide = Guide(build, "kubernetes")
    commands = [c for b in blocks("kubernetes.md", "yaml") for c in re.findall(r"command: \[(.*?)\]\n", b)]
    checks.check(len(commands) == 2, "the page has a command with and one without torchrun", str(commands))
    words = commands[0].replace(",", "").split()
    line = " ".join(["gpuprof", *(w if w != "/profiles/" else "profiles/" for w in words[1:])])
    for index in (0, 2, 2):
        done = guide.shell(line, JOB_COMPLETION_INDEX=str(index), HOSTNAME=f"train-{index}")
        checks.check(done.returncode == 0, f"pod {index}", done.stderr[-500:])
    made = guide.profiles()
    checks.check(made == sorted([f"train.{OWN_HOST}.r0.gpuprof", f"train.{OWN_HOST}.r2.gpuprof", f"train.{OWN_HOST}.r2.2.gpuprof"]),
                 "a profile of each pod, and of the one that started again", str(made))


def main():
    build, checks = Build(sys.argv[1]), Checks()
    for name in list(build.env):
        if name.startswith(("SLURM_", "OMPI_", "PMI", "FLUX_", "TORCHELASTIC")) or name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"):
            del build.env[name]
    for part in (slurm, torchrun, kubernetes):
        if not sys.argv[2:] or part.__name__ in sys.argv[2:]:
            part(build, checks)
    checks.done()


if __name__ == "__main__":
    main()
