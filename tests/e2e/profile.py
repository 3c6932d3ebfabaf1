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
             if row[1].endswith("_ns") and row[1] not in ("start_ns", "end_ns")]
    wrong = db.execute(f"SELECT count(*) FROM step WHERE end_ns - start_ns <> {'+'.join(parts)}")
    checks.check(wrong.fetchone()[0] == 0, "the parts of each step sum to it")
    steps = db.execute("SELECT count(*) FROM step").fetchone()[0]
    checks.check(steps == 40, "one row per step", str(steps))


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
    profile, _ = build.profile("x", "--defect", "pageable")
    commands = re.findall(r"^(?:\$ )?(sqlite3 .*)$", text, re.M)
    for command in commands:
        done = build.run(["sh", "-c", command])
        good = done.returncode == 0 and not done.stderr and done.stdout.count("\n") > 4
        checks.check(good, command[:90], f"status {done.returncode}: {done.stderr[-300:]}")
    checks.check(len(commands) >= 5, "five questions")
    db = sqlite3.connect(profile)
    sound(checks, db)
    named(checks, db, text)
    checks.done()


if __name__ == "__main__":
    main()
