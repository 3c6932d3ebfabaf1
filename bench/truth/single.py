#!/usr/bin/env python3
"""One run, one answer: how often a single run of a planted defect is enough to find it. Records every trainer with each of its
defects N times, analyses each recording once, and counts. A run is never repeated because of its answer.

    bench/truth/single.py BUILD [DEFECT...] [--runs 20] [--steps 30,60] [--models a100-80,h200,v100]
                    [--trainers train_conv,train_ddp] [--busy-neighbour] [--note TEXT] [--seconds S] [--state FILE]
                    [--write docs/accuracy/single.tsv]

BUILD is the build folder. --busy-neighbour keeps one core busy with another program meanwhile. Each run is a line in
--state, so that --seconds ends a call cleanly and the next call continues where it stopped. --write makes the tables of
everything in --state; --note adds there what else the machine did. Exit status: 0 if every run worked, whatever the
rates are; `done` says whether runs are left.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../tests/e2e"), os.path.join(HERE, "../../tests/e2e/jobs")]
from ranks import WHERE  # noqa: E402
from support import Build, lacks_cores, planted  # noqa: E402

# Defects of train_ddp that cost nothing on most devices with two ranks: the devices and numbers of ranks where they do cost time.
COSTLY = {d: WHERE[d] for d in ("no-overlap", "one-bucket", "missing-no-sync", "dp")}
TRAINERS = ["train_conv", "train_amp", "train_gpt", "train_ddp"]
# Arguments that a model needs in addition to the defect's. A defect of the precision sets the precision itself.
EXTRA = {"v100": ["--precision", "fp16"], "t4": ["--precision", "fp16"]}
PRECISION = "tensor-cores"
AIM_FOUND, AIM_FIRST = 99, 97  # % of the runs

Cell = collections.namedtuple("Cell", "trainer defect model steps")


def defects_of(build, trainer):
    rows = build.run([os.path.join(build.bin, trainer), "--defect", "list"]).stdout.splitlines()
    return [row.split("\t")[:2] for row in rows]


def answer_of(analysis, rule):
    """Returns what the answer says about the rule: found, or why not."""
    if any(f["rule"] == rule for f in analysis["findings"]):
        return "found", ""
    for key, word, why in (("cannot_tell", "cannot tell", "missing"), ("suppressed", "not now", "why"),
                           ("fine", "fine", "measured")):
        for row in analysis[key]:
            if row["rule"] == rule:
                return word, row[why]
    return "nothing", "below what is shown"


class Single:
    def __init__(self, build, options):
        self.build, self.options, self.runs = build, options, []
        if options.state and os.path.exists(options.state):
            with open(options.state, encoding="utf-8") as f:
                self.runs = [json.loads(line) for line in f if line.strip()]
        self.count = collections.Counter((Cell(*(r[k] for k in Cell._fields)), r["neighbour"]) for r in self.runs)

    def wanted(self):
        """Lists the runs in alternation, so that a call that is cut short has measured a little of everything."""
        o, cells = self.options, []
        for trainer in o.trainers:
            for defect, rule in defects_of(self.build, trainer):
                if not o.defects or defect in o.defects:
                    models = [COSTLY[defect][0].removeprefix("virtual:")] if defect in COSTLY else o.models
                    cells += [(Cell(trainer, defect, m, s), rule) for m in models for s in o.steps]
        for turn in range(o.runs):
            for cell, rule in cells:
                if self.count[(cell, o.busy_neighbour)] <= turn:
                    yield cell, rule

    def command(self, cell, rule):
        _, n, *more = COSTLY.get(cell.defect, (None, 2))
        ranks = ["--ranks", str(n), *more] if cell.trainer == "train_ddp" else []
        extra = EXTRA.get(cell.model, []) if rule != PRECISION else []
        return [os.path.join(self.build.bin, cell.trainer), "--steps", str(cell.steps), "--defect", cell.defect,
                *ranks, *extra]

    def measure(self, cell, rule):
        """The first finding counts. Advice to use 16-bit arithmetic is ignored if train_ddp computes in TF32: that advice is right."""
        profile = self.build.path("single.gpuprof")
        run = self.build.run([self.build.gpuprof, "run", "-q", "-f", "--device", "virtual:" + cell.model, "-o", profile,
                              "--", *self.command(cell, rule)])
        if run.returncode:
            sys.exit(f"{' '.join(self.command(cell, rule))}: status {run.returncode}\n{run.stderr[-2000:]}")
        analysis = planted(self.build.analyze(profile), cell.trainer)
        names = [f["rule"] for f in analysis["findings"] if cell.trainer != "train_ddp" or f["rule"] != PRECISION]
        answer, why = answer_of(analysis, rule)
        if answer != "found" and lacks_cores(analysis):
            answer = "cannot tell"  # the verdict says that the training thread waited for a core
        row = {**cell._asdict(), "rule": rule, "neighbour": self.options.busy_neighbour, "answer": answer, "why": why,
               "first": names[0] if names else None, "step_ms": analysis["steps"]["median_ms"],
               "load": round(os.getloadavg()[0], 1),
               "found": [[f["rule"], f["saves_ms"]["high"]] for f in analysis["findings"]]}
        self.runs.append(row)
        self.count[(cell, row["neighbour"])] += 1
        if self.options.state:
            with open(self.options.state, "a", encoding="utf-8") as f:
                f.write(json.dumps(row) + "\n")
        if names[:1] != [rule]:
            print(f"{cell.trainer} {cell.defect} {cell.model} {cell.steps}: {answer}, first is {row['first']}: {why}",
                  flush=True)
            if self.options.keep:
                os.makedirs(self.options.keep, exist_ok=True)
                os.replace(profile, os.path.join(self.options.keep, f"{cell.defect}-{cell.model}-{cell.steps}-"
                                                                    f"{len(self.runs)}.gpuprof"))

    def go(self):
        until = time.monotonic() + self.options.seconds if self.options.seconds else None
        left = 0
        for cell, rule in list(self.wanted()):
            if until and time.monotonic() > until:
                left += 1
            else:
                self.measure(cell, rule)
        return left


# ---- the table ----------------------------------------------------------------------------------------------------------


def rates(runs):
    n = len(runs)
    found, first, unknown = (sum(map(test, runs)) for test in (
        lambda r: r["answer"] == "found", lambda r: r["first"] == r["rule"], lambda r: r["answer"] == "cannot tell"))
    return n, found, first, unknown, n - found - unknown


def percent(part, n):
    return f"{part} of {n} ({100 * part / n:.1f} %)"


def group(runs, *keys):
    groups = {}
    for r in runs:
        groups.setdefault(tuple(r[k] for k in keys), []).append(r)
    return groups


def table(runs):
    """Lines of values with tabs between."""
    out = ["\t".join(("trainer", "steps", "a program beside it", "runs", "found", "first", "cannot tell", "missed"))]
    groups = sorted(group(runs, "trainer", "steps", "neighbour").items()) + [(("all", "", ""), runs)]
    for (trainer, steps, neighbour), rows in groups:
        n, found, first, unknown, missed = rates(rows)
        beside = {True: "yes", False: "no"}.get(neighbour, "")
        out.append("\t".join(map(str, (trainer, steps, beside, n, percent(found, n), percent(first, n), unknown, missed))))
    return out


def odd(runs):
    """Returns a line for each group of runs in which the defect was not always the first finding."""
    out = []
    for where, rows in sorted(group(runs, "trainer", "defect", "model", "steps", "neighbour").items()):
        said = collections.Counter(f"{r['answer']}, first {r['first'] or 'nothing'}" for r in rows if r["first"] != r["rule"])
        if said:
            out.append(f"{', '.join(map(str, where[:3]))}, {where[3]} steps{', a program beside it' if where[4] else ''}: "
                       f"{sum(said.values())} of {len(rows)} runs (" + "; ".join(f"{k}: {c}" for k, c in said.items()) + ")")
    return out


def words(text):
    return text.split(",")


def options_of(arguments):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build")
    p.add_argument("defects", nargs="*")  # must follow BUILD directly: argparse accepts positional arguments only in one piece
    p.add_argument("--runs", type=int, default=20)
    p.add_argument("--steps", type=lambda t: [int(n) for n in words(t)], default=[30, 60])
    p.add_argument("--models", type=words, default=["a100-80", "h200", "v100"])
    p.add_argument("--trainers", type=words, default=TRAINERS)
    p.add_argument("--busy-neighbour", action="store_true")
    p.add_argument("--keep", help="folder for the recordings in which the defect was not first")
    p.add_argument("--seconds", type=float)
    p.add_argument("--state")
    p.add_argument("--write")
    return p.parse_args(arguments)


def main():
    options = options_of(sys.argv[1:])
    single = Single(Build(options.build), options)
    neighbour = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if options.busy_neighbour else None
    try:
        left = single.go()
    finally:
        if neighbour:
            neighbour.kill()
            neighbour.wait()
    print(f"{left} runs are left: call it again" if left else "done")
    print("\n".join(odd(single.runs)))
    if options.write and single.runs:
        with open(options.write, "w", encoding="utf-8") as f:
            f.write("\n".join(table(single.runs)) + "\n")


if __name__ == "__main__":
    main()
