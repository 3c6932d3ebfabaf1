#!/usr/bin/env python3
"""train_ddp under gpuprof: what each defect must be told as, one profile for all ranks of a run, and ranks that die.

usage: ranks.py BUILD [DEFECT...]       `tuned`, `together` and `death` name the other parts
"""
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import Build, Checks, lacks_cores, printed_median_ms

# Where defects are looked for that show on few devices only: device, ranks, what else. Ranks share the few cores of a test machine, which several GPUs' hosts do
# not; `scale` makes the devices slower, so that hosts are no more in the way than there. None is an h200: it spends the host time of cuDNN's calls.
WHERE = {
    "straggler-host": ("virtual:h100", 2),
    "straggler-batch": ("virtual:a100-80", 2),
    "no-overlap": ("virtual:h100,scale=4", 4, "--batch", "32"),
    "one-bucket": ("virtual:a100-80,scale=2", 2),
    "small-buckets": ("virtual:h100,scale=4", 2),
    "broadcast-buffers": ("virtual:a100-80,scale=4", 2),
    "missing-no-sync": ("virtual:h100,scale=4", 4),
    "dp": ("virtual:a100-80,scale=2", 2),
}

PRECISION = "tensor-cores"


def record(build, device, ranks, *arguments, steps=30):
    profile = build.path("ranks.gpuprof")
    run = build.run([build.gpuprof, "run", "-q", "-f", "--device", device, "-o", profile, "--", build.ddp, "--ranks",
                     str(ranks), "--steps", str(steps), *arguments])
    if run.returncode:
        raise RuntimeError(f"train_ddp {' '.join(arguments)}: status {run.returncode}: {run.stderr}")
    return profile, run


def described(analysis):
    found = [f"{f['rule']} {f['saves_ms']['high']:.2f} ms" for f in analysis["findings"]]
    return f"step {analysis['steps']['median_ms']:.2f} ms: " + (", ".join(found) or "no finding")


def defect(build, checks, name, rule):
    """The first finding but for the precision: these rows exchange gradients in FP32 and compute in TF32, so that 16 bits are
    advised as well."""
    device, ranks, *more = WHERE.get(name, ("virtual:a100-80", 2))
    profile, run = record(build, device, ranks, "--defect", name, *more)
    analysis = build.analyze(profile)
    others = [f for f in analysis["findings"] if f["rule"] != PRECISION]
    first = others[0] if others else {"rule": "nothing", "setting": None}
    if first["rule"] != rule and lacks_cores(analysis):
        checks.check(True, f"{name}: the verdict is that the training thread has no core")
        return
    if first["rule"] == "cpu-contention":  # other work on the machine took the cores: that is said first, and the defect next
        others, first = others[1:], others[1] if others[1:] else first
    checks.check(first["rule"] == rule, f"{name} is told as {rule} on {device}, {ranks} ranks", described(analysis))
    if name != "dp":
        checks.check(len(analysis["ranks"]) == ranks, f"{name}: one profile compares all ranks", str(analysis["ranks"]))
    print(f"        {described(analysis)}")
    if name == "small-buckets":
        remedy(build, checks, name, device, ranks, first["setting"], printed_median_ms(run.stdout))


def remedy(build, checks, name, device, ranks, setting, before):
    """The faster of two runs, as other work only adds time."""
    after = min(printed_median_ms(build.run(
        [build.gpuprof, "run", "--no-record", "--device", device, "--", build.ddp, "--ranks", str(ranks), "--defect", name],
        GPUPROF_APPLY=setting).stdout) for _ in range(2))
    checks.check(after < 0.97 * before, f"{name}: {setting} makes the step faster", f"{before:.2f} ms, then {after:.2f} ms")


def tuned(build, checks):
    """Buckets hide behind backward; what is left is the last one."""
    profile, _ = record(build, "virtual:h100,scale=4", 2, "--data", "fixed", "--depth", "18", "--batch", "128")
    analysis = build.analyze(profile)
    checks.check(not analysis["findings"] or lacks_cores(analysis), "the tuned run has no finding (1 % of the step or more)", described(analysis))


