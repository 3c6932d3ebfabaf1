"""Mutants of profiles, traces and exports: hostile values in every column and every field, schemas that are none, damaged bytes.
Each is made from its number alone."""
import gzip
import json
import os
import random
import shutil
import sqlite3

import seeds

MAX, MIN = (1 << 63) - 1, -(1 << 63)
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
        except (sqlite3.Error, OverflowError, MemoryError):
            pass  # a key twice, a value that the schema refuses, a computed column too large to rewrite: no mutation

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
                try:
                    self.r.choice(ways)()
                except sqlite3.DatabaseError:  # a schema that is no more: a mutant, and the last change of it
                    break
                self.tables = [t for t in self.tables if self.columns_or_none(t)]
        self.run("COMMIT")
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


# ---- one of them -----------------------------------------------------------------------------------------------------

WAYS = ["profile"] * 10 + ["windows"] * 5 + ["nsys"] * 5 + ["kineto"] * 6 + ["damaged"] * 4
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
