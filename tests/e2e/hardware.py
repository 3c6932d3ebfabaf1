#!/usr/bin/env python3
"""The arithmetic of a step, and its share of the card's peak, beside what published formulas say of the same model.

usage: hardware.py BUILD
"""
import os
import sys

from support import Build, Checks

# ResNet-50: 4.089 10^9 multiplications and additions for a picture (torchvision's model page); the backward pass does them twice,
# but for the picture's own gradient (0.118).
RESNET50_TFLOP = 2 * 64 * (3 * 4.089 - 0.118) / 1000
# nanoGPT's estimate_mfu, by PaLM's formula: 6 for each parameter (123.65 10^6 without positions) and token, and attention
GPT2_TFLOP = 4 * 1024 * (6 * 123.65e6 + 12 * 12 * 12 * 64 * 1024) / 1e12
PEAK = 312 # TFLOP/s of an A100 in 16 bits
WITHIN = 0.03

PROGRAMS = {"train_conv": (["--depth", "50", "--batch", "64", "--image", "224", "--data", "fixed"], RESNET50_TFLOP),
            "train_gpt": ([], GPT2_TFLOP)}


def main():
    build, checks = Build(sys.argv[1]), Checks()
    for trainer, (words, tflop) in PROGRAMS.items():
        profile = build.path("hardware.gpuprof")
        done = build.run([build.gpuprof, "run", "-q", "-f", "--device", "virtual:a100-80", "-o", profile, "--",
                          os.path.join(build.bin, trainer), "--steps", "10", *words])
        if not checks.check(done.returncode == 0, f"{trainer} ends well", done.stderr[-300:]):
            continue
        answer = build.analyze(profile)
        a = answer["work"]["arithmetic"] or {"types": [], "known_pct": 0, "of_peak_pct": 0}
        found = sum(t["tflop"] for t in a["types"])
        checks.check(abs(found / tflop - 1) < WITHIN, f"{trainer}: the arithmetic of a step", f"{found:.3f} TFLOP, by the formula {tflop:.3f}")
        share = 100 * tflop / PEAK / (answer["breakdown_of_ms"] / 1000)
        checks.check(abs(a["of_peak_pct"] / share - 1) < WITHIN, f"{trainer}: its share of the peak", f"{a['of_peak_pct']} %, by the formula {share:.2f}")
        checks.check(a["known_pct"] > 99, f"{trainer}: all sizes are known", str(a["known_pct"]))
    checks.done()


main()
