#!/usr/bin/env python3
"""Recording a job: one profile for each process that a launcher starts, named by job, host and rank; names that exist end no
job; nothing temporary stays. With Open MPI's mpirun and PyTorch's torchrun where they are installed.

usage: jobs.py BUILD [PART...]
"""
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import DEVICE, Build, Checks

HOST = os.uname().nodename
SHORT = HOST.split(".")[0]
MPIRUN = ["mpirun", "--oversubscribe", "--allow-run-as-root"]


def listed(build, folder="."):
    return sorted(os.listdir(build.path(folder)))


def rows(path, query):
    db = sqlite3.connect(path)
    found = db.execute(query).fetchall()
    db.close()
    return found


def start(build, output, program, *options, **variables):
    return subprocess.Popen([build.gpuprof, "run", "-q", "-o", output, *options, "--", *program], cwd=build.folder.name,
                            env={**build.env, **variables}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def names(build, checks):
    """What a folder's files are called, by the variables that launchers set."""
    for variables, wanted in (
            ({}, f"true.{SHORT}"),
            ({"SLURM_PROCID": "3", "SLURM_NTASKS": "8", "SLURM_JOB_ID": "77"}, f"true.j77.{SHORT}.r3"),
            ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, f"true.{SHORT}.r1"),
            ({"PMI_RANK": "0", "PMI_SIZE": "2", "PBS_JOBID": "12.server/x"}, f"true.j12-server-x.{SHORT}.r0"),
            ({"PMIX_RANK": "5"}, f"true.{SHORT}.r5"),
            ({"MV2_COMM_WORLD_RANK": "2", "MV2_COMM_WORLD_SIZE": "4"}, f"true.{SHORT}.r2"),
            ({"FLUX_TASK_RANK": "6", "FLUX_JOB_SIZE": "8", "FLUX_JOB_ID": "f23aB"}, f"true.jf23aB.{SHORT}.r6"),
            ({"JOB_COMPLETION_INDEX": "4"}, f"true.{SHORT}.r4"),
            ({"RANK": "1", "WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "none", "SLURM_PROCID": "9"}, f"true.{SHORT}.r1")):
        done = build.run([build.gpuprof, "run", "-q", "-o", "a/b/", "--", "true"], **variables)
        made = listed(build, "a/b") if done.returncode == 0 else done.stderr
        checks.check(made == [wanted + ".gpuprof"], f"{variables}: {wanted}", str(made))
        shutil.rmtree(build.path("a"), ignore_errors=True)
    os.mkdir(build.path("there"))
    for n in (1, 2, 3):
        build.run([build.gpuprof, "run", "-q", "-f", "-o", "there", "--", "true"])
        wanted = sorted([f"true.{SHORT}.gpuprof"] + [f"true.{SHORT}.{k}.gpuprof" for k in range(2, n + 1)])
        checks.check(listed(build, "there") == wanted, f"a folder that exists, run {n}", str(listed(build, "there")))
    shutil.rmtree(build.path("there"))
    with open(build.path("file"), "w", encoding="ascii") as f:
        f.write("x")
    done = build.run([build.gpuprof, "run", "-o", "file/", "--", "echo", "ran"])
    checks.check((done.returncode, done.stdout) == (2, "") and len(done.stderr.splitlines()) == 1,
                 "a file where the folder would be: one clear line, status 2", done.stderr)
    os.unlink(build.path("file"))


def taken(build, checks):
    """A name that exists ends a single run before its program starts, but no job."""
    build.run([build.gpuprof, "run", "-q", "-o", "x.gpuprof", "--", "true"])
    alone = build.run([build.gpuprof, "run", "-o", "x.gpuprof", "--", "echo", "ran"])
    checks.check(alone.returncode == 125 and not alone.stdout, "without a launcher gpuprof refuses", alone.stderr)
    one = {"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}
    done = build.run([build.gpuprof, "run", "-o", "x.gpuprof", "--", "echo", "ran"], **one)
    checks.check((done.returncode, done.stdout) == (0, "ran\n") and listed(build) == ["x.2.gpuprof", "x.gpuprof"]
                 and "x.2.gpuprof" in done.stderr, "under a launcher the next name is taken, and told", done.stderr)
    for pattern, wanted in (("%h.gpuprof", f"{HOST}.r1.gpuprof"), ("%q{SLURM_PROCID}.gpuprof", "1.gpuprof"), ("%r.gpuprof", "1.gpuprof")):
        build.run([build.gpuprof, "run", "-q", "-o", pattern, "--", "true"], SLURM_PROCID="1", SLURM_NTASKS="2")
        checks.check(wanted in listed(build), f"-o {pattern} of rank 1: {wanted}", str(listed(build)))
        os.unlink(build.path(wanted))
    for name in listed(build):
        os.unlink(build.path(name))


def rounds(build, checks):
    """Twenty times eight near-simultaneous starts with one -o: nothing is lost."""
    ways = (("one.gpuprof", lambda i: {"SLURM_PROCID": str(i), "SLURM_NTASKS": "8"}),  # ranks
            ("one.gpuprof", lambda i: {"PMI_RANK": "0", "PMI_SIZE": "8"}),  # all say that they are rank 0
            ("one.gpuprof", lambda i: {"JOB_COMPLETION_INDEX": str(i // 2)}),
            ("%q{NOTHING}one.gpuprof", lambda i: {"RANK": str(i), "WORLD_SIZE": "8"}),
            ("folder/", lambda i: {}))
    bad = []
    for k in range(20):
        output, variables = ways[k % len(ways)]
        runs = [start(build, output, ["sh", "-c", f"echo mark{i}"], "-f" if k == 5 else "-q", **variables(i)) for i in range(8)]
        told = [run.communicate(timeout=120) for run in runs]
        folder = build.path("folder") if output == "folder/" else build.folder.name
        made = [os.path.join(folder, f) for f in os.listdir(folder)]
        commands = set()
        for path in made:
            if path.endswith(".gpuprof"):
                commands.update(v for v, in rows(path, "SELECT v.text FROM meta JOIN string k ON k.id = key JOIN string v ON "
                                                       "v.id = value WHERE k.text = 'command'"))
        if len(made) != 8 or len(commands) != 8 or any(run.returncode for run in runs) or \
                [out for out, _ in told] != [f"mark{i}\n" for i in range(8)]:
            bad.append((k, sorted(made), told))
        for path in made:
            os.unlink(path)
        if output == "folder/":
            os.rmdir(folder)
    checks.check(not bad, "twenty times eight simultaneous starts: eight profiles, eight commands", str(bad[:2]))


def processes(build, checks):
    """The process knows its place, its host and its job."""
    build.run([build.gpuprof, "run", "-q", "-o", "p/", "--device", DEVICE, "--", build.train, "--steps", "4"],
              FLUX_TASK_RANK="2", FLUX_TASK_LOCAL_ID="0", FLUX_JOB_SIZE="4", FLUX_JOB_ID="f7", TORCHELASTIC_RESTART_COUNT="1")
    path = build.path("p/" + listed(build, "p")[0])
    found = rows(path, "SELECT rank, local_rank, world_size, h.text FROM process p JOIN string h ON h.id = p.host")
    checks.check(found == [(2, 0, 4, HOST)], "rank, number on the machine, ranks and host", str(found))
    facts = dict(rows(path, "SELECT k.text, v.text FROM meta JOIN string k ON k.id = key JOIN string v ON v.id = value"))
    checks.check((facts.get("job"), facts.get("restart")) == ("f7", "1"), "job and restarts", str(facts))
    shutil.rmtree(build.path("p"))
    commit, other = "c0ffee" * 6 + "1234", "d" * 40
    os.makedirs(build.path("p/.git/refs/heads"))
    os.makedirs(build.path("p/deep"))
    for what, files, wanted in (("a branch", {"HEAD": "ref: refs/heads/main\n", "refs/heads/main": commit + "\n"}, commit),
                                ("a packed branch", {"refs/heads/main": "", "packed-refs": f"# pack-refs\n{other} refs/heads/main\n"}, other),
                                ("a detached head", {"HEAD": commit + "\n"}, commit), ("no commit yet", {"HEAD": "ref: refs/heads/none\n"}, None)):
        for name, text in files.items():
            with open(build.path("p/.git/" + name), "w", encoding="ascii") as f:
                f.write(text)
        subprocess.run([build.gpuprof, "run", "-q", "-f", "-o", "x.gpuprof", "--", "true"], cwd=build.path("p/deep"), check=False,
                       env={k: v for k, v in build.env.items() if k not in ("GITHUB_SHA", "CI_COMMIT_SHA")}, capture_output=True)
        facts = dict(rows(build.path("p/deep/x.gpuprof"), "SELECT k.text, v.text FROM meta JOIN string k ON k.id = key JOIN string v "
                                                          "ON v.id = value"))
        checks.check(facts.get("commit") == wanted, f"the commit of {what}", str(facts.get("commit")))
    shutil.rmtree(build.path("p"))
    build.run([build.gpuprof, "run", "-q", "--redact", "-o", "p/", "--device", DEVICE, "--", build.train, "--steps", "4"])
    path = build.path("p/" + listed(build, "p")[0])
    found = rows(path, "SELECT h.text FROM process p JOIN string h ON h.id = p.host")
    checks.check(found == [("***",)], "--redact hides the host", str(found))
    shutil.rmtree(build.path("p"))


def asked_to_end(build, checks):
    """A program that ignores SIGTERM. In a job all is killed soon after that, so its profile is written before. The second one, without
    a launcher, sleeps after some steps: two that compute would leave the recorder no core, and it has 30 s."""
    trainer = [build.train, "--data", "fixed", "--depth", "18", "--batch", "8", "--steps"]
    runs = [subprocess.Popen([build.gpuprof, "run", "--device", DEVICE, "-o", f"asked{i}.gpuprof", "--", "sh", "-c", f'trap "" TERM; {what}', "sh",
                              *trainer, steps], cwd=build.folder.name, env={**build.env, **variables}, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, start_new_session=True)
            for i, (variables, what, steps) in enumerate((({"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, 'exec "$@"', "1000000"),
                                                          ({}, '"$@"; exec sleep 40', "5")))]
    for run in runs:
        for line in run.stdout:
            if line.startswith("step"):
                break
        os.kill(run.pid, signal.SIGTERM)
    end = time.monotonic() + 25
    while time.monotonic() < end and "asked0.gpuprof" not in listed(build):
        time.sleep(0.1)
    left, alive = listed(build), [run.poll() is None for run in runs]
    checks.check("asked0.gpuprof" in left and all(alive), "a job's program goes on after SIGTERM: its profile is there", f"{left} {alive}")
    checks.check("asked1.gpuprof" not in left, "without a launcher gpuprof records on", str(left))
    for run in runs:
        os.killpg(run.pid, signal.SIGKILL)
    told = [run.communicate(timeout=60)[1] for run in runs]
    checks.check("continues after SIGTERM" in told[0] and "continues after SIGTERM" not in told[1], "gpuprof says so", str(told))
    end = time.monotonic() + 30
    while time.monotonic() < end and listed(build) != ["asked0.gpuprof", "asked1.gpuprof"]:
        time.sleep(0.1)
    counts = [rows(build.path(f), "SELECT count(*) FROM kernel")[0][0] for f in listed(build) if f.endswith(".gpuprof")]
    results = [rows(build.path(f), "SELECT count(*) FROM result")[0][0] for f in listed(build) if f.endswith(".gpuprof")]
    checks.check(len(results) == 2 and results[0] == 0, "nothing is added to a profile while SIGKILL may come", str(results))
    checks.check(len(counts) == 2 == len(listed(build)) and min(counts) > 0, "two profiles and nothing else", f"{counts} {listed(build)}")
    for f in listed(build):
        os.unlink(build.path(f))


def mpi(build, checks):
    """Four ranks of a trainer by mpirun, each under gpuprof; then one of them dies."""
    ddp = os.path.join(build.bin, "train_ddp")
    if not shutil.which("mpirun") or not os.path.exists(ddp):
        print("skipped  mpirun: not installed")
        return
    as_rank = ("export RANK=$OMPI_COMM_WORLD_RANK LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE "
               f"LOCAL_WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT={20000 + os.getpid() % 20000}; exec \"$@\"")
    job = [*MPIRUN, "-n", "4", build.gpuprof, "run", "-q", "-o", "mpi/", "--device", "virtual:h200", "--",
           "sh", "-c", as_rank, "sh", ddp, "--data", "fixed", "--depth", "18", "--batch", "16"]
    done = build.run([*job, "--steps", "12"])
    made = listed(build, "mpi")
    checks.check(done.returncode == 0 and made == [f"sh.{SHORT}.r{i}.gpuprof" for i in range(4)], "mpirun: a profile of each rank",
                 f"{made} {done.stderr[-400:]}")
    told = build.run([build.gpuprof, "analyze", "--json", "mpi"])
    checks.check(told.returncode == 0 and told.stdout.count('"rank"') >= 4, "the folder is one run of four ranks",
                 told.stderr + told.stdout[:300])
    shutil.rmtree(build.path("mpi"), ignore_errors=True)

    run = subprocess.Popen([*job, "--steps", "1000000"], cwd=build.folder.name, env=build.env, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True)
    for line in run.stdout:
        if line.startswith("step"):
            break
    victims = [int(p) for p in os.listdir("/proc") if p.isdigit() and is_rank(p, build.folder.name, "2")]
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    run.stdout.read()
    run.wait(timeout=60)
    for _ in range(300):  # the recorders outlive mpirun
        left = listed(build, "mpi")
        if len(left) == 4 and all(f.endswith(".gpuprof") for f in left):
            break
        time.sleep(0.1)
    checks.check(victims and run.returncode != 0 and left == [f"sh.{SHORT}.r{i}.gpuprof" for i in range(4)],
                 "an aborted job: four profiles and nothing else", f"{len(victims)} killed, status {run.returncode}, {left}")
    steps = [rows(build.path("mpi/" + f), "SELECT count(*) FROM kernel")[0][0] for f in left if f.endswith(".gpuprof")]
    checks.check(len(steps) == 4 and min(steps) > 0, "what they recorded until then is readable", str(steps))
    shutil.rmtree(build.path("mpi"), ignore_errors=True)


def is_rank(pid, folder, rank):
    """A trainer of this test that is `rank`."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as f:
            variables = f.read().split(b"\0")
        return os.readlink(f"/proc/{pid}/cwd") == folder and os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "train_ddp" \
            and b"RANK=" + rank.encode() in variables
    except OSError:
        return False


def main():
    build, checks = Build(sys.argv[1]), Checks()
    for name in list(build.env):  # of a launcher that starts this test
        if name.startswith(("SLURM_", "OMPI_", "PMI", "FLUX_")) or name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"):
            del build.env[name]
    for part in (names, taken, rounds, processes, asked_to_end, mpi):
        if not sys.argv[2:] or part.__name__ in sys.argv[2:]:
            part(build, checks)
    left = [f for f in listed(build)]
    checks.check(not left, "nothing is left behind", ", ".join(left))
    checks.done()


if __name__ == "__main__":
    main()
