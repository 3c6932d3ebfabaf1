"""Predicted beside measured, for the trainers' knobs, on this card."""
import json
import os
import statistics
import sys

TITLE = "do the predictions come true: each planted defect, its remedy rerun"
ORDER, LIMIT_S = 60, 260


def run(box):
    rows_file = box.path("truth-rows.json")
    budget = 60 if box.virtual else 220
    box.run([sys.executable, os.path.join(box.source, "bench", "truth.py"), box.bin, "--device", box.device, "--repeats", "2",
             "--budget", str(budget), "--json", rows_file], budget + 30, **box.libraries())
    with open(rows_file, encoding="utf-8") as f:
        rows = json.load(f)
    if not rows:
        raise RuntimeError("no row came back")
    errors = {}
    for r in rows:
        if r.get("missing"):
            box.row(f"{r['trainer']} {r['defect']}", "not found", "", "found", False)
            continue
        errors.setdefault(r["error_class"], []).append(r)
        box.row(f"{r['trainer']} {r['defect']}: predicted {r['predicted_ms']:.2f} [{r['low_ms']:.2f}, {r['high_ms']:.2f}], measured",
                r["measured_ms"], "ms saved")
    structural = [abs(r["error_points"]) for r in errors.get("structural", [])]
    if structural:
        box.row("structural edits: median error", statistics.median(structural), "points of step time", "<= 2", statistics.median(structural) <= 2)
    model = [r["covered"] for r in errors.get("kernel-model", [])]
    if model:
        box.row("kernel-model edits: covered by the interval", 100 * sum(model) / len(model), "%", ">= 80 %", sum(model) >= 0.8 * len(model))
    hits = [r["rank_hit"] for r in rows if not r.get("missing")]
    box.row("first recommendation best or within 2 points", 100 * sum(hits) / len(hits), "%", ">= 80 %", sum(hits) >= 0.8 * len(hits))
