#!/usr/bin/env python3
"""A fleet's tables: sixteen runs of known date, host and commit, and the queries of docs/fleet.md by SQLite, and by DuckDB where
Python has it.

usage: fleet.py BUILD
"""
import csv
import os
import re
import shutil
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import Build, Checks

SOURCE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
DAY = 86400
START = 1767225600  # 2026-01-01
OLD, NEW = "a" * 40, "b" * 40


def say_otherwise(path, host, commit, seconds):
    """A copy of a recording becomes one of another day, host and commit."""
    db = sqlite3.connect(path)
    def text(value):
        found = db.execute("SELECT id FROM string WHERE text = ?", (value,)).fetchone()
        return found[0] if found else db.execute("INSERT INTO string SELECT max(id) + 1, ? FROM string", (value,)).lastrowid
    db.execute("UPDATE process SET host = ?", (text(host),))
    last = db.execute("SELECT max(id) FROM meta").fetchone()[0]
    db.execute("INSERT INTO meta VALUES (?, 0, ?, ?)", (last + 1, text("commit"), text(commit)))
    db.execute("UPDATE meta SET value = ? WHERE key = ?", (text(str(seconds * 10**9)), text("start_realtime_ns")))
    db.commit()
    db.close()


def fleet(build):
    """Runs 0 to 9 of one commit, 10 to 15 of a slower one; node3 is slow throughout."""
    kinds = {}
    for name, scale in (("fast", 8), ("slow", 8.64), ("node3", 8.32), ("both", 9.04)):
        kinds[name], _ = build.profile(name, "--batch", "16", "--depth", "18", "--data", "fixed", steps=24,
                                       device=f"virtual:a100-80,scale={scale}")
    os.mkdir(build.path("runs"))
    made = []
    for i in range(16):
        slow, node3 = i >= 10, i % 4 == 3
        path = build.path(f"runs/run{i:02d}.gpuprof")
        shutil.copy(kinds["both" if slow and node3 else "slow" if slow else "node3" if node3 else "fast"], path)
        say_otherwise(path, f"node{i % 4}", NEW if slow else OLD, START + i * DAY)
        made.append(path)
    return made


def queries():
    with open(os.path.join(SOURCE, "docs", "fleet.md"), encoding="utf-8") as f:
        return re.findall(r"```sql\n(.*?)```", f.read(), re.S)


def answers(checks, what, rows):
    slower, since, hosts, (parts, findings) = rows
    runs = [os.path.basename(r[0]) for r in slower]
    checks.check(runs and "run10.gpuprof" in runs and all(r[5] > 3 for r in slower) and "run08.gpuprof" not in runs,
                 f"{what}: which runs of the last week were slower", str(slower))
    checks.check(since and since[0][0] == NEW and os.path.basename(since[0][1]) == "run10.gpuprof",
                 f"{what}: since which commit", str(since))
    checks.check(hosts and hosts[0][0] == "node3" and 1 < hosts[0][2] < 8 and float(hosts[0][1]) == 4, f"{what}: on which host", str(hosts))
    checks.check([(r[0], int(r[1])) for r in parts] == [(OLD, 10), (NEW, 6)] and parts[1][3] > parts[0][3],
                 f"{what}: what takes the time", str(parts))
    checks.check(all(int(r[1]) <= 16 for r in findings), f"{what}: findings that recur", str(findings))


def by_sqlite(build, checks):
    db = build.path("fleet.db")
    done = subprocess.run(["sqlite3", db, *(f".import --csv {build.path('fleet')}/{t}.csv {t}" for t in ("runs", "steps", "findings"))],
                          capture_output=True, text=True, check=False)
    checks.check(done.returncode == 0 and not done.stderr, "sqlite3 imports the tables", done.stderr)
    connection = sqlite3.connect(db)
    rows = []
    for text in queries():
        found = [connection.execute(q).fetchall() for q in text.split(";") if q.strip()]
        rows.append(found if len(found) > 1 else found[0])
    steps = connection.execute("SELECT count(*), count(DISTINCT run) FROM steps").fetchone()
    checks.check(steps == (16 * 24, 16), "all steps of all runs", str(steps))
    connection.close()
    answers(checks, "SQLite", rows)


def by_duckdb(build, checks):
    try:
        import duckdb
    except ImportError:
        print("skipped  DuckDB: this Python has none")
        return
    connection = duckdb.connect()
    for table in ("runs", "steps", "findings"):
        connection.execute(f"CREATE TABLE {table} AS FROM '{build.path('fleet')}/{table}.csv'")
    rows = []
    for text in queries():
        found = [connection.execute(q).fetchall() for q in text.split(";") if q.strip()]
        rows.append(found if len(found) > 1 else found[0])
    answers(checks, "DuckDB", rows)


def main():
    build, checks = Build(sys.argv[1]), Checks()
    made = fleet(build)
    done = build.run([build.gpuprof, "export", "--format", "csv", *made, "-o", "fleet/"])
    checks.check(done.returncode == 0 and sorted(os.listdir(build.path("fleet"))) == ["findings.csv", "runs.csv", "steps.csv"],
                 "three tables", done.stderr)
    with open(build.path("fleet/runs.csv"), encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    with open(os.path.join(SOURCE, "docs", "fleet.md"), encoding="utf-8") as f:
        page = f.read()
    checks.check(all(f"`{c}`" in page for c in list(rows[0])[:30]), "docs/fleet.md names the columns",
                 str([c for c in list(rows[0])[:30] if f"`{c}`" not in page]))
    first = rows[0]
    said = (first["host"], first["git_commit"], first["started"], first["batch"], first["program"], first["is_virtual"])
    checks.check(said == ("node0", OLD, "2026-01-01T00:00:00Z", "16", "train_conv", "1"), "host, commit, date, batch, program", str(said))
    parts = sum(float(v) for k, v in list(first.items())[list(first).index("findings") + 1:])
    checks.check(abs(parts - float(first["step_median_ms"])) < 0.02 * parts, "the parts sum to the step", f"{parts}, {first}")
    if shutil.which("sqlite3"):
        by_sqlite(build, checks)
    by_duckdb(build, checks)
    with open(build.path("bad.gpuprof"), "w", encoding="ascii") as f:
        f.write("no profile")
    done = build.run([build.gpuprof, "export", "--format", "csv", "bad.gpuprof", made[0], "-o", "x.csv"])
    checks.check(done.returncode == 2 and "bad.gpuprof" in done.stderr and os.path.exists(build.path("x.runs.csv")),
                 "a damaged run is named and left out", done.stderr)
    done = build.run([build.gpuprof, "export", "--format", "csv", made[0], "-o", "fleet"])
    checks.check(done.returncode == 2 and "exists" in done.stderr, "tables that exist are not replaced", done.stderr)
    done = build.run([build.gpuprof, "export", "--format", "tsv", made[0], "-o", build.path("y")])
    checks.check(done.returncode == 2 and "csv, chrome" in done.stderr and not os.path.exists(build.path("y")),
                 "an unknown format: those that there are", done.stderr)
    checks.done()


if __name__ == "__main__":
    main()
