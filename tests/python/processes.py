#!/usr/bin/env python3
"""Programs of many processes: launchers' ranks are recognised, each process is told apart, and the
program is what it is without gpuprof. Launchers that are not here are left out.

usage: processes.py BUILD
"""
import shutil
import sys

import fake_torch
from support import PYTHON, Test, facts, have_torch, query

DDP = """
import os, sys, time, torch, torch.distributed as dist
from torch.utils.data import DataLoader, Dataset
class Data(Dataset):
    def __len__(self): return 32
    def __getitem__(self, i):
        time.sleep(0.004 * int(os.environ.get("RANK", 0)))  # the other rank waits for this one
        return torch.full((8,), float(i)), i % 2
def main():
    rank = int(os.environ.get("RANK", os.environ.get("OMPI_COMM_WORLD_RANK", 0)))
    world = int(os.environ.get("WORLD_SIZE", os.environ.get("OMPI_COMM_WORLD_SIZE", 1)))
    dist.init_process_group("gloo", "file://" + sys.argv[1], rank=rank, world_size=world)
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), 1e-3)
    for x, y in DataLoader(Data(), batch_size=4, num_workers=1):
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
    if rank == 0: print("loss", loss.item())
    dist.destroy_process_group()
if __name__ == "__main__":
    main()
"""
SPAWN = """
import os, torch, torch.multiprocessing as mp
def work(rank):
    w = torch.nn.Parameter(torch.ones(1))
    opt = torch.optim.SGD([w], 0.1)
    for _ in range(4):
        opt.zero_grad(); (w * rank).sum().backward(); opt.step()
if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
    if os.fork() == 0:
        work(2)
        os._exit(0)
    print(os.wait()[1])
    os.execv("/bin/sh", ["sh", "-c", "echo replaced; /usr/bin/python3 -c 'print(3)'"])
"""


def processes(profile):
    return query(profile, "SELECT p.rank, p.world_size, count(r.id) FROM process p "
                          "LEFT JOIN range r ON r.process = p.id AND r.name = (SELECT id FROM string "
                          "WHERE text = 'gpuprof.step') GROUP BY p.id ORDER BY 1")


def ranks(test, what, profile, steps):
    seen = [row for row in processes(profile) if row[2]]
    test.check([(rank, world) for rank, world, _ in seen] == [(0, 2), (1, 2)], f"{what}: two ranks",
               processes(profile))
    test.check([n for _, _, n in seen] == [steps, steps], f"{what}: steps of each", seen)
    made = query(profile, "SELECT count(DISTINCT process), count(*) FROM loader_span "
                          "WHERE what = 1 AND worker = 0")[0]
    test.check(made == (2, 16), f"{what}: each rank's loader has a worker of its own", made)


def launchers(test, script):
    launch = ["-m", "torch.distributed.run", "--nproc_per_node", "2", "--standalone",
              "-r", "1", "-t", "1", "--log_dir", test.path("log")]
    command = [PYTHON, *launch, script]
    if test.run([*command, test.path("meet0")]).returncode == 0:
        done, profile = test.traced([*command, test.path("meet1")])
        test.check(done.returncode == 0 and "loss" in done.stdout, "torchrun: status and output",
                   done.stderr[-600:])
        ranks(test, "torchrun", profile, 7)
        text = " ".join(test.run([test.gpuprof, "analyze", profile]).stdout.split())
        test.check("Straggler: rank 1 keeps the other ranks waiting" in text,
                   "torchrun: the rank whose data is late is named", text[:900])
        test.check("bucket_bytes_cap" in facts(profile).get("torch.ddp", ""), "torchrun: DDP seen")
    else:
        print("        torchrun does not work here: left out")
    if shutil.which("mpirun"):
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", PYTHON, script]
        done, profile = test.traced([*command, test.path("meet2")])
        test.check(done.returncode == 0 and "loss" in done.stdout, "mpirun: status and output",
                   done.stderr[-600:])
        ranks(test, "mpirun", profile, 7)
    else:
        print("        no mpirun here: left out")


def variables(test):
    """Without the launcher: what it would have set."""
    fake = fake_torch.write(test, "fake")
    for name, variables in {
            "torchrun": {"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "8"},
            "Open MPI": {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
                         "OMPI_COMM_WORLD_SIZE": "8"},
            "Slurm": {"SLURM_PROCID": "3", "SLURM_LOCALID": "1", "SLURM_NTASKS": "8"},
            "MPICH": {"PMI_RANK": "3", "MPI_LOCALRANKID": "1", "PMI_SIZE": "8"},
            "torchrun inside Slurm": {"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "8",
                                      "SLURM_PROCID": "0", "SLURM_LOCALID": "0",
                                      "SLURM_NTASKS": "1"}}.items():
        _, profile = test.traced([PYTHON, "-c", "import torch"], PYTHONPATH=fake,
                                **variables)
        profile = profile.replace(".gpuprof", ".r3.gpuprof")
        said = query(profile, "SELECT rank, local_rank, world_size FROM process")
        test.check(said == [(3, 1, 8)], f"variables of {name}", said)


def venv(test):
    """A virtual environment with the system's packages: the hook comes along."""
    folder = test.path("venv")
    made = test.run([PYTHON, "-m", "venv", "--without-pip", "--system-site-packages", folder])
    if made.returncode:
        print("        no venv here: left out")
        return
    code = "import sys, torch; print(sys.prefix, torch.ones(2).tolist())"
    profile = test.same("venv", [folder + "/bin/python", "-c", code])
    test.check("torch.version" in facts(profile), "venv: the hook was there", facts(profile))


def main():
    if not have_torch():
        print("no PyTorch for", PYTHON)
        sys.exit(77)
    test = Test(sys.argv[1])
    launchers(test, test.write("ddp.py", DDP))
    variables(test)
    venv(test)
    profile = test.same("spawn, fork, exec", [PYTHON, test.write("spawn.py", SPAWN)])
    with_steps = [n for _, _, n in processes(profile) if n]
    test.check(with_steps == [3, 3, 3], "spawn, fork, exec: three processes train", with_steps)
    test.done()


if __name__ == "__main__":
    main()
