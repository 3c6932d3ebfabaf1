#!/usr/bin/env python3
"""Cuts a profile to a few steps and takes out who made it where: a recording of a real GPU becomes test data.
Usage: cut.py PROFILE OUT.gpuprof.gz [--steps N].

Kept are N steps from the middle of those that gpuprof used, as a profiler would have recorded these alone: what the host did
in them, what it launched, and what the GPU still did when they began. Conclusions are dropped; whoever reads the file draws
them again. Names of hosts and users, folders, numbers of processes and threads, serial numbers, commits, dates and the
environment go, and so do queries that the agent no longer records."""
import argparse
import gzip
import os
import re
import sqlite3
import sys
import tempfile

CONCLUDED = ("step", "gap", "finding", "trial", "result", "recorded", "step_block")
WORK = ("kernel", "copy", "memset", "sync")  # has a launch, and a time of its own
OF_HOST = ("api", "range", "library_call", "loader_span", "collective", "overhead")
SAMPLES = ("host_sample", "gpu_sample")
QUERIES = ("cudaDeviceGetAttribute", "cudaFuncGetAttributes", "cudaFuncSetAttribute", "cuDeviceGetAttribute", "cuCtxGetLimit",
           "cuFuncGetAttribute", "cuKernelGetName", "cuKernelGetFunction", "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
           "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", "cuOccupancyMaxActiveBlocksPerMultiprocessor",
           "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags")
REPLACED = {"host_kernel": "Linux", "cpu_model": "x86-64"}
LEFT_OUT = ("commit", "job", "process.host", "start_realtime_ns")
OF_WHOLE_RUN = ("agent-cpu", "unknown-kinds")
PERSONAL = re.compile(r"(^|[ =:])/\w|/(work|home|root|tmp|usr|opt)/|\w+@\w+")


def window(db, steps):
    """The steps in the middle: from the start of the first to the end of the last, on the host."""
    used = db.execute("SELECT start_ns, end_ns FROM step WHERE used = 1 ORDER BY start_ns").fetchall()
    if len(used) < steps:
        sys.exit(f"only {len(used)} steps were used")
    first = (len(used) - steps) // 2
    return used[first][0], used[first + steps - 1][1]


def named(texts):
    """A condition: the column before it names one of these."""
    return f"IN (SELECT id FROM string WHERE text IN ({', '.join(repr(text) for text in texts)}))"


def unused(db, table, column, users):
    """Drops the rows that no row of the users refers to."""
    used = " UNION ".join(f"SELECT {column} FROM {user}" for user in users)
    db.execute(f"DELETE FROM {table} WHERE id NOT IN ({used})")


def cut(db, begin, end):
    """Leaves what lies in the window."""
    def run(sql):
        db.execute(sql, {"a": begin, "b": end})

    for table in CONCLUDED:
        run(f"DELETE FROM {table}")
    run(f"DELETE FROM meta WHERE key {named(LEFT_OUT)} OR key IN (SELECT id FROM string WHERE text GLOB 'env.*')")
    run(f"DELETE FROM health WHERE code {named(OF_WHOLE_RUN)}")
    run("CREATE TEMP TABLE launch AS SELECT process, correlation, min(start_ns) AS ns FROM api WHERE correlation "
        "GROUP BY process, correlation")
    run("CREATE INDEX temp.launch_key ON launch(process, correlation)")
    launch = "(SELECT ns FROM launch l WHERE l.process = {0}.process AND l.correlation = {0}.correlation)"
    for table in WORK:
        run(f"DELETE FROM {table} WHERE coalesce({launch.format(table)}, start_ns) >= :b OR end_ns <= :a")
    run(f"DELETE FROM cuda_event WHERE coalesce({launch.format('cuda_event')}, -1) NOT BETWEEN :a AND :b - 1")
    for table in OF_HOST:
        run(f"DELETE FROM {table} WHERE start_ns < :a OR start_ns >= :b")
    for table in SAMPLES:
        run(f"DELETE FROM {table} WHERE time_ns < :a OR time_ns >= :b")
    run(f"DELETE FROM api WHERE name {named(QUERIES)}")
    run("UPDATE process SET start_ns = :a, end_ns = :b")
    unused(db, "stream", "stream", (*WORK, "cuda_event"))
    unused(db, "thread", "thread", (*OF_HOST, "host_sample"))


def scrub(db):
    """Leaves the file's name of each path, and numbers of our own for processes and threads."""
    empty = db.execute("SELECT id FROM string WHERE text = ''").fetchone()[0]
    db.execute("UPDATE thread SET tid = coalesce((SELECT 100 + p.id FROM process p WHERE p.id = thread.process AND p.pid = tid), 200 + id)")
    db.execute("UPDATE process SET host = ?, ppid = 1, pid = 100 + id", (empty,))
    db.execute("UPDATE device SET uuid = ?", (empty,))
    for key, value in REPLACED.items():
        new = db.execute("INSERT INTO string(text) VALUES (?)", (value,)).lastrowid
        db.execute("UPDATE meta SET value = ? WHERE key = (SELECT id FROM string WHERE text = ?)", (new, key))
    for number, text in db.execute("SELECT id, text FROM string WHERE text LIKE '%/%'").fetchall():
        words = [os.path.basename(word) if word.startswith("/") else word for word in text.split(" ")]
        db.execute("UPDATE string SET text = ? WHERE id = ?", (" ".join(words), number))


def references(db):
    """(table, column) of each column that holds a string's number; the schema says which."""
    for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall():
        for row in db.execute(f"PRAGMA foreign_key_list({table})"):
            if row[2] == "string":
                yield table, row[3]


def sweep(db):
    """Drops strings that no row names any more, and numbers the others anew: each text once, the empty one first, no holes."""
    columns = list(references(db))
    used = " UNION ".join(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL" for table, column in columns)
    kept = db.execute(f"SELECT id, text FROM string WHERE text = '' OR id IN ({used}) ORDER BY text <> '', id").fetchall()
    for _, text in kept:
        if PERSONAL.search(text):
            sys.exit(f"may tell who recorded it where: {text!r}")
    texts = list(dict.fromkeys(text for _, text in kept))
    numbers = {text: number for number, text in enumerate(texts)}
    db.execute("CREATE TEMP TABLE number(old INTEGER PRIMARY KEY, new INTEGER)")
    db.executemany("INSERT INTO number VALUES (?, ?)", [(old, numbers[text]) for old, text in kept])
    for table, column in columns:
        db.execute(f"UPDATE {table} SET {column} = (SELECT new FROM number WHERE old = {column})")
    db.execute("DELETE FROM string")
    db.executemany("INSERT INTO string VALUES (?, ?)", enumerate(texts))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("profile")
    options.add_argument("out")
    options.add_argument("--steps", type=int, default=6)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "x.gpuprof")
        with open(chosen.profile, "rb") as f, open(path, "wb") as copy:
            copy.write(f.read())
        db = sqlite3.connect(path)
        begin, end = window(db, chosen.steps)
        cut(db, begin, end)
        scrub(db)
        sweep(db)
        db.commit()
        db.execute("VACUUM")
        db.close()
        with open(path, "rb") as f, open(chosen.out, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as packed:
            packed.write(f.read())
    print(f"{chosen.out}: {os.path.getsize(chosen.out)} bytes")


if __name__ == "__main__":
    main()
