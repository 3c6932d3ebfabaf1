#!/usr/bin/env python3
"""Metrics for Prometheus: of a run that has ended, and of one that goes on. A small parser reads them, and promtool where it is
installed.

usage: metrics.py BUILD
"""
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import DEVICE, Build, Checks

SOURCE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
SAMPLE = re.compile(r'(gpuprof_[a-z_0-9]+)\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\} (-?[0-9.]+(?:e[+-]?[0-9]+)?)')
SMALL = ("--batch", "16", "--depth", "18", "--data", "fixed")


def parse(text):
    """{(name, part or rule): value}; raises ValueError for what is no metrics file."""
    values, typed = {}, set()
    lines = text.splitlines()
    if not lines or lines[-1] != "# EOF":
        raise ValueError("it does not end")
    for line in lines[:-1]:
        if line.startswith("# TYPE "):
            name, kind = line.split()[2:]
            if kind != "gauge" or name in typed:
                raise ValueError(line)
            typed.add(name)
        elif not line.startswith("# HELP "):
            found = SAMPLE.fullmatch(line)
            if not found or found[1] not in typed:
                raise ValueError(line)
            labels = dict(re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', found[2]))
            if not {"program", "job", "rank"} <= set(labels):
                raise ValueError(line)
            key = (found[1][8:], labels.get("part") or labels.get("rule") or labels.get("of_rank"), labels["rank"])
            if key in values:
                raise ValueError("twice: " + line)
            values[key] = float(found[3])
    return values


def promtool(checks, what, text):
    if not shutil.which("promtool"):
        print("skipped  promtool: not installed")
        return
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    checks.check(done.returncode == 0 and not done.stderr, f"promtool accepts {what}", done.stdout + done.stderr)


def alert(build, checks):
    """The alert of docs/fleet.md is one that Prometheus takes."""
    with open(os.path.join(SOURCE, "docs", "fleet.md"), encoding="utf-8") as f:
        shown = re.search(r"^An alert .*:\n\n((?:    .*\n)+)", f.read(), re.M)
    if not checks.check(shown, "docs/fleet.md shows an alert") or not shutil.which("promtool"):
        return
    rules = build.path("rules.yml")
    with open(rules, "w", encoding="utf-8") as f:
        f.write("groups: [{name: fleet, rules: [{alert: Input, expr: '" + " ".join(shown[1].split()) + "'}]}]\n")
    done = subprocess.run(["promtool", "check", "rules", rules], capture_output=True, text=True, check=False)
    os.remove(rules)
    checks.check(done.returncode == 0, "promtool accepts the alert of docs/fleet.md", done.stdout + done.stderr)


def ended(build, checks):
    profile, _ = build.profile("ended", *SMALL, steps=30)
    done = build.run([build.gpuprof, "export", "--format", "openmetrics", profile, "-o", "-"])
    promtool(checks, "a run that has ended", done.stdout)
    values = parse(done.stdout)
    analysis = build.analyze(profile)
    checks.check(abs(values["step_median_seconds", None, ""] - analysis["steps"]["median_ms"] / 1e3) < 1e-8, "the step's length", str(values))
    parts = {k[1]: v for k, v in values.items() if k[0] == "step_part_seconds"}
    wanted = {k: v / 1e3 for k, v in analysis["breakdown_ms"].items() if isinstance(v, float) or v}
    checks.check(all(abs(parts[k] - v) < 1e-8 for k, v in wanted.items()), "the parts of the step", f"{parts}, {wanted}")
    checks.check(values["running", None, ""] == 0 and values["virtual_gpu", None, ""] == 1 and values["gpu_memory_used_bytes", None, ""] > 0
                 and values["records_lost", None, ""] == 0, "it has ended; memory and losses", str(values))


def ranks(build, checks):
    """Several ranks under one gpuprof: who waits; under a launcher each has its own file."""
    ddp = os.path.join(build.bin, "train_ddp")
    if os.path.exists(ddp):
        path = build.path("ddp.gpuprof")
        build.run([build.gpuprof, "run", "-q", "-o", path, "--device", "virtual:h200", "--", ddp, "--ranks", "2", "--steps", "20",
                   *SMALL[:4], "--data", "fixed", "--defect", "straggler-host"])
        text = build.run([build.gpuprof, "export", "--format", "openmetrics", path, "-o", "-"]).stdout
        values = parse(text)
        waits = {k[1]: v for k, v in values.items() if k[0] == "collective_wait_seconds"}
        checks.check(set(waits) == {"0", "1"} and waits["0"] > waits["1"] and
                     any(k[0] == "collective_seconds" for k in values), "rank 0 waits for rank 1", str(waits))
        promtool(checks, "a run of two ranks", text)
    for rank in ("0", "1"):
        build.run([build.gpuprof, "run", "-q", "-o", "r/", "--metrics", "job.prom", "--device", DEVICE, "--", build.train,
                   "--steps", "20", *SMALL], PMI_RANK=rank, PMI_SIZE="2", SLURM_JOB_ID="j1")
    for rank in ("0", "1"):
        with open(build.path(f"job.r{rank}.prom"), encoding="utf-8") as f:
            text = f.read()
        checks.check({k[2] for k in parse(text)} == {rank} and 'job="j1"' in text and 'program="train_conv"' in text,
                     f"rank {rank} has its own file and labels", text[:300])


def live(build, checks):
    path = build.path("live.prom")
    run = subprocess.Popen([build.gpuprof, "run", "-q", "-o", build.path("live.gpuprof"), "--metrics", path + ",1", "--device", DEVICE,
                            "--", build.train, "--batch", "32", "--steps", "320"], env=build.env, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
    seen, broken, mode = {}, [], set()
    while run.poll() is None:
        try:
            with open(path, encoding="utf-8") as f:
                text = f.read()
                mode.add(os.stat(f.fileno()).st_mode & 0o777)
            seen[text] = parse(text)
        except FileNotFoundError:
            pass
        except ValueError as e:
            broken.append(str(e))
        time.sleep(0.005)
    run.communicate()
    with open(path, encoding="utf-8") as f:
        last = parse(f.read())
    going = [v for v in seen.values() if v["running", None, ""] == 1]
    analysis = build.analyze(build.path("live.gpuprof"))
    median = analysis["steps"]["median_ms"] / 1e3
    checks.check(len(going) >= 2 and not broken, "the file changes while the run goes on, and is whole each time",
                 f"{len(going)} versions, {broken[:3]}")
    of_intervals = sorted(v.get(("step_median_seconds", None, ""), median) for v in going) or [0]
    least, fastest, second = analysis["steps"]["min_ms"] / 1e3, of_intervals[0], of_intervals[:2][-1]  # other work only adds time
    checks.check(0.99 * least <= fastest <= 1.05 * median and second <= 1.05 * fastest and
                 any(v["steps", None, ""] > 10 for v in going), "each has the steps of its interval",
                 f"{of_intervals}, shortest step {least}, median {median}")
    checks.check(last["running", None, ""] == 0 and last["steps", None, ""] == 320, "the last is of the whole run", str(last))
    checks.check(mode == {0o644}, "another user's exporter can read it", str(mode))
    checks.check(run.returncode == 0 and analysis["health"]["dropped"] == 0 and analysis["steps"]["count"] == 320,
                 "the profile lacks nothing", str(analysis["health"]))


def main():
    build, checks = Build(sys.argv[1]), Checks()
    for name in list(build.env):
        if name.startswith(("SLURM_", "OMPI_", "PMI", "FLUX_")) or name in ("RANK", "WORLD_SIZE"):
            del build.env[name]
    for part in (alert, ended, ranks, live):
        part(build, checks)
    for option in ("x.prom,0", "x.prom,y", ",5", ".", "x/y/"):
        done = build.run([build.gpuprof, "run", "--metrics", option, "--", "echo", "ran"])
        checks.check((done.returncode, done.stdout) == (2, "") and len(done.stderr.splitlines()) == 1,
                     f"--metrics {option}: one clear line, status 2", done.stderr)
    left = [f for f in os.listdir(build.folder.name) if not f.endswith((".gpuprof", ".prom")) and f not in ("r", "x")]
    checks.check(not left, "nothing else is left behind", str(left))
    checks.done()


if __name__ == "__main__":
    main()
