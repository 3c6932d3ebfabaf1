#!/usr/bin/env python3
"""Structured mutations of profiles, traces and exports: hostile values in every column and every field, through all commands.

  mutate.py GPUPROF [--first N] [--count N] [--seconds S] [--mib M] [--keep DIR] [--jobs N]

A mutant is made from its number alone, so that one that fails can be made again (--first N --count 1 --keep DIR). Of each
command is demanded: no signal, no report of a sanitizer, a status from 0 to 3, at most one line of error at status 2, bounded
time and memory; JSON that is JSON. Mutants go on until --count of them or --seconds are over. Exit status: 1 when one failed."""
import argparse
import gzip
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import seeds

MAX, MIN = (1 << 63) - 1, -(1 << 63)
TIMEOUT_S = 40
NUMBERS = [MIN, MIN + 1, MAX, MAX - 1, -1, 0, 1, 2, 1 << 31, (1 << 31) - 1, -(1 << 31), 1 << 32, (1 << 32) - 1, 1 << 53, 1 << 56,
           (1 << 60) - 1, 1 << 61, 1 << 62, -(1 << 62), 255, 65536, 999_999_999_999]
TEXTS = ["", "x", "9" * 400, "-1", "nan", "inf", "1e308", "-1e308", "0x7fffffffffffffff", "%s%n%d", "a" * 70_000, "\n\r\t", "\x1b[31m",
         "::error::x", "<script>alert(1)</script>", "]]>", "\ufffe\uffff", "\x00b", "|`*_#", "../../etc", "_Z" + "N" * 3000,
         "_ZN" + "3abc" * 900 + "E", "_Z1fI" + "S_" * 2000 + "E", "kernels,,,api," * 500, ",", "unknown", "0", "18446744073709551616",
         "void " + "f<" * 2000 + ">" * 2000 + "()", "((((((((((", "\u202e\u200b", "{}", "[1, 2"]
BLOBS = [b"", b"\xff\xfe\xc0\x80\xed\xa0\x80", b"\0" * 5000, b"\x80" * 70_000]
REALS = [float("inf"), float("-inf"), 1e300, -1e300, 0.5, 5e-324, float("nan")]


def hostile(r):
    kind = r.random()
    if kind < 0.55:
        return r.choice(NUMBERS)
    if kind < 0.65:
        return None
    if kind < 0.75:
        return r.choice(REALS)
    if kind < 0.9:
        return r.choice(TEXTS)
    return r.choice(BLOBS)


# ---- databases --------------------------------------------------------------------------------------------------------


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


