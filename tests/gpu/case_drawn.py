"""Predicted beside measured for programs drawn at random: sizes and habits that the engine was not built for."""
import json
import os
import sys

import case_truth

TITLE = "do the predictions come true for programs that nobody chose: drawn at random"
ORDER, LIMIT_S = 65, 260
PROGRAMS, SEED, SECONDS = 40, 29, 205 # as many of the programs as the time allows, in their order


def run(box):
    rows_file = box.path("drawn-rows.json")
    seconds = 40 if box.virtual else SECONDS
    where = ["--models", box.device.split(":")[1].split(",")[0]] if box.virtual else \
        ["--device", "auto", "--trainers", "train_conv,train_gpt,train_amp"]
    box.run([sys.executable, os.path.join(box.source, "bench", "truth", "truth.py"), box.bin, "--repeats", "2", "--steps", "28",
             "--drawn", str(PROGRAMS), "--seed", str(SEED), "--seconds", str(seconds), "--state", box.path("drawn-state"),
             "--write", box.path("drawn.tsv"), "--json", rows_file, *where], seconds + 45, **box.libraries())
    with open(rows_file, encoding="utf-8") as f:
        found = json.load(f)
    case_truth.show(box, found)
