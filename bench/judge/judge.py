#!/usr/bin/env python3
"""How much of what can be saved does a greedy agent get that follows gpuprof, with six reruns?

    bench/judge/judge.py BIN [--state DIR] [--programs N] [--seed S] [--models t4,a100-80,h100] [--seconds S]
                   [--write docs/accuracy/judge.tsv]

BIN is the folder of gpuprof and the trainers. Each program is a trainer of a size drawn at random, with one to four faults
drawn at random. The agent is a script without a language model: it makes one change, reruns without recording, keeps the change
if the step is at least 1 % shorter, and goes on. The agents differ only in what they try next:

- guided: the first finding of `gpuprof analyze` that a setting carries out. When none is left it records what it has kept,
  which counts as a rerun, and asks again.
- one at a time: every other value of every setting, by name.
- random: the same values in random order, the mean of three orders.
- informed: what is best practice and the program does not do yet, in random order, the mean of three orders. So it knows
  each fault that was planted, and only not what it costs.

A change that does other work (a larger batch) is not tried. The attainable best is the shortest step of all that were measured of
that program: every agent's, and the program without its faults. Times are medians of three runs at the beginning and at the end.
Runs take real time: nothing else should use the machine's cores meanwhile. Measurements stay in DIR, so that the command can
be called again to continue (--seconds). The trainers compute no numbers on the virtual GPU, so no losses are compared.
Exit status: 0 if every run worked, whatever the figures are.
"""
import argparse
import os
import random
import re
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "truth"))
from drawn import HABITS, OLD, PRECISIONS  # noqa: E402
from truth import Case, Store, defects, report_of, run  # noqa: E402

RERUNS = 6
WORTH = 0.99                                                 # of the step: no two runs agree much better
# Habits that are no faults: sizes, and what belongs to the framework or to the program's own work.
SIZES = {"depth", "batch", "image", "input", "layers", "heads", "context", "data", "host-overhead-us", "log-work-us"}
AGENTS = ("guided", "one at a time", "random", "informed")
# Settings that are no habits. Those of the habits are theirs; the first choice is best practice.
OTHERS = ["cuda_graph=1", "cudnn_benchmark=1", "mode=graph", "num_workers=4", "overlap=1", "precision=bf16", "precision=fp16",
          "precision=tf32", "sync_every=100"]


def programs(count, seed, trainers, models, undo):
    """Returns `count` rows of (model, Case, the settings that take its faults out, arguments)."""
    rng, out = random.Random(seed), []
    for i in range(count):
        trainer, model = rng.choice(trainers), rng.choice(models)
        habits = HABITS[trainer]
        args = {h: rng.choice(c) for h, c in habits.items() if h in SIZES}
        for h in rng.sample([h for h in habits if h not in SIZES], rng.randint(1, 4)):
            args[h] = rng.choice(habits[h][1:])
        types = [p for p in PRECISIONS[trainer] if model not in OLD or p in ("fp16", "fp32")] or ["fp32"]
        args["precision"] = rng.choice(types)
        words = " ".join(f"--{k} {v}" for k, v in args.items())
        good = [f"{h.replace('-', '_')}={habits[h][0]}" for h in args if h in habits and h not in SIZES]
        out.append((model, Case(f"judged {seed}-{i + 1}", "drawn", words, undo=undo, trainer=trainer), good, args))
    return out


class Program:
    """One program: measures its step under settings, and remembers."""

    def __init__(self, o, store, model, case, good, args):
        self.o, self.store, self.model, self.case, self.good, self.args = o, store, model, case, good, args
        self.refused = set()

    def ms(self, arm, runs=1):
        """The step with those settings, in ms: the median of at least `runs` runs. None: the trainer refuses one."""
        if arm in self.refused:
            return None
        while len(self.store.times(self.model, self.case.name, arm)) < runs:
            if time.monotonic() > self.o.deadline:
                raise TimeoutError
            try:
                out = run([self.o.gpuprof, "run", "--no-record", "--device", f"virtual:{self.model}", "--",
                           *self.case.argv(self.o, self.model)], GPUPROF_APPLY=arm)
            except SystemExit: # the GPU lacks what that setting asks for
                if not arm:
                    raise
                out = None
            if out is None:
                self.refused.add(arm)
                return None
            printed = re.search(r"pace_step_ms=([0-9.]+)", out) or re.search(r"median_step_ms=([0-9.]+)", out)
            self.store.add(self.model, self.case.name, arm, float(printed.group(1)))
        return statistics.median(self.store.times(self.model, self.case.name, arm))

    def advised(self, kept):
        """The settings that findings about a recording with `kept` name, best first."""
        name = self.case.name + ("" if not kept else " " + ";".join(kept))
        profile = self.store.profile(self.model, name)
        if not os.path.exists(profile):
            if time.monotonic() > self.o.deadline:
                raise TimeoutError
            run([self.o.gpuprof, "run", "-q", "-f", "-o", profile, "--device", f"virtual:{self.model}", "--",
                 *self.case.argv(self.o, self.model)], GPUPROF_APPLY=";".join(kept))
        found = report_of(self.o, profile, True, self.case)["findings"]
        return [f["setting"] for f in found if f["setting"] and "batch=" not in f["setting"]]

    def untried(self, informed):
        """What the program does not do yet: every other value of every setting, or best practice alone."""
        habits = {h: c for h, c in HABITS[self.case.trainer].items() if h not in SIZES}
        now = {h: self.args.get(h, c[0]) for h, c in habits.items()}
        values = [f"{h.replace('-', '_')}={v}" for h, c in habits.items() for v in (c[:1] if informed else c) if v != now[h]]
        settled = {h.replace("-", "_") for h, c in habits.items() if informed and now[h] == c[0]}
        mine = f"precision={self.args['precision']}"
        return sorted({*values, *(s for s in OTHERS if s.split("=")[0] not in settled and s != mine)})


