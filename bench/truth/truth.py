#!/usr/bin/env python3
"""Do the predictions come true? Records the reference trainer with a planted defect, asks for the
predictions, reruns it without recording, alternately without and with each advised change, and
compares. Writes the table, failures included.

    bench/truth/truth.py BIN [--state DIR] [--models t4,v100,a100-80,h100,h200] [--cases a,b] [--repeats N]
                   [--seconds S] [--only-predict] [--write docs/accuracy/truth.tsv] [--json FILE]
                   [--device auto]

BIN is the folder of gpuprof and the trainers. Runs take real time: nothing else should use the
machine's cores meanwhile. Recordings and measurements stay in DIR, so that the command can be
called again to continue where it stopped (--seconds), and to judge another version of the engine by
the same runs (--only-predict). Exit status: 0 if every run worked, whatever the figures are.
"""
import argparse
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import time

from drawn import draw
from scatter import saved_range
from truth_text import summary, table, text

HERE = os.path.dirname(os.path.abspath(__file__))
for room in ("golden", "e2e"):
    sys.path.insert(0, os.path.join(HERE, "..", "..", "tests", room))
import pairs  # noqa: E402  real recordings are judged by one code
from support import planted  # noqa: E402

TRAINERS = "train_conv,train_gpt,train_amp,train_ddp"

# name -> (arguments, settings to rerun with in addition to the advised ones)
NOTHING = {
    "sync every step, GPU saturated": ("--sync-every 1 --data fixed --precision fp32 --steps 14",
                                       ["sync_every=100"]),
    "rare sync, GPU far behind": ("--sync-every 8 --batch 96", ["sync_every=100"]),
    "pinning, copies 0.1 %": ("--pin-memory 0 --data fixed --precision fp32 --batch 16 "
                              "--depth 152 --steps 20", ["pin_memory=1"]),
    "FP32, host-bound": ("--defect launch-bound --precision fp32 --host-overhead-us 60",
                         ["precision=fp16"]),
}
SEVERAL = {
    "workers0 + sync": "--defect workers0 --sync-every 1 --log-work-us 3000",
    "pageable + sync": "--defect pageable --sync-every 1 --log-work-us 3000",
    "fp32 + optimizer-loop": "--defect fp32 --optimizer loop",
    "fp32 + nchw": "--defect fp32 --channels-last 0",
    "launch-bound + zero-grad": "--defect launch-bound --zero-grad memset",
    "pageable + sync + optimizer-loop":
        "--defect pageable --sync-every 1 --log-work-us 3000 --optimizer loop --batch 32",
}


def run(args, **env):
    """Returns what the program prints; None if it has no setting of that name, or refuses it."""
    r = subprocess.run(args, capture_output=True, text=True, env={**os.environ, **env}, timeout=300)
    if (r.returncode and "there is no setting" in r.stderr) or " is refused" in r.stderr:
        return None
    if r.returncode:
        sys.exit(f"{' '.join(args)}\n{r.stderr}")
    return r.stdout


class Store:
    """Recordings and measurements: profiles, and one line of JSON per rerun."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        self.path = os.path.join(folder, "runs.jsonl")
        self.runs = {}
        if os.path.exists(self.path):
            for line in open(self.path, encoding="utf-8"):
                r = json.loads(line)
                self.runs.setdefault((r["model"], r["case"], self.settings(r["arm"])), []).append(r["ms"])

    @staticmethod
    def settings(arm):
        """Sorts the settings: the same ones in another order are the same run."""
        return ";".join(sorted(arm.split(";")))

    def add(self, model, case, arm, ms):
        self.runs.setdefault((model, case, self.settings(arm)), []).append(ms)
        with open(self.path, "a", encoding="utf-8") as f:
            f.write(json.dumps({"model": model, "case": case, "arm": arm, "ms": ms}) + "\n")

    def times(self, model, case, arm):
        return self.runs.get((model, case, self.settings(arm)), [])

    def profile(self, model, case):
        return os.path.join(self.folder, re.sub(r"[^a-z0-9]+", "-", f"{model} {case}") + ".gpuprof")


class Case:
    def __init__(self, name, kind, args, settings=(), rule=None, undo=None, trainer="train_conv"):
        self.name, self.kind, self.args, self.settings, self.rule = name, kind, args, settings, rule
        self.undo = undo if isinstance(undo, dict) else {rule: undo} # rule -> what removes a planted defect
        self.trainer = trainer

    def argv(self, o, model):
        """V100 and T4 have no bf16, the trainer's default. On a real device the trainer chooses."""
        args = [os.path.join(o.bin, self.trainer), "--steps", str(o.steps), *self.args.split()]
        told = "precision" in self.args or "fp32" in self.args or self.rule == "tensor-cores"
        old = model in ("v100", "t4") and not told
        return args + (["--precision", "fp16"] if old else [])


