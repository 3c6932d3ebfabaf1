#!/usr/bin/env python3
"""Trainers x defects x virtual GPUs. Every defect must be the first finding, what the finding says must make the step
faster, and a tuned run must have no finding.

usage: matrix.py BUILD [DEFECT...] [--full] [--trainer T] [--model M] [--seconds S] [--state FILE] [--write FILE]

Without options a covering choice: each defect once, each model with each trainer. `tuned` names the run without a
defect, `unmarked` runs without NVTX. --full takes every defect on every model, tuned runs, and pairs of defects; what it
saw is kept in --state, so that it can be stopped (--seconds) and called again, and --write makes a table of it. Then a
defect may also come second in one case of twenty, but never be missed.
"""
import argparse
import json
import math
import os
import re
import sqlite3
import sys
import time

from support import Build, Checks, lacks_cores, planted, printed_pace_ms

TRAINERS = ["train_conv", "train_amp", "train_gpt"]  # train_ddp has a test of its own: it needs ranks
# For how many steps a run goes on: where steps are long, fewer of them.
MODELS = {"a100-80": 40, "h200": 44, "v100": 28, "t4": 20}
# On the H200 cuDNN's calls take the host longer than the GPU takes for the layers, as on the card (vgpu/docs/virtual-gpu.md): there
# the trainers with convolutions replay CUDA graphs, with batches made once, as two cores do not decode that fast. Not so where
# a defect lies in the calls, which a graph does away with, or in the loader.
WITH_CONVOLUTIONS = {"train_conv", "train_amp"}
GRAPH, LARGE = ["--cuda-graph", "1", "--data", "fixed"], ["--batch", "256", "--data", "fixed"]
UNGRAPHED = {"launch-bound": [], "launch-blocking": [], "busy-threads": [], "workers0": [], "slow-disk": [],
             "starved-workers": [], "cudnn-heuristic": LARGE, "scaler-sync": LARGE}
# What is wrong with the device, not with the program: the rule that says so, and the option that plants it.
DEVICE = {"throttled": ("clock-throttling", ",throttle=0.6")}
# Defects of one trainer that a run may have together, both of which must be found.
PAIRS = {
    "train_conv": [("sync-every-step", "nchw"), ("optimizer-loop", "cudnn-heuristic"), ("nchw", "optimizer-loop")],
    "train_amp": [("nchw", "scaler-sync"), ("optimizer-loop", "nchw")],
    "train_gpt": [("unfused", "vocab-unpadded"), ("clip-sync", "unfused"), ("optimizer-loop", "vocab-unpadded")],
}
# Defects that cost nothing on a model, and the setting that shows it: then silence is right.
# The GPU takes longer than decoding on one thread.
COSTLESS = {("train_conv", "workers0", model): "num_workers=2" for model in ("v100", "t4")}


def describe(analysis):
    found = [f"{f['rule']} {f['saves_ms']['high']:.2f} ms" for f in analysis["findings"]]
    return f"step {analysis['breakdown_of_ms']:.2f} ms: " + (", ".join(found) or "no finding")


