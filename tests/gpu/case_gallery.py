"""Scripts as users write them: what gpuprof finds, and whether a rerun with the first setting saves what it predicts."""
import json
import os

TITLE = "scripts of examples/ and `gpuprof try` on them: predicted beside measured"
ORDER, LIMIT_S = 50, 280
SCRIPTS = ("gpt2", "vit", "bert", "dlrm", "diffusion", "resnet50")


def run(box):
    python, version = box.python()
    box.row("PyTorch", version)
    steps = 12 if box.virtual else 24
    for name in box.chosen(SCRIPTS):
        script = os.path.join(box.source, "examples", name, "train.py")
        try:
            one(box, name, [python, script, "--steps", str(steps)], steps)
        except Exception as why:  # noqa: BLE001 a script whose packages are missing must not stop the other
            box.row(f"{name}: not run", str(why)[-200:], "", "runs", False)


def one(box, name, program, steps):
    profile = box.path(f"gallery-{name}.gpuprof")
    done = box.run([box.gpuprof, "try", "--json", "-q", "-f", "--runs", "3", "--device", box.device, "-o", profile, "--", *program],
                   150, None)
    box.keep(f"gallery-{name}.txt", box.run([box.gpuprof, "analyze", "-v", "--color", "never", profile]).stdout)
    report = box.analyze(profile)
    count = report["steps"]["count"]
    box.row(f"{name}: steps found", count, "steps", f"{steps - 2} to {steps}", steps - 2 <= count <= steps)
    box.row(f"{name}: step", report["steps"]["median_ms"], "ms")
    box.row(f"{name}: findings", ", ".join(f["rule"] for f in report["findings"][:5]) or "none")
    if not done.stdout.startswith("{"):
        box.row(f"{name}: nothing to try", done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "")
        return
    box.keep(f"gallery-{name}-try.json", done.stdout)
    for t in json.loads(done.stdout)["tried"]:
        box.row(f"{name}, {t['apply']}: predicted {span(t['predicted_pct'])}, measured {span(t['measured_pct'])}", t["verdict"], "",
                "not REFUTED", t["verdict"] != "REFUTED")


def span(percent):
    return f"{percent['mid']:.1f} % ({percent['low']:.1f} to {percent['high']:.1f})" if percent else "nothing"