def together(kept, setting):
    """The settings kept, with those of `setting` in place of the same names."""
    new = dict(s.split("=", 1) for s in [*kept, *re.split("[,;]", setting)])
    return [f"{k}={v}" for k, v in new.items()]


def greedy(p, advice):
    """Walks with RERUNS reruns; advice(kept) gives what to try next. Returns the settings kept and the reruns used."""
    kept, asked, tried, now, used = [], [], set(), p.ms("", 3), 0
    queue = advice(kept)
    while used < RERUNS:
        queue = [s for s in queue if s not in tried]
        if not queue:
            if asked == kept: # nothing new was kept since it asked
                break
            used, asked, queue = used + 1, kept, advice(kept)
            continue
        tried.add(queue[0])
        arm = together(kept, queue[0])
        ms = p.ms(";".join(arm))
        if ms is None:
            continue
        used += 1
        if ms <= now * WORTH:
            kept, now = arm, ms
    return kept, used


def blind(order):
    """Advice that asks no profile: the same whatever was kept."""
    return lambda kept: order if not kept else []


def shuffled(order, seed):
    order = list(order)
    random.Random(seed).shuffle(order)
    return blind(order)


def judge(p):
    """Returns a row of results, or None without anything to save."""
    every, some = p.untried(False), p.untried(True)
    walks = {"guided": [greedy(p, p.advised)], "one at a time": [greedy(p, blind(every))],
             "random": [greedy(p, shuffled(every, turn)) for turn in range(3)],
             "informed": [greedy(p, shuffled(some, turn)) for turn in range(3)]}
    base = p.ms("", 3)
    p.ms(";".join(p.good))
    ends = {agent: [p.ms(";".join(kept), 3) for kept, _ in found] for agent, found in walks.items()}
    times = p.store.runs.items()
    of_mine = [(arm, ms) for (model, name, arm), ms in times if model == p.model and name == p.case.name]
    arm = min(of_mine, key=lambda a: statistics.median(a[1]))[0]
    best = min([p.ms(arm, 3), *(ms for list_ in ends.values() for ms in list_)])
    return {"model": p.model, "program": f"{p.case.trainer} {p.case.args}", "base": base, "best": best, "by": arm,
            "kept": ";".join(walks["guided"][0][0]), "reruns": walks["guided"][0][1],
            "ends": {agent: statistics.fmean(list_) for agent, list_ in ends.items()},
            "worse": {agent: sum(ms > base / WORTH for ms in list_) for agent, list_ in ends.items()}}


def share(row, agent):
    return max(0.0, (row["base"] - row["ends"][agent]) / (row["base"] - row["best"]))


def text(rows):
    some = [r for r in rows if r["best"] <= r["base"] * WORTH]
    out = [f"{len(rows)} programs, in {len(some)} of them at least 1 % can be saved."]
    for agent in AGENTS:
        shares = [share(r, agent) for r in some]
        got = sum(r["base"] - r["ends"][agent] for r in some) / sum(r["base"] - r["best"] for r in some)
        out.append(f"{agent}: {100 * statistics.fmean(shares):.0f} % of what can be saved (mean of programs; median "
                   f"{100 * statistics.median(shares):.0f} %, of all milliseconds {100 * got:.0f} %); "
                   f"at least 85 % in {sum(s >= 0.85 for s in shares)} of {len(some)}; "
                   f"{sum(r['worse'][agent] for r in rows)} ended slower than they began")
    return out


def table(rows):
    names = ["model", "program", "step ms", "best ms", "best with", "guided kept", "reruns", *(f"{a} ms" for a in AGENTS)]
    return ["\t".join(names)] + ["\t".join([r["model"], r["program"], f"{r['base']:.2f}", f"{r['best']:.2f}", r["by"] or "-", r["kept"] or "-",
                                            str(r["reruns"]), *(f"{r['ends'][a]:.2f}" for a in AGENTS)]) for r in rows]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("bin")
    p.add_argument("--state", default="judge")
    p.add_argument("--programs", type=int, default=40)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--models", default="t4,a100-80,h100")
    p.add_argument("--steps", type=int, default=28)
    p.add_argument("--seconds", type=float, default=1e9, help="begin no run after this time")
    p.add_argument("--write", help="file for the rows, with tabs between values; the figures are printed")
    o = p.parse_args()
    o.gpuprof = os.path.join(o.bin, "gpuprof")
    o.deadline = time.monotonic() + o.seconds
    trainers = [t for t in HABITS if defects(o, t)]
    undo = {rule: off for t in trainers for _, rule, off, *_ in defects(o, t) if off}
    store, rows, every = Store(o.state), [], programs(o.programs, o.seed, trainers, o.models.split(","), undo)
    try:
        for row in every:
            rows.append(judge(Program(o, store, *row)))
    except TimeoutError:
        print(f"time is up: {len(rows)} of {len(every)} programs are judged; call it again", file=sys.stderr)
    print("\n".join(text(rows)) if rows else "no program was judged")
    if o.write:
        with open(o.write, "w", encoding="utf-8") as f:
            f.write("\n".join(table(rows)) + "\n")


if __name__ == "__main__":
    main()