def defects(o, trainer):
    """Returns rows of name, rule and what removes the defect; none if the trainer is not built."""
    program = os.path.join(o.bin, trainer)
    return [l.split("\t") for l in run([program, "--defect", "list"]).splitlines()] if os.path.exists(program) else []


def drawn_cases(o):
    """Returns [(model, case)] of programs drawn at random."""
    trainers = [t for t in o.trainers.split(",") if defects(o, t)]
    undo = {rule: off for t in trainers for _, rule, off, *_ in defects(o, t) if off}
    return [(model, Case(name, "drawn", args, undo=undo, trainer=trainer))
            for name, trainer, model, args in draw(o.drawn, o.seed, trainers, o.models.split(","))]


def cases(o):
    found = []
    for trainer in o.trainers.split(","):
        prefix = "" if trainer == "train_conv" else trainer.removeprefix("train_") + ": "
        listed = defects(o, trainer)
        found += [Case(prefix + n, "one", f"--defect {n}", rule=r, undo=u, trainer=trainer)
                  for n, r, u, *_ in listed]
    found += [Case(n, "several", args) for n, args in SEVERAL.items()]
    found += [Case(n, "nothing", args, settings) for n, (args, settings) in NOTHING.items()]
    wanted = [w for w in o.cases.split(",") if w]
    if not wanted:
        return found
    exact = {c.name: c for c in found}
    return list({c.name: c for w in wanted for c in ([exact[w]] if w in exact else [c for c in found if w in c.name])}.values())


def setting_of(case, f):
    """Returns the setting that carries out the advice; if there is none, what removes the planted defect."""
    return f["setting"] or case.undo.get(f["rule"])


def report_of(o, profile, predict, case=None):
    report = json.loads(run([o.gpuprof, "analyze", *([] if predict else ["--no-predict"]), "--json",
                             profile]))
    report = planted(report, case.trainer) if case else report
    for f in report["findings"] if case else []:
        f["setting"] = setting_of(case, f)
    return report


def stack_of(report, case):
    """Returns everything that is advised together, as far as settings carry it out, and the step time with it; None
    if that is only one change."""
    stack = (report.get("replay") or {}).get("stack", [])
    stack = list(itertools.takewhile(lambda s: setting_of(case, s), stack))
    return (";".join(setting_of(case, s) for s in stack), stack[-1]) if len(stack) > 1 else None


def arms_of(report, case):
    """Lists the settings to rerun with: each advised one, those of the case, and all advised ones at once."""
    one = [f["setting"] for f in report["findings"] if f["setting"]]
    together = stack_of(report, case)
    return [*case.settings, *one, *([together[0]] if together else [])]


def differ(times):
    """True if the runs of one arm differ by more than 5 %, which runs on a steady machine do not."""
    return bool(times) and max(times) > 1.05 * min(times)


def measure(o, store, model, case, deadline):
    """Adds reruns until each arm has enough, and one more if they differ by over 5 %; False if the time is up."""
    profile = store.profile(model, case.name)
    device = "auto" if o.device == "auto" else f"virtual:{model}"
    if not os.path.exists(profile):
        if time.monotonic() > deadline:
            return False
        run([o.gpuprof, "run", "-q", "-f", "-o", profile, "--device", device, "--",
             *case.argv(o, model)])
    arms = ["", *arms_of(report_of(o, profile, False, case), case),
            *arms_of(report_of(o, profile, True, case), case)]
    arms = list(dict.fromkeys(arms))
    for turn in range(o.repeats + 1): # A B C, C B A, A B C, ...
        for arm in arms if turn % 2 == 0 else reversed(arms):
            times = store.times(model, case.name, arm)
            if len(times) > turn or (turn == o.repeats and not differ(times)):
                continue
            if time.monotonic() > deadline:
                return False
            out = run([o.gpuprof, "run", "--no-record", "--device", device, "--",
                       *case.argv(o, model)], GPUPROF_APPLY=arm)
            if out is None:
                continue
            printed = (re.search(r"pace_step_ms=([0-9.]+)", out) or
                       re.search(r"median_step_ms=([0-9.]+)", out))
            store.add(model, case.name, arm, float(printed.group(1)))
    return True


