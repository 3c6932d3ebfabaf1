"""Predicted beside measured, for the trainers' settings, on this card."""
import json
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "truth"))
import scatter  # noqa: E402

TITLE = "do the predictions come true: each planted defect, its remedy rerun"
ORDER, LIMIT_S = 60, 420
CASES = ("fp32", "gpt: fp32", "sync-every-step", "launch-bound", "amp: amp-off", "gpt: unfused", "workers0", "pageable", "nchw", "gpt: clip-sync",
         "blocking-copy", "amp: weight-casts", "optimizer-loop", "gpt: launch-bound", "zero-grad-memset", "amp: scaler-sync")
SECONDS_EACH = 22


def run(box):
    rows_file = box.path("truth-rows.json")
    chosen = box.chosen(CASES)
    seconds = 40 if box.virtual else SECONDS_EACH * len(chosen)
    where = ["--models", box.device.split(":")[1].split(",")[0], "--cases", "pageable"] if box.virtual else \
        ["--device", "auto", "--trainers", "train_conv,train_gpt,train_amp", "--cases", ",".join(chosen)]
    box.run([sys.executable, os.path.join(box.source, "bench", "truth", "truth.py"), box.bin, "--repeats", "2", "--seconds", str(seconds),
             "--state", box.path("truth-state"), "--write", box.path("truth.tsv"), "--json", rows_file, *where],
            seconds + 45, **box.libraries())
    with open(rows_file, encoding="utf-8") as f:
        found = json.load(f)
    show(box, found)


def show(box, found):
    for r in (r for r in found["rows"] if r["mid"] is not None):
        box.row(f"{r['case']}, {r['what']}: predicted {r['mid']:.1f} [{r['low']:.1f}, {r['high']:.1f}], measured", r["measured"],
                f"% of a step saved (its runs: {r['measured_low']:.1f} to {r['measured_high']:.1f})")
    judge(box, [r for r in found["rows"] if r["mid"] is not None])
    for sentence in found["summary"]:
        box.row("in words", sentence)


def judge(box, rows):
    structural = [abs(r["error"]) for r in rows if r["class"] == "structural"]
    if structural:
        middle = statistics.median(structural)
        box.row("structural edits: median error", middle, "points of step time", "<= 2", middle <= 2)
    model = [r["covered"] for r in rows if r["class"] in ("kernel-model", "rerun-decides")]
    if model:
        share = 100 * sum(model) / len(model)
        box.row("kernel-model edits: covered by the interval", share, "%", ">= 80 %", share >= 80)
    box.row("predicted and measured ranges that overlap", sum(map(scatter.overlaps, rows)), f"of {len(rows)}")
    box.row("rows that the runs do not decide", sum(map(scatter.undecided, rows)), f"of {len(rows)}")
    box.row("predictions measured", len(rows), "", "at least 1", len(rows) >= 1)
