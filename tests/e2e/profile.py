#!/usr/bin/env python3
"""The commands of docs/profile.md answer on a fresh profile, and the page names what the profile holds.

usage: profile.py BUILD
"""
import os
import re
import sqlite3
import sys

from support import Build, Checks

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "profile.md")


def sound(checks, db):
    answer = db.execute("PRAGMA integrity_check").fetchone()[0]
    checks.check(answer == "ok", "integrity_check", answer)
    parts = [row[1] for row in db.execute("PRAGMA table_info(step)")
             if row[1].endswith("_ns") and row[1] not in ("start_ns", "end_ns", "from_ns", "to_ns")]
    wrong = db.execute(f"SELECT count(*) FROM step WHERE to_ns - from_ns <> {'+'.join(parts)}")
    checks.check(wrong.fetchone()[0] == 0, "the parts of each step sum to it")
    steps = db.execute("SELECT count(*) FROM step").fetchone()[0]
    checks.check(steps == 40, "one row per step", str(steps))


def gauged(checks, db, trained):
    """Memory in use is what the program has allocated: its one arena and what the libraries take."""
    arena = int(re.search(r"(\d+) MB on the device", trained).group(1)) * 1e6
    most, all_of_it = db.execute("SELECT max(memory_used_bytes), max(memory_bytes) FROM gpu_sample, device").fetchone()
    checks.check(most is not None and arena * 0.99 <= most <= arena * 1.5 + 1e9 and most < all_of_it,
                 "the virtual GPU's memory in use is sampled", f"{most} bytes, the trainer has {arena:.0f}")


def named(checks, db, text):
    for kind, name in db.execute("SELECT type, name FROM sqlite_master WHERE type IN "
                                 "('table', 'view') AND name NOT LIKE 'sqlite_%'"):
        checks.check(f"`{name}`" in text, f"{kind} {name} is on the page")
    for (key,) in db.execute("SELECT DISTINCT key FROM fact"):
        checks.check(f"`{key}`" in text, f"fact {key} is on the page")


def main():
    build, checks = Build(sys.argv[1]), Checks()
    with open(PAGE, encoding="utf-8") as f:
        text = f.read()
    profile, run = build.profile("x", "--defect", "pageable")
    commands = re.findall(r"^(?:\$ )?(sqlite3 .*)$", text, re.M)
    for command in commands:
        done = build.run(["sh", "-c", command])
        good = done.returncode == 0 and not done.stderr and done.stdout.count("\n") > 4
        checks.check(good, command[:90], f"status {done.returncode}: {done.stderr[-300:]}")
    checks.check(len(commands) >= 5, "five questions")
    db = sqlite3.connect(profile)
    sound(checks, db)
    gauged(checks, db, run.stdout)
    named(checks, db, text)
    checks.done()


if __name__ == "__main__":
    main()