def measured(o, store, model, case, deadline):
    """Like measure(), but a program that fails on a real card does not keep the other cases from being measured."""
    try:
        return measure(o, store, model, case, deadline)
    except (SystemExit, subprocess.TimeoutExpired) as why:
        if o.device != "auto":
            raise
        print(f"{case.name}: {why}", file=sys.stderr)
        return False


# ---- judging -----------------------------------------------------------------------------------

def saved_pct(store, model, case, arm):
    base = store.times(model, case.name, "")
    with_it = store.times(model, case.name, arm)
    if not base or not with_it:
        return None
    base = statistics.median(base)
    return 100 * (base - statistics.median(with_it)) / base


def row(store, model, case, report, what, arm, kind, mid, low, high, floor=0):
    """Compares savings as shares of the step, because recorded and unrecorded steps differ a little."""
    step = report["breakdown_of_ms"]
    measured = saved_pct(store, model, case, arm)
    if measured is None:
        return None
    times = [store.times(model, case.name, a) for a in ("", arm)]
    least, most = saved_range(*times)
    r = {"model": model, "case": case.name, "what": what, "setting": arm, "class": kind,
         "step": statistics.median(times[0]), "measured": measured, "measured_low": least, "measured_high": most}
    if mid is None:
        bound = None if high is None else 100 * high / step
        return {**r, "mid": None, "bound": bound,
                "covered": None if bound is None else measured <= bound + 1}
    mid, low, high = (100 * v / step for v in (mid, low, high))
    low, high = low - floor, high + floor
    return {**r, "mid": mid, "low": low, "high": high, "error": mid - measured,
            "covered": low <= measured <= high}


def why_missing(report, rule):
    """Returns what gpuprof says about a planted defect for which it gave no advice."""
    for kind, words in (("cannot_tell", "cannot tell"), ("suppressed", "not now")):
        for r in report.get(kind, []):
            if r["rule"] == rule:
                return f"{words}: {r.get('why') or r.get('missing')}"
    return "not worth 1 % of the step"


def judge(o, store, model, case):
    profile = store.profile(model, case.name)
    if not os.path.exists(profile) or not store.times(model, case.name, ""):
        return None
    report = report_of(o, profile, True, case)
    replay, rows = report.get("replay") or {}, []
    by_setting = {f["setting"]: f for f in report["findings"] if f["setting"]}
    for arm, f in by_setting.items():
        known = f["kind"] == "predicted"
        s = f["saves_ms"] if known else {"mid": None, "low": None, "high": f["saves_ms"]["high"]}
        rows.append(row(store, model, case, report, f["rule"], arm, f["error_class"], s["mid"],
                        s["low"], s["high"]))
    advised = {setting.split("=")[0] for setting in by_setting}
    for arm in case.settings: # not advised: gpuprof predicts that it changes a step by less than 1 %
        if arm.split("=")[0] not in advised and replay.get("trusted"):
            rows.append(row(store, model, case, report, "not advised", arm, "structural", 0, 0, 0,
                            floor=1))
    together = stack_of(report, case)
    if together:
        step, last = report["breakdown_of_ms"], together[1]
        rows.append(row(store, model, case, report, "all together", together[0], "stacked",
                        step - last["step_ms"], step - last["step_high_ms"],
                        step - last["step_low_ms"]))
    rows = [r for r in rows if r]
    best = max((r["measured"] for r in rows if r["class"] != "stacked"), default=None)
    first = report["findings"][0]["setting"] if report["findings"] else ""
    got = saved_pct(store, model, case, first) if first else 0.0 if first == "" else None # None: no setting carries it out
    planted = next((f for f in report["findings"] if f["rule"] == case.rule), None)
    if o.device == "auto":
        model = report["device"]["name"]
        rows = [{**r, "model": model} for r in rows]
    return {"case": case, "model": model, "virtual": report["device"]["virtual"], "rows": rows, "why_not": replay.get("why_not"),
            "holdout": replay.get("holdout_error_pct"), "p95": replay.get("holdout_p95_pct"),
            "hit": None if best is None or got is None else got >= best - 2,
            "missing": why_missing(report, case.rule) if case.rule and planted is None else None}


