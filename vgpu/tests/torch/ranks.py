#!/usr/bin/env python3
"""Several ranks of real PyTorch on the virtual GPU. gpuprof around torchrun and inside it finds the steps of each rank and the same
collectives on all. A rank that dies ends the others, as on a card, and what was recorded is kept.

usage: ranks.py BUILD [NAME ...]
"""
import os
import re
import sqlite3
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../../tests/e2e"))
from support import Build, Checks  # noqa: E402

STEPS, DEATH = 12, 5


def torchrun(python, ranks):
    return [python, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks)]


def script(name):
    return os.path.join(HERE, "scripts", name + ".py")


def collectives(profile):
    """For each rank: how many collectives it called on its communicators of all ranks."""
    db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
    return dict(db.execute("SELECT p.rank, count(*) FROM collective c JOIN process p ON p.id = c.process GROUP BY 1"))


def same_on_all(checks, analysis, name, ranks):
    matched = {r["rank"]: r["collectives"] for r in analysis["ranks"] or []}
    checks.check(len(matched) == ranks and min(matched.values()) >= STEPS // 2 and len(set(matched.values())) == 1,
                 f"{name}: the collectives of {ranks} ranks are matched", str(matched))
    steps = (analysis["steps"] or {}).get("count") or 0
    checks.check(STEPS - 1 <= steps <= STEPS, f"{name}: {steps} steps", str(analysis["steps"]))


def around(build, checks, python):
    """gpuprof around torchrun: one profile of all ranks."""
    for name, ranks in (("dies", 4), ("fsdp", 2)):
        out = build.path(f"around-{name}.gpuprof")
        done = build.run([build.gpuprof, "run", "-q", "-f", "--device", f"virtual:h100,devices={ranks}", "-o", out, "--",
                          *torchrun(python, ranks), script(name)])
        if checks.check(done.returncode == 0, f"around {name}: ends with status 0", done.stderr[-1500:]):
            same_on_all(checks, build.analyze(out), f"around {name}", ranks)
            n = collectives(out)
            checks.check(len(n) == ranks and len(set(n.values())) == 1, f"around {name}: all ranks call as many", str(n))


def objects(build, checks, python):
    done = build.run([build.gpuprof, "run", "-q", "-f", "--device", "virtual:h100,devices=2", "-o", build.path("objects.gpuprof"), "--",
                      *torchrun(python, 2), script("objects")])
    checks.check(done.returncode == 0 and done.stdout.count(": 15 of 15") == 2, "objects arrive as they were sent",
                 done.stdout[-300:] + done.stderr[-1500:])


def graphs(build, checks, python):
    out = build.path("graphs.gpuprof")
    done = build.run([build.gpuprof, "run", "-q", "-f", "--device", "virtual:h100,devices=2", "-o", out, "--",
                      *torchrun(python, 2), script("graph_ranks")])
    checks.check(done.returncode == 0 and done.stdout.count("count 1024") == 2, "collectives of a graph move their data at each replay",
                 done.stdout[-300:] + done.stderr[-1500:])
    db = sqlite3.connect(out)
    n, longest = db.execute("SELECT count(*), max(k.end_ns - k.start_ns) FROM kernel k JOIN string s ON s.id = k.name "
                            "WHERE k.graph > 0 AND s.text LIKE '%AllReduce%'").fetchone()
    db.close()
    checks.check(n == 40 and longest > 4e6, "both ranks run them ten times, and wait for the late one", f"{n}, {longest} ns")


def mesh(build, checks, python):
    out = build.path("mesh.gpuprof")
    done = build.run([build.gpuprof, "run", "-q", "-f", "--device", "virtual:h100,devices=4", "-o", out, "--",
                      *torchrun(python, 4), script("mesh")])
    checks.check(done.returncode == 0 and done.stdout.count("done") == 4, "a mesh of two by two", done.stdout[-300:] + done.stderr[-1500:])
    named = {g["name"]: (g["groups"], g["ranks"], g["first_ranks"]) for g in build.analyze(out)["rank_groups"]}
    checks.check(named.get("mesh_tp") == (2, 2, "0, 1") and named.get("mesh_dp") == (2, 2, "0, 2"),
                 "its groups have the names that the program gives them", str(named))


def inside(build, checks, python):
    """gpuprof inside torchrun: a profile for each rank."""
    for name, ranks in (("dies", 4), ("fsdp", 2)):
        folder = build.path("inside-" + name)
        done = build.run([*torchrun(python, ranks), "--no-python", build.gpuprof, "run", "-q", "--device", "virtual:h100",
                          "-o", folder + "/", "--", python, script(name)])
        if not checks.check(done.returncode == 0, f"inside {name}: ends with status 0", done.stderr[-1500:]):
            continue
        files = sorted(os.listdir(folder))
        checks.check(len(files) == ranks, f"inside {name}: a profile for each rank", str(files))
        same_on_all(checks, build.analyze(folder), f"inside {name}", ranks)


def death(build, checks, python, how):
    name, out = "death by " + how, build.path(how + ".gpuprof")
    began = time.monotonic()
    done = build.run([build.gpuprof, "run", "-q", "-f", "--device", "virtual:h100,devices=4", "-o", out, "--",
                      *torchrun(python, 4), script("dies"), how])
    checks.check(done.returncode == 1, f"{name}: torchrun's status after {time.monotonic() - began:.0f} s", str(done.returncode))
    checks.check(re.search(r"Root Cause.*?rank +: 1 ", done.stderr, re.S), f"{name}: torchrun names the rank", done.stderr[-1500:])
    last = {int(r): int(s) for r, s in re.findall(r"^rank (\d) step (\d+) ", done.stdout, re.M)}
    checks.check(len(last) == 4 and set(last.values()) == {DEATH - 1}, f"{name}: no rank gets further", str(last))
    analysis = build.analyze(out)
    steps = analysis["steps"] or {}
    checks.check(len(analysis["ranks"] or []) == 4 and DEATH - 1 <= steps.get("count", 0) <= DEATH + 1,
                 f"{name}: what was recorded is kept", str(steps))
    checks.check(steps.get("max_ms", 1e9) < 1000, f"{name}: the wait for the dead is no step", str(steps))
    found = [f["rule"] for f in analysis["findings"]]
    checks.check("bucket-size" not in found, f"{name}: no advice on collectives from it", str(found))


def main():
    python = os.environ.get("GPUPROF_TORCH")
    if not python:
        print("skipped: ranks: set GPUPROF_TORCH to a Python with a CUDA build of PyTorch 2")
        sys.exit(77)
    build, checks = Build(sys.argv[1]), Checks()
    build.env.pop("GPUPROF_TORCH", None)
    build.env["OMP_NUM_THREADS"] = "1"
    wanted = sys.argv[2:]
    for name, part in (("around", around), ("inside", inside), ("objects", objects), ("graphs", graphs), ("mesh", mesh)):
        if not wanted or name in wanted:
            part(build, checks, python)
    for how in ("exit", "kill", "raise"):
        if not wanted or how in wanted:
            death(build, checks, python, how)
    checks.done()


main()