class Database:
    def __init__(self, path, r):
        self.db, self.r = sqlite3.connect(path), r
        self.db.text_factory = bytes
        self.tables = [t.decode() for (t,) in self.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        self.tables = [t for t in self.tables if self.db.execute(f"SELECT count(*) FROM {quoted(t)}").fetchone()[0]]

    def columns(self, table):
        return [c[1].decode() for c in self.db.execute(f"PRAGMA table_info({quoted(table)})")]

    def rows(self, table, share):
        """Some rows, by rowid: all, one, or a few."""
        ids = [i for (i,) in self.db.execute(f"SELECT rowid FROM {quoted(table)}")]
        return self.r.sample(ids, max(1, int(len(ids) * share))) if ids else []

    def run(self, *statement):
        try:
            self.db.execute(*statement)
        except (sqlite3.Error, OverflowError):
            pass  # a key twice, a value that the schema refuses: no mutation

    def sweep(self):
        """The same value in one column of every table, in some of the rows: the rest is still a recording."""
        value, place, share = self.r.choice(NUMBERS), self.r.randrange(30), self.r.choice([0.05, 0.3, 1])
        for table in self.tables:
            names = [c for c in self.columns(table) if c != "id"]
            column = names[place % len(names)] if names else None
            for row in self.rows(table, share) if column else []:
                self.run(f"UPDATE {quoted(table)} SET {quoted(column)} = ? WHERE rowid = ?", (value, row))

    def column(self):
        """One column: the same hostile value, or another in each row."""
        table = self.r.choice(self.tables)
        column = self.r.choice(self.columns(table))
        value, one = hostile(self.r), self.r.random() < 0.5
        for row in self.rows(table, self.r.choice([1, 1, 0.5, 0.1, 0])):
            self.run(f"UPDATE {quoted(table)} SET {quoted(column)} = ? WHERE rowid = ?", (value if one else hostile(self.r), row))

    def cells(self):
        for _ in range(self.r.choice([3, 20, 100])):
            table = self.r.choice(self.tables)
            for row in self.rows(table, 0):
                self.run(f"UPDATE {quoted(table)} SET {quoted(self.r.choice(self.columns(table)))} = ? WHERE rowid = ?",
                         (hostile(self.r), row))

    def shift(self):
        """Times and numbers by a factor or an amount, so that orders and sums change and nothing is absurd by itself."""
        table = self.r.choice(self.tables)
        column = self.r.choice(self.columns(table))
        change = self.r.choice(["= -{c}", "= {c} * 1000", "= {c} / 1000", "= {c} + 4503599627370496", "= {c} - 9000000000000000",
                                "= {c} % 7", "= rowid", "= {c} * 1000000", "= abs({c} % 3) - 1"])
        self.run(f"UPDATE {quoted(table)} SET {quoted(column)} {change.format(c=quoted(column))}")

    def text(self):
        """The words of the recording: facts, names."""
        table, column = ("string", "text") if "string" in self.tables else ("StringIds", "value")
        if table not in self.tables:
            return
        for row in self.rows(table, self.r.choice([0, 0.05, 0.5])):
            value = self.r.choice(TEXTS + BLOBS + [str(n) for n in NUMBERS])
            self.run(f"UPDATE {table} SET {column} = ? WHERE rowid = ? AND rowid > 0", (value, row))

    def repeat(self):
        """Rows many times over, under ids of their own."""
        table = self.r.choice(self.tables)
        columns = [c for c in self.columns(table) if c != "id"]
        names = ", ".join(quoted(c) for c in columns)
        for _ in range(self.r.choice([1, 4, 7])):
            self.run(f"INSERT INTO {quoted(table)} ({names}) SELECT {names} FROM {quoted(table)} LIMIT 4000")

    def lack(self):
        table = self.r.choice(self.tables)
        what = self.r.random()
        if what < 0.4:
            self.run(f"DELETE FROM {quoted(table)}")
        elif what < 0.6:
            self.run(f"DELETE FROM {quoted(table)} WHERE rowid % 3 = 1")
        elif what < 0.8:
            self.run(f"ALTER TABLE {quoted(table)} DROP COLUMN {quoted(self.r.choice(self.columns(table)))}")
        else:
            self.run(f"DROP TABLE {quoted(table)}")

    def instead(self):
        """Something else in the place of a table."""
        table = self.r.choice(self.tables)
        columns = ", ".join(quoted(c) for c in self.columns(table))
        values = ", ".join(["x"] * len(self.columns(table)))
        first = quoted(self.columns(table)[0])
        self.run(f"ALTER TABLE {quoted(table)} RENAME TO moved")
        self.run(self.r.choice([
            f"CREATE VIEW {quoted(table)} AS SELECT * FROM moved",
            f"CREATE VIEW {quoted(table)}({columns}) AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) "
            f"SELECT {values} FROM r",
            f"CREATE VIRTUAL TABLE {quoted(table)} USING fts5({columns})",
            f"CREATE TABLE {quoted(table)} (x, {columns.replace(first, first + ' AS (zeroblob(900000000))', 1)})",
            f"CREATE TABLE {quoted(table)} ({columns}, more AS (zeroblob(1000)) STORED)"]))
        self.run(f"INSERT INTO {quoted(table)} (x) SELECT 1 FROM moved")
        self.tables.remove(table)  # it may go on for ever

    def schema(self):
        """Triggers, indices of expressions, a schema that is no schema, headers."""
        table = self.r.choice(self.tables)
        column = quoted(self.r.choice(self.columns(table)))
        self.run(self.r.choice([
            f"CREATE INDEX i ON {quoted(table)} ({column})",
            f"CREATE INDEX i ON {quoted(table)} (abs({column}), {column})",
            f"CREATE TRIGGER t AFTER INSERT ON {quoted(table)} BEGIN INSERT INTO {quoted(table)} ({column}) VALUES (1); END",
            "PRAGMA user_version = 1", "PRAGMA user_version = 2", "PRAGMA user_version = -1", "PRAGMA application_id = 1",
            "CREATE TABLE \"a'b\"\"c\" (\"x y\")"]))
        if self.r.random() < 0.3:
            self.run("PRAGMA writable_schema = ON")
            self.run("UPDATE sqlite_master SET " + self.r.choice(["sql = replace(sql, 'INTEGER', 'BLOB')", "rootpage = 2",
                     "sql = 'CREATE TABLE ' || name || '(id, x AS (zeroblob(1000000000)))' WHERE type = 'table' AND name = 'kernel'",
                     "rootpage = rootpage + 1", "type = 'view' WHERE name = 'kernel'", "sql = NULL", "name = 'kernel'"]))

    def mutate(self):
        ways = [self.sweep] * 8 + [self.column] * 6 + [self.cells] * 2 + [self.shift] * 3 + [self.text] * 2 + [self.repeat, self.lack, self.instead,
                                                                                            self.schema]
        for _ in range(self.r.choice([1, 1, 2, 3, 6])):
            if self.tables:
                self.r.choice(ways)()
                self.tables = [t for t in self.tables if self.columns_or_none(t)]
        self.db.commit()
        self.db.close()

    def columns_or_none(self, table):
        try:
            return self.columns(table)
        except sqlite3.Error:
            return None


def damage(path, r):
    """Bytes of the file itself: pages, pointers, headers, its end."""
    with open(path, "r+b") as f:
        data = bytearray(f.read())
        for _ in range(r.choice([1, 3, 30])):
            what, at = r.random(), r.randrange(len(data))
            if what < 0.5:
                data[at] = r.choice([0, 255, 127, 128, r.randrange(256)])
            elif what < 0.7:
                data[r.randrange(100)] = r.randrange(256)
            elif what < 0.9:  # one page in the place of another, its own child perhaps
                page = 4096 if len(data) >= 8192 else 256
                a, b = r.randrange(len(data) // page), r.randrange(len(data) // page)
                data[a * page:(a + 1) * page] = data[b * page:(b + 1) * page]
            else:
                del data[max(at, 512):]
        f.seek(0)
        f.truncate()
        f.write(data)


# ---- JSON -------------------------------------------------------------------------------------------------------------


def nest(r):
    return json.loads("[" * 50 + "]" * 50) if r.random() < 0.5 else {"a": {"b": [1, {"c": None}]}}


def mutate_event(e, r):
    where = e["args"] if "args" in e and isinstance(e["args"], dict) and r.random() < 0.5 else e
    if not where:
        return
    key, what = r.choice(list(where)), r.random()
    if what < 0.15:
        del where[key]
    elif what < 0.25:
        where[key] = nest(r)
    elif what < 0.35:
        where[key] = r.choice([True, False, None, [], {}])
    elif what < 0.5 and isinstance(where[key], (int, float)):
        where[key] *= r.choice([-1, 0, 1000, 1e9, 1e-9])
    else:
        value = hostile(r)
        where[key] = value.decode("latin-1") if isinstance(value, bytes) else value


def mutate_trace(path, r):
    doc = seeds.kineto()
    events = doc["traceEvents"]
    for _ in range(r.choice([1, 1, 3])):
        what = r.random()
        if what < 0.35:  # one field of one kind of event
            cat = r.choice([e.get("cat") for e in events])
            seed = r.random()
            for e in events:
                if e.get("cat") == cat:
                    mutate_event(e, random.Random(seed))
        elif what < 0.7:
            for e in r.sample(events, min(len(events), r.choice([1, 10, 100]))):
                mutate_event(e, r)
        elif what < 0.78:
            key = r.choice(list(doc))
            if key != "traceEvents":
                doc[key] = r.choice([hostile_json(r), nest(r)])
        elif what < 0.86:
            r.shuffle(events)
        elif what < 0.93:
            events.extend(json.loads(json.dumps(events)) for _ in range(1))
            events[-1:] = events[-1]
        else:
            del events[r.randrange(len(events)):]
    text = json.dumps(doc)
    if r.random() < 0.1:
        at = r.randrange(len(text))
        text = text[:at] + r.choice(["", "\\", '"', "\x00", "{", "]", "\\ud800", "1e999999"]) + text[at + r.choice([0, 1, 100]):]
    data = text.encode("utf-8", "surrogatepass")
    if r.random() < 0.1:
        data = data.replace(b"kernel", b"ker\xff\xc0nel")
    with open(path, "wb") as f:
        f.write(gzip.compress(data, 1) if r.random() < 0.1 else data)


def hostile_json(r):
    value = hostile(r)
    return value.decode("latin-1") if isinstance(value, bytes) else value


# ---- running ----------------------------------------------------------------------------------------------------------

WAYS = ["profile"] * 10 + ["stretches"] * 5 + ["nsys"] * 5 + ["kineto"] * 6 + ["damaged"] * 4
SUFFIX = {"nsys": ".sqlite", "kineto": ".json"}


def make(number, originals, folder):
    """The mutant of that number; its path."""
    r = random.Random(number)
    way = r.choice(WAYS)
    path = os.path.join(folder, f"mutant{number}" + SUFFIX.get(way, ".gpuprof"))
    if way == "kineto":
        mutate_trace(path, r)
        return path
    source = r.choice(["profile", "nsys"]) if way == "damaged" else way
    shutil.copy(originals[source], path)
    if way == "damaged":
        damage(path, r)
    else:
        Database(path, r).mutate()
    return path


def commands(number, path, good, folder):
    """Each: arguments, and the file of JSON that a status 0 leaves ("-": its output)."""
    out = lambda name: os.path.join(folder, os.path.basename(path) + name)  # noqa: E731
    profile = out(".imported.gpuprof")
    every = [
        (["analyze", "-v", path], None), (["analyze", "--markdown", path], None),
        (["report", "-f", "-o", out(".html"), path], None),
        (["export", "-f", "-o", out(".trace.json"), path], out(".trace.json")),
        (["export", "-f", "--format", "speedscope", "-o", out(".ss.json"), path], out(".ss.json")),
        (["diff", good, path], None), (["diff", "--json", path, good], "-"), (["diff", "--markdown", path, path], None),
        (["gate", "-f", "--junit", out(".xml"), path, good], None), (["gate", "--json", good, path], "-"),
        (["import", "-f", "-o", profile, path], None), (["analyze", "--json", path, good], "-"),
    ] + ([(["lint-trace", path], None)] if path.endswith(".json") else [])
    # each command meets every third mutant, `analyze --json` all of them
    return [(["analyze", "--json", path], "-")] + every[number % 3::3]


def run(gpuprof, args, json_file, most_mib):
    """What is wrong with one command, as text; None when all is well."""
    env = dict(os.environ, ASAN_OPTIONS="exitcode=99:detect_leaks=1:allocator_may_return_null=1", UBSAN_OPTIONS="exitcode=99",
               LC_ALL="C.UTF-8")
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        began = time.monotonic()
        child = subprocess.Popen(["timeout", "-s", "KILL", str(TIMEOUT_S), gpuprof, *args], stdout=out, stderr=errors,
                                 stdin=subprocess.DEVNULL, env=env)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = status = os.waitstatus_to_exitcode(status)
        took = time.monotonic() - began
        out.seek(0)
        errors.seek(0)
        output, error = out.read(), errors.read().decode("utf-8", "replace")
    if status not in (0, 1, 2, 3):
        slow = f" after {took:.0f} s" if took > TIMEOUT_S - 1 else ""
        return f"status {status}{slow}: {error[-3000:]}"
    if "AddressSanitizer" in error or "runtime error" in error or "LeakSanitizer" in error:
        return f"a sanitizer's report: {error[-3000:]}"
    if status == 2 and len(error.strip().splitlines()) > 1:
        return f"more than a line of error: {error[:500]!r}"
    if status == 2 and not error.strip():
        return "no line of error"
    if used.ru_maxrss > most_mib << 10:
        return f"uses {used.ru_maxrss >> 10} MiB, allowed are {most_mib}"
    if status == 0 and json_file:
        try:
            if json_file != "-":
                with open(json_file, "rb") as f:
                    output = f.read()
            json.loads(output.decode("utf-8", "strict"))
        except (ValueError, OSError) as e:
            return f"no JSON: {e}"
    return None


class Campaign:
    def __init__(self, args, folder):
        self.args, self.folder, self.lock = args, folder, threading.Lock()
        self.next, self.done, self.ran, self.bad = args.first, 0, 0, 0
        self.until = time.monotonic() + args.seconds if args.seconds else None
        self.originals = {"profile": os.path.join(folder, "whole.gpuprof"),
                          "stretches": os.path.join(folder, "stretches.gpuprof"), "nsys": os.path.join(folder, "export.sqlite")}
        seeds.profile(self.originals["profile"], stretches=False)
        seeds.profile(self.originals["stretches"])
        seeds.nsys(self.originals["nsys"])

    def take(self):
        with self.lock:
            over = self.next >= self.args.first + self.args.count or self.until and time.monotonic() > self.until
            self.next += not over
            return None if over else self.next - 1

    def work(self):
        while (number := self.take()) is not None:
            try:
                with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                    self.one(number, folder)
            except Exception as e:  # the mutator's own fault: no mutant may pass for that
                print(f"FAIL mutant {number}: {e!r}")
                self.bad += 1

    def one(self, number, folder):
        path = make(number, self.originals, folder)
        problems = []
        todo = commands(number, path, self.originals["profile"], folder)
        for args, json_file in todo:
            problem = run(self.args.gpuprof, args, json_file, self.args.mib)
            if problem:
                problems.append(f"gpuprof {' '.join(os.path.basename(a) if '/' in a else a for a in args)}: {problem}")
        with self.lock:
            self.done += 1
            self.ran += len(todo)
            self.bad += bool(problems)
            if problems:
                print(f"FAIL mutant {number} ({os.path.basename(path)})")
                for p in problems:
                    print("     " + p.replace("\n", "\n     "))
                sys.stdout.flush()
                if self.args.keep:
                    os.makedirs(self.args.keep, exist_ok=True)
                    shutil.copy(path, self.args.keep)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("gpuprof")
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--count", type=int, default=1 << 60)
    p.add_argument("--seconds", type=float, default=0)
    p.add_argument("--mib", type=int, default=2048)
    p.add_argument("--keep")
    p.add_argument("--jobs", type=int, default=1)
    args = p.parse_args()
    if not args.seconds and args.count == 1 << 60:
        p.error("--count or --seconds is wanted")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gpuprof-mutants-") as folder:
        c = Campaign(args, folder)
        workers = [threading.Thread(target=c.work) for _ in range(args.jobs)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
    print(f"{c.done} mutants, {c.ran} commands, {c.bad} mutants failed, {time.monotonic() - began:.0f} s")
    return 1 if c.bad or not c.done else 0


if __name__ == "__main__":
    sys.exit(main())