class Matrix:
    def __init__(self, build, checks):
        self.build, self.checks = build, checks
        self.trainers = [t for t in TRAINERS if os.path.exists(os.path.join(build.bin, t))]
        self.defects = {t: [line.split("\t")[:3] for line in
                            build.run([os.path.join(build.bin, t), "--defect", "list"]).stdout.splitlines()]
                        + [[name, rule, ""] for name, (rule, _) in DEVICE.items()] for t in self.trainers}

    def rule(self, trainer, defect):
        return next(rule for name, rule, _ in self.defects[trainer] if name == defect)

    def setting(self, trainer, defect, finding):
        """What carries out the advice or, where no setting does, takes the defect out."""
        return finding["setting"] or next(undo for name, _, undo in self.defects[trainer] if name == defect)

    def command(self, trainer, model, defects, part=1):
        extra, steps = [], MODELS[model]
        if model == "h200" and trainer in WITH_CONVOLUTIONS:
            extra = next((UNGRAPHED[d] for d in defects if d in UNGRAPHED), GRAPH)
        defects = [d for d in defects if d not in DEVICE]
        return [os.path.join(self.build.bin, trainer), "--steps", str(steps // part),
                *(["--defect", ",".join(defects)] if defects else []), *extra]

    def profile(self, trainer, model, defects):
        out = self.build.path(f"{trainer}-{model}-{'-'.join(defects) or 'tuned'}.gpuprof")
        device = f"virtual:{model}" + "".join(DEVICE[d][1] for d in defects if d in DEVICE)
        done = self.build.run([self.build.gpuprof, "run", "-f", "--device", device, "-o", out, "--",
                               *self.command(trainer, model, defects)])
        if done.returncode != 0:
            raise RuntimeError(f"{trainer} {defects} on {model}: status {done.returncode}\n{done.stderr[-2000:]}")
        return out, printed_pace_ms(done.stdout)

    def look(self, trainer, model, defects):
        """The analysis of one run, and what the trainer itself measured."""
        profile, printed = self.profile(trainer, model, defects)
        return planted(self.build.analyze(profile), trainer), profile, printed

    def evidence(self, name, profile, findings):
        """The rows behind each number can be listed by the query that stands beside it."""
        database = sqlite3.connect(profile)
        empty = [f"{f['rule']}: {e['text']}" for f in findings for e in f["evidence"]
                 if e["sql"] and e["value"] and not database.execute(e["sql"]).fetchone()]
        database.close()
        self.checks.check(not empty, f"{name}: each query of the evidence lists rows", "; ".join(empty))

    def remedy(self, name, trainer, model, defects, setting, before):
        """What the finding tells the trainer to change, changed. A second run decides where the first one is no faster, as other
        work only adds time."""
        after = math.inf
        for _ in range(2):
            if after >= 0.99 * before:
                after = min(after, printed_pace_ms(self.build.run(
                    [self.build.gpuprof, "run", "--no-record", "--device", f"virtual:{model}", "--",
                     *self.command(trainer, model, defects, part=2)], GPUPROF_APPLY=setting).stdout))
        self.checks.check(after < 0.99 * before, f"{name}: {setting} makes the step faster",
                          f"{before:.2f} ms before, {after:.2f} ms after")
        print(f"        {before:.2f} ms before, {after:.2f} ms after")
        return after

    def within(self, name, analysis, before, after):
        """A bound is a bound, but for what two runs differ by: twelve recordings of the slow disk on two idle cores have
        bounds from 53 to 59 % of the step, for a change that saves 56.

        Both paces are the trainer's own: a step that other work delayed once is in the profile's mean, and no advice
        saves it. The bound is of the step that the analysis speaks of, so shares of each are compared. Where steps differ,
        as they do beside busy threads, a mean loses more than a median does: no step gets shorter than what is left."""
        first, step = analysis["findings"][0], analysis["breakdown_of_ms"]
        if first["kind"] == "upper-bound":
            most = first["saves_ms"]["high"] / step
            left = step * (1 - most)
            self.checks.check(1 - after / before <= most + 0.04 or after >= left - 0.04 * before,
                              f"{name}: {first['rule']} saves no more than the bound",
                              f"{before:.2f} ms before, {after:.2f} ms after, at most {100 * most:.1f} % of {step:.2f} ms saved")

    def larger(self, name, trainer, model, defects, before):
        """Twice the batch takes less than twice the step, by a fifth and more."""
        command = [self.build.gpuprof, "run", "--no-record", "--device", f"virtual:{model}", "--",
                   *self.command(trainer, model, defects, part=2)]
        batch = int(re.search(r"\bbatch[= ](\d+)", self.build.run(command).stdout).group(1))
        again = self.build.run(command, GPUPROF_APPLY=f"batch={2 * batch}")
        after = printed_pace_ms(again.stdout)
        self.checks.check(after < 1.6 * before, f"{name}: twice the batch costs less than twice the step",
                          f"{before:.2f} ms before, {after:.2f} ms after")

    def costless(self, trainer, model, defects, step_ms):
        """Measured, not believed: the setting changes the step by less than 1 %."""
        setting = COSTLESS.get((trainer, ",".join(defects), model))
        if not setting:
            return False
        again = self.build.run([self.build.gpuprof, "run", "--no-record", "--device", f"virtual:{model}", "--",
                                *self.command(trainer, model, defects)], GPUPROF_APPLY=setting)
        return printed_pace_ms(again.stdout) > 0.99 * step_ms

    @staticmethod
    def lacks_data(analysis, profile, rule):
        """A rule that needs to know how much memory is in use, where nobody sampled it in the steps, must say so."""
        database = sqlite3.connect(profile)
        samples = database.execute("SELECT count(*) FROM gpu_sample g JOIN range r ON g.time_ns >= r.start_ns JOIN string s "
                                   "ON s.id = r.name WHERE s.text = 'step' AND g.memory_used_bytes > 0").fetchone()[0]
        database.close()
        return samples == 0 and any(c["rule"] == rule and "memory" in c["missing"] for c in analysis["cannot_tell"])

    def defect(self, trainer, model, defect):
        """One run, one answer: right, or that it cannot be told."""
        name, rule = f"{trainer} {defect} on {model}", self.rule(trainer, defect)
        analysis, profile, printed = self.look(trainer, model, [defect])
        findings = analysis["findings"]
        first = findings[0]["rule"] if findings else "nothing"
        if not findings and self.lacks_data(analysis, profile, rule):
            self.checks.check(True, f"{name}: {rule} cannot be told without samples of memory in use")
            return
        told = next((f for f in findings if f["rule"] == rule), None)
        if told and told["setting"] and told["setting"] == findings[0]["setting"]:
            first = rule  # two rules see one cause from two sides, and the same setting takes it away
        if first != rule and lacks_cores(analysis):
            self.checks.check(True, f"{name}: it says that other work has the cores")
            return
        if not self.checks.check(first == rule, f"{name} is told as {rule}", f"first is {first} ({describe(analysis)})"):
            return
        print(f"        {describe(analysis)}")
        self.evidence(name, profile, findings)
        if rule == "batch-size":
            self.larger(name, trainer, model, [defect], printed)
        elif defect in DEVICE:
            self.within(name, analysis, printed, self.remedy(name, trainer, model, [], "", printed))
        elif rule != "num-workers":  # workers need cores that a busy machine does not have
            setting = self.setting(trainer, defect, findings[0])
            self.within(name, analysis, printed, self.remedy(name, trainer, model, [defect], setting, printed))

    def tuned(self, trainer, model):
        name = f"{trainer} tuned on {model}"
        analysis, _, _ = self.look(trainer, model, [])
        self.checks.check(not analysis["findings"] or lacks_cores(analysis),
                          f"{name}: no finding (1 % of the step or more)", describe(analysis))
        print(f"        {describe(analysis)}")
        parts, median = sum(analysis["breakdown_ms"].values()), analysis["steps"]["median_ms"]
        self.checks.check(abs(parts - median) < 1e-3, f"{name}: the parts of the step sum to it",
                          f"{parts} ms of {median}")
        self.checks.check(analysis["device"]["virtual"] is True, f"{name}: the profile says that the GPU is virtual")

    def covering(self, wanted):
        models = list(MODELS)
        at = 0
        for trainer in self.trainers:
            self.tuned(trainer, models[at % len(models)]) if not wanted or "tuned" in wanted else None
            for defect, *_ in self.defects[trainer]:
                at += 1
                if not wanted or defect in wanted:
                    self.defect(trainer, models[at % len(models)], defect)


# ---- all of it ---------------------------------------------------------------------------------------------------------


class Full:
    """Cells are measured once each and kept in a file of JSON lines; judged together at the end."""

    def __init__(self, matrix, options):
        self.matrix, self.options, self.cells = matrix, options, {}
        if options.state and os.path.exists(options.state):
            with open(options.state, encoding="utf-8") as f:
                for line in f:
                    cell = json.loads(line)
                    self.cells[self.key(cell)] = cell

    @staticmethod
    def key(cell):
        return (cell["trainer"], cell["model"], tuple(cell["defects"]))

    def wanted(self):
        o, m = self.options, self.matrix
        for trainer in m.trainers:
            if o.trainer and trainer != o.trainer:
                continue
            for model in MODELS:
                if o.model and model != o.model:
                    continue
                runs = [[]] + [[d] for d, *_ in m.defects[trainer]] + [list(p) for p in PAIRS[trainer]]
                for defects in runs:
                    if not o.defects or (",".join(defects) or "tuned") in o.defects:
                        yield trainer, model, defects

    def measure(self, trainer, model, defects):
        rules = [self.matrix.rule(trainer, d) for d in defects]
        analysis, profile, _ = self.matrix.look(trainer, model, defects)
        found = [[f["rule"], f["saves_ms"]["high"]] for f in analysis["findings"]]
        names = [rule for rule, _ in found]
        cell = {"trainer": trainer, "model": model, "defects": defects, "rules": rules,
                "step_ms": analysis["steps"]["median_ms"], "found": found,
                "missed": [r for r in rules if r not in names], "first": bool(names) and names[0] in rules,
                "costless": not found and self.matrix.costless(trainer, model, defects, analysis["steps"]["median_ms"]),
                "lacks": [r for r in rules if self.matrix.lacks_data(analysis, profile, r)]}
        self.cells[self.key(cell)] = cell
        if self.options.state:
            with open(self.options.state, "a", encoding="utf-8") as f:
                f.write(json.dumps(cell) + "\n")
        print(f"{trainer} {model} {','.join(defects) or 'tuned'}: {describe(analysis)}", flush=True)

    def run(self):
        until = time.monotonic() + self.options.seconds if self.options.seconds else None
        left = 0
        for cell in self.wanted():
            if (cell[0], cell[1], tuple(cell[2])) in self.cells:
                continue
            if until and time.monotonic() > until:
                left += 1
                continue
            self.measure(*cell)
        if left:
            print(f"{left} runs are left: call it again")
            sys.exit(0)
        self.judge()

    def judge(self):
        checks = self.matrix.checks
        cells = [self.cells[(t, m, tuple(d))] for t, m, d in self.wanted()]
        planted = [c for c in cells if c["defects"] and not c["lacks"] and not c["costless"]]
        untold = [c for c in cells if c["lacks"]]
        tuned = [c for c in cells if not c["defects"]]
        missed = [c for c in planted if c["missed"]]
        first = [c for c in planted if c["first"]]
        noisy = [c for c in tuned if c["found"]]
        for c in missed + noisy + [c for c in planted if not c["first"]]:
            print(f"        {c['trainer']} {c['model']} {','.join(c['defects']) or 'tuned'}: {c['found']}")
        checks.check(not missed, f"every planted defect is found ({len(planted)} runs)", f"{len(missed)} are not")
        checks.check(20 * len(first) >= 19 * len(planted), "a planted defect is first in 95 %",
                     f"in {len(first)} of {len(planted)}")
        checks.check(not noisy, f"tuned runs have no finding ({len(tuned)} runs)", f"{len(noisy)} have")
        if untold:
            print(f"        {len(untold)} runs lack samples of memory in use: their rule says that it cannot tell")
        if self.options.write:
            self.table(cells, len(first), len(planted), len(missed), len(noisy), len(tuned))

    def table(self, cells, first, planted, missed, noisy, tuned):
        def lines(those):
            return [f"- {c['trainer']}, {', '.join(c['defects']) or 'tuned'}, {c['model']}: "
                    f"{self.cell(c['trainer'], c['model'], tuple(c['defects']))}\n" for c in those]

        apart = [c for c in cells if c["costless"] or c["lacks"]]
        wrong = lines(c for c in cells if c not in apart and
                      (c["missed"] or (c["found"] and not (c["first"] and c["defects"]))))
        not_counted = ("\nNot counted: a rerun showed that the planted defect costs nothing here, or the recording lacks the data that its rule "
                       "needs:\n\n"
                       + "".join(lines(apart)) if apart else "")
        print(f"Planted: {planted} runs; found in {planted - missed}, first in {first}. Tuned: {tuned} runs, {noisy} with a finding.\n\n"
              "Where the planted defect is not first, or was missed:\n" + ("".join(wrong) or "nowhere\n") + not_counted)
        with open(self.options.write, "w", encoding="utf-8") as f:
            f.write("\t".join(["trainer", "planted", *MODELS]) + "\n")
            for trainer in self.matrix.trainers:
                for defects in dict.fromkeys(tuple(c["defects"]) for c in cells if c["trainer"] == trainer):
                    line = [self.cell(trainer, m, defects).replace("**", "") for m in MODELS]
                    f.write("\t".join([trainer, ", ".join(defects) or "tuned", *line]) + "\n")

    def cell(self, trainer, model, defects):
        c = self.cells.get((trainer, model, defects))
        if not c:
            return ""
        if c["costless"]:
            return f"nothing: costs nothing here, of {c['step_ms']:.1f}"
        if c["lacks"] and not c["found"]:
            return f"cannot tell, of {c['step_ms']:.1f}"
        if not c["found"]:
            return f"nothing, of {c['step_ms']:.1f}" if not defects else f"**nothing**, of {c['step_ms']:.1f}"
        (rule, saves), rest = c["found"][0], ", ".join(r for r, _ in c["found"][1:])
        text = f"{rule} {saves:.2f}" if c["first"] else f"**{rule}** {saves:.2f}"
        missed = f"; **missed: {', '.join(c['missed'])}**" if c["missed"] else ""
        return f"{text} of {c['step_ms']:.1f}" + (f" ({rest})" if rest else "") + missed


# ---- steps without marks -----------------------------------------------------------------------------------------------


def unmarked(build, checks, *arguments):
    """Without NVTX: the step that is detected is the one that the trainer itself measures. Its pace is a mean of fewer
    steps than ours, so where other programs stall some of the steps it lies between our median and our mean. A wrong
    period is wrong by half and more."""
    what = " ".join(["unmarked", *arguments])
    profile, run = build.profile("unmarked", "--no-nvtx", "--steps", "120", *arguments)
    steps, printed = build.analyze(profile)["steps"], printed_pace_ms(run.stdout)
    least, most = sorted((steps["median_ms"], steps["mean_ms"]))
    close = 0.95 * least <= printed <= 1.05 * most
    checks.check(steps["source"] == "detected", f"{what}: steps are detected",
                 f"source is {steps['source']}")
    checks.check(close, f"{what}: the detected step is within 5 % of the trainer's own",
                 f"median {steps['median_ms']:.3f} ms, mean {steps['mean_ms']:.3f} ms, the trainer says {printed:.3f} ms")


def options_of(arguments):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build")
    p.add_argument("defects", nargs="*")  # straight behind BUILD: argparse takes them in one piece
    p.add_argument("--full", action="store_true")
    p.add_argument("--trainer")
    p.add_argument("--model", choices=MODELS)
    p.add_argument("--seconds", type=float)
    p.add_argument("--state")
    p.add_argument("--write")
    return p.parse_args(arguments)


def main():
    options = options_of(sys.argv[1:])
    build, checks = Build(options.build), Checks()
    matrix = Matrix(build, checks)
    if options.full:
        Full(matrix, options).run()
        checks.done()
    if options.trainer:
        matrix.trainers = [options.trainer]
    matrix.covering(options.defects)
    if options.trainer in (None, "train_conv") and (not options.defects or "unmarked" in options.defects):
        unmarked(build, checks)
        unmarked(build, checks, "--optimizer", "loop", "--batch", "32")
        unmarked(build, checks, "--cuda-graph", "1")
        unmarked(build, checks, "--depth", "18", "--sync-every", "1")
    checks.done()


if __name__ == "__main__":
    main()