def together(build, checks):
    """Four ranks in one profile: numbers agree, and every output shows them."""
    profile, _ = record(build, "virtual:h100", 4, "--defect", "straggler-host", steps=20)
    db = sqlite3.connect(profile)
    ranks = [r for (r,) in db.execute("SELECT DISTINCT p.rank FROM process p JOIN kernel k ON k.process = p.id ORDER BY 1")]
    checks.check(ranks == [0, 1, 2, 3], "one profile holds four ranks", str(ranks))
    sampled, worked = (set(db.execute(q)) for q in (
        "SELECT DISTINCT d.process, d.ordinal FROM gpu_sample g JOIN device d ON d.id = g.device",
        "SELECT DISTINCT k.process, d.ordinal FROM kernel k JOIN stream s ON s.id = k.stream JOIN device d ON d.id = s.device"))
    # a run as short as this may end before a rank's first sample
    checks.check(sampled and sampled <= worked and len(worked) == 4, "ranks sample the GPU that they work on, and no other",
                 f"sampled {sorted(sampled)}, worked on {sorted(worked)}")
    comms = db.execute("SELECT count(DISTINCT communicator), count(DISTINCT rank), min(ranks) FROM collective").fetchone()
    checks.check(comms == (1, 4, 4), "they name one communicator", str(comms))
    rows = db.execute("SELECT sequence, count(*), count(DISTINCT bytes), count(DISTINCT name) FROM collective "
                      "GROUP BY sequence").fetchall()
    checks.check(rows and all(r[1:] == (4, 1, 1) for r in rows), "each number is the same call on all ranks",
                 str([r for r in rows if r[1:] != (4, 1, 1)][:3]))
    spread = db.execute("SELECT max(e) FROM (SELECT max(k.end_ns) - min(k.end_ns) AS e FROM collective c JOIN api a ON "
                        "a.thread = c.thread AND a.start_ns BETWEEN c.start_ns AND c.end_ns JOIN kernel k ON k.process = "
                        "c.process AND k.correlation = a.correlation GROUP BY c.sequence)").fetchone()[0]
    checks.check(spread is not None and spread < 200000, "a collective ends on all ranks together", f"{spread} ns apart")
    db.close()

    found = build.analyze(profile)
    checks.check([r["rank"] for r in found["ranks"]] == [0, 1, 2, 3], "the analysis compares four ranks", str(found["ranks"]))
    checks.check("straggler" in [f["rule"] for f in found["findings"]], "the late rank is found", described(found))
    late = [r["rank"] for r in found["ranks"] if r["late_ms"] > 1]
    checks.check(late == [1], "rank 1 is the late one", str(found["ranks"]))

    trace = build.path("ranks.json")
    build.run([build.gpuprof, "export", "-f", profile, "-o", trace])
    lint = build.run([build.gpuprof, "lint-trace", trace])
    checks.check(lint.returncode == 0, "the Chrome trace keeps the rules", lint.stdout)
    with open(trace) as f:
        names = [e["args"]["name"] for e in json.load(f)["traceEvents"] if e["ph"] == "M" and e["name"] == "process_name"]
    programs = sorted(re.match(r"rank \d", n).group() for n in names if "process" in n and n.startswith("rank"))
    checks.check(programs == [f"rank {i}" for i in range(4)], "the Chrome trace shows four processes", str(names))
    checks.check(sum("GPU" in n for n in names) == 4, "and four GPUs", str(names))

    page = build.path("ranks.html")
    build.run([build.gpuprof, "report", "-f", profile, "-o", page])
    with open(page) as f:
        text = f.read()
    checks.check('id="ranks"' in text and all(f'"name">rank {i}' in text for i in range(4)), "the page shows the ranks", "")


def children_of(pid):
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as f:
                    if int(f.read().rsplit(")", 1)[1].split()[1]) == pid:
                        found.append(int(entry))
            except (OSError, IndexError):
                pass
    return sorted(found)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def death(build, checks):
    """A rank that is killed: those started by the program end with it, those that a launcher left alone end by themselves."""
    env = dict(os.environ, LD_LIBRARY_PATH=os.path.join(os.path.dirname(build.bin), "lib", "vgpu"), GPUPROF_VGPU="h200")
    forever = [build.ddp, "--data", "fixed", "--depth", "18", "--batch", "16", "--steps", "1000000"]
    shm = set(os.listdir("/dev/shm"))

    with subprocess.Popen(forever + ["--ranks", "3"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        for line in p.stdout:
            if line.startswith("step"):
                break
        ranks = children_of(p.pid)
        os.kill(ranks[1], signal.SIGKILL)
        p.stdout.close()
        status = p.wait(timeout=30)
    checks.check(status == 137, "the program takes the status of the rank that was killed", str(status))
    checks.check(len(ranks) == 3 and not any(map(is_running, ranks)), "no rank is left behind", str(ranks))

    alone = []
    for rank in range(3):
        alone.append(subprocess.Popen(forever, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(
            env, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="3", LOCAL_WORLD_SIZE="3", MASTER_ADDR="127.0.0.1",
            MASTER_PORT=str(20000 + os.getpid() % 20000))))
    for line in alone[0].stdout:
        if line.startswith("step"):
            break
    alone[2].kill()
    said = []
    for p in alone[:2]:
        p.stdout.close()
        said.append(p.stderr.read())
        p.stderr.close()
        p.wait(timeout=30)
    alone[2].communicate()
    checks.check(all(p.returncode == 1 for p in alone[:2]), "ranks that lose one end", str([p.returncode for p in alone]))
    # The second to notice may find the first gone, too.
    checks.check(any("rank 2 has ended" in s for s in said) and all("has ended" in s for s in said), "and say whom they lost",
                 str(said))
    left = {n for n in set(os.listdir("/dev/shm")) - shm if "nccl" in n}
    checks.check(not left, "no shared memory is left behind", str(left))


def main():
    build, checks = Build(sys.argv[1]), Checks()
    build.ddp = os.path.join(build.bin, "train_ddp")
    wanted = sys.argv[2:]
    for row in build.run([build.ddp, "--defect", "list"]).stdout.splitlines():
        name, rule, *_ = row.split("\t")
        if not wanted or name in wanted:
            defect(build, checks, name, rule)
    for name, part in (("tuned", tuned), ("together", together), ("death", death)):
        if not wanted or name in wanted:
            part(build, checks)
    checks.done()


if __name__ == "__main__":
    main()
