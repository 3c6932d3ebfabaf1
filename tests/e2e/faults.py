#!/usr/bin/env python3
"""What CUPTI does wrong, or others do to it, in whole runs on the virtual GPU: the health table and the verdict say
what is missing, and nothing is concluded from what is.

usage: faults.py BUILD
"""
import sqlite3
import sys

from support import DEVICE, Build, Checks


def health(profile):
    db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
    rows = dict(db.execute("SELECT (SELECT text FROM string WHERE id = code), value FROM health"))
    db.close()
    return rows


def stolen(build, checks):
    """Another client takes the buffers over for the last second or less."""
    for after_ms in (300, 700, 1200):
        what = f"buffers taken over after {after_ms} ms"
        profile, _ = build.profile(f"stolen{after_ms}", steps=60,
                                   device=f"{DEVICE},steal_callbacks_after={after_ms}")
        rows, found = health(profile), build.analyze(profile)
        checks.check(rows.get("cupti-end", 0) > 0, f"{what}: how long is said", str(rows))
        checks.check("host" != found["verdict_class"], f"{what}: no idle GPU is seen in it",
                     found["verdict"])
        said = found["why"] + found["verdict"]
        checks.check("of the run alone" in said or "Not enough data" in said,
                     f"{what}: the verdict says for what part of the run it holds", said)


def kernels_off(build, checks):
    what = "kernels turned off after 500 ms"
    profile, _ = build.profile("off", steps=60, device=f"{DEVICE},kernels_off_after=500")
    found = build.analyze(profile)
    checks.check(found["verdict_class"] == "not-enough-data", f"{what}: no verdict",
                 found["verdict"])
    checks.check("launches" in found["verdict"], f"{what}: launches are the evidence",
                 found["verdict"])


def sound(build, checks):
    """Nothing of this where nothing is wrong, also where launches are captured."""
    for arguments in ([], ["--cuda-graph", "1"]):
        what = " ".join(["nothing wrong", *arguments])
        profile, _ = build.profile("sound", *arguments, steps=30)
        rows, found = health(profile), build.analyze(profile)
        checks.check(not {"cupti-end", "names-missing"} & rows.keys(), f"{what}: no complaint",
                     str(rows))
        said = found["why"]
        checks.check("missing" not in said and "alone" not in said, f"{what}: no doubt", said)


def main():
    build, checks = Build(sys.argv[1]), Checks()
    stolen(build, checks)
    kernels_off(build, checks)
    sound(build, checks)
    checks.done()


if __name__ == "__main__":
    main()