def real_pairs(o):
    """Reads recordings that other people made on real GPUs, before and after one change; tests/golden/pairs.py judges the same ones."""
    folder = os.path.join(o.traces, "pairs")
    if not os.path.isfile(os.path.join(folder, "pairs.tsv")):
        return []
    found = [pairs.measure(o.gpuprof, folder, row) for row in pairs.table(folder) if row["brought"] != "other"]
    counts = {}
    for pair in found:
        if pair["row"]["brought"] == "gain":
            counts[pairs.result(pair)] = counts.get(pairs.result(pair), 0) + 1
    out = ["## Real recordings", "",
           "Made by others on real GPUs, before and after one change. A step is the time from the end of one step's work "
           "on the GPU to that of the next; a hit is a measured saving inside of the predicted interval. The table has the step "
           "before the change twice: as computed from the rows of the trace without gpuprof, and as gpuprof gives it.", "",
           "- Changes that made the step shorter: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())) + ".", "",
           "| pair | change | step before, ms: from the rows | ... by gpuprof | predicted % | measured % | result |",
           "|---|---|---|---|---|---|---|"]
    for pair in found:
        row = pair["row"]
        told = "not advised"
        if pair["finding"]:
            low, mid, high = pairs.interval_pct(pair)
            told = f"up to {high:.1f}" if pair["finding"]["kind"] == "upper-bound" else f"{mid:.1f} ({low:.1f} to {high:.1f})"
        result = pairs.result(pair)
        if row["brought"] == "none":
            result = "advised in vain" if pair["finding"] else "right: it brings nothing"
        out.append(f"| {row['name']} | {row['change']} | {pair['paces'][0]:.2f} | {pair['steps'][0]:.2f} | {told} | "
                   f"{pair['saved_pct']:.1f} | {result} |")
    return [*out, ""]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("bin")
    p.add_argument("--state", default="truth")
    p.add_argument("--models", default="t4,v100,a100-80,h100,h200")
    p.add_argument("--cases", "--defects", default="", help="in this order: those of these names, or whose name holds one")
    p.add_argument("--trainers", default=TRAINERS)
    p.add_argument("--steps", type=int, default=40)
    p.add_argument("--repeats", type=int, default=3)
    p.add_argument("--device", default="virtual", choices=("virtual", "auto"),
                   help="auto: this machine's GPU, in place of --models")
    p.add_argument("--seconds", "--budget", type=float, default=1e9, help="begin no run after this time")
    p.add_argument("--only-predict", action="store_true", help="run nothing")
    p.add_argument("--traces", default=os.path.join(HERE, "..", "..", "..", "shared", "traces"),
                   help="folder of real traces; its pairs/ holds recordings before and after a change")
    p.add_argument("--write", help="file for the rows, with tabs between values; the figures are printed")
    p.add_argument("--json", help="file for the rows")
    p.add_argument("--drawn", type=int, default=0, metavar="N", help="N programs drawn at random, in place of the planted cases")
    p.add_argument("--seed", type=int, default=1, help="of --drawn")
    o = p.parse_args()
    o.gpuprof = os.path.join(o.bin, "gpuprof")
    if o.device == "auto":
        o.models = "gpu"
    deadline = time.monotonic() + o.seconds
    store = Store(o.state)
    every = drawn_cases(o) if o.drawn else [(m, c) for c in cases(o) for m in o.models.split(",")]
    open_cases = [] if o.only_predict else [f"{m} {c.name}" for m, c in every if not measured(o, store, m, c, deadline)]
    if open_cases:
        print(f"time is up: {len(open_cases)} of {len(every)} cases are not complete; call it again",
              file=sys.stderr)
    judged = [j for j in (judge(o, store, m, c) for m, c in every) if j]
    if o.json:
        with open(o.json, "w", encoding="utf-8") as f:
            json.dump({"summary": summary(judged), "rows": [r for j in judged for r in j["rows"]]}, f,
                      indent=1)
    print("\n".join(([] if o.drawn else real_pairs(o)) + text(o, judged)))
    if o.write:
        with open(o.write, "w", encoding="utf-8") as f:
            f.write("\n".join(table(judged)) + "\n")


if __name__ == "__main__":
    main()
