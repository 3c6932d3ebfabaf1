#!/usr/bin/env python3
"""Damaged and hostile traces: each is refused with one line and status 2, or read for what it is; no crash, bounded
memory and time. The inputs are made here. Usage: hostile.py GPUPROF [MIB]."""
import glob
import gzip
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fuzz"))
import seeds  # noqa: E402

SECONDS = 60
CPU_SECONDS = 8  # a sanitizer's build may take five times that
MANY = 100_000


def kernel(i, **more):
    e = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 100 + 10 * i, "dur": 5,
         "args": {"device": 0, "stream": 7, "correlation": i + 1}}
    e.update(more)
    return e


def document(events):
    return json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()


WHOLE = document([kernel(i) for i in range(50)])


def raw_kernel(fields):
    """A kernel event whose text is not what a JSON writer would make."""
    return b'{"traceEvents": [' + json.dumps(kernel(0)).encode() + b', {"ph": "X", "cat": "kernel", ' + fields + b'}]}'


def bomb(path):
    """A name of 512 MiB in half a MiB."""
    with gzip.open(path, "wb", 9) as f:
        f.write(b'{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "')
        for _ in range(512):
            f.write(b"a" * (1 << 20))


def blanks(path):
    with gzip.open(path, "wb", 1) as f:
        f.write(b'{"traceEvents": [')
        for _ in range(256):
            f.write(b" " * (1 << 20))
        f.write(b"]}")


def database(statements):
    def make(path):
        db = sqlite3.connect(path)
        for s in statements:
            db.execute(*s) if isinstance(s, tuple) else db.execute(s)
        db.commit()
        db.close()
    return make


STRINGS = ["CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)", "INSERT INTO StringIds VALUES(0, 'gemm')"]
COLUMNS = "start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName, gridX, " \
          "gridY, gridZ, blockX, blockY, blockZ"
KERNELS = STRINGS + [f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL({COLUMNS})"]


def row(*values):
    values = values + (1,) * (15 - len(values))
    return ("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(" + ",".join("?" * 15) + ")", values)


def many(**field):
    """A trace of as many threads, streams or devices; the work goes round them."""
    def events():
        for i in range(2 * MANY):
            k = i * 7919 % MANY
            yield {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 42, "ts": 95 + 10 * i, "dur": 2,
                   "tid": k + 1 if "tid" in field else 42, "args": {"correlation": i + 1}}
            args = {"device": 0, "stream": 7, "correlation": i + 1}
            args.update({f: k for f in field if f != "tid"})
            yield kernel(i, args=args)
    def make(path):  # event by event: a child's peak of memory begins at ours
        with open(path, "w") as f:
            f.write('{"schemaVersion": 1, "traceEvents": [')
            f.writelines(("," if i else "") + json.dumps(e) for i, e in enumerate(events()))
            f.write("]}")
    return make


def many_in_export(path):
    """Each kernel of its own process, GPU and stream, each call of its own thread; and names for all of them."""
    db = sqlite3.connect(path)
    for s in KERNELS + ["CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, correlationId, nameId)",
                        "CREATE TABLE ThreadNames(globalTid, nameId)", "CREATE TABLE TARGET_INFO_GPU(id, name)"]:
        db.execute(s)
    of = range(MANY)
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, contextId, streamId, correlationId, globalPid) "
                   "VALUES(?, ?, ?, 1, ?, ?, ?)", ((i * 10, i * 10 + 5, i, i, i + 1, i << 24) for i in of))
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(?, ?, ?, ?, 0)",
                   ((i * 10, i * 10 + 2, i << 24 | 7, i + 1) for i in of))
    db.executemany("INSERT INTO ThreadNames VALUES(?, 0)", ((i << 24 | 7,) for i in of))
    db.executemany("INSERT INTO TARGET_INFO_GPU VALUES(?, 'a')", ((i,) for i in of))
    db.commit()
    db.close()


def many_in_profile(path):
    """As many threads, GPUs and streams, twenty steps."""
    rows = seeds.Rows(path)
    rows.put("process", pid=1, rank=-1, sealed=1)
    for i in range(MANY):
        rows.put("thread", process=1, tid=i)
        rows.put("device", process=1, ordinal=i, name="A100")
        rows.put("stream", process=1, device=i + 1, stream=i)
        rows.put("api", process=1, thread=i + 1, start_ns=i * 10000, end_ns=i * 10000 + 3000, name="cudaLaunchKernel",
                 correlation=i + 1)
        rows.put("kernel", process=1, stream=i + 1, start_ns=i * 10000 + 4000, end_ns=i * 10000 + 9000, name="gemm",
                 correlation=i + 1, grid_x=1)
    for i in range(20):
        rows.put("range", process=1, thread=1, start_ns=i * MANY * 500, end_ns=(i + 1) * MANY * 500, name="step")
    rows.db.commit()
    rows.db.close()


HUGE = (1 << 63) - 1
# name, suffix, bytes or a function that writes the file, the statuses that are right
CASES = [
    ("empty", ".json", b"", {2}),
    ("blank", ".json", b"  \n", {2}),
    ("text", ".json", b"this is no trace", {2}),
    ("binary", ".json", bytes(range(256)) * 16, {2}),
    ("no events", ".json", b'{"schemaVersion": 1}', {2}),
    ("events no list", ".json", b'{"traceEvents": {"a": 1}}', {2}),
    ("no GPU work", ".json", b'{"traceEvents": []}', {0, 2}),
    ("whole", ".json", WHOLE, {0}),
    ("an execution trace", ".json", b'{"schema": "1.1.1-chakra.0.0.4", "nodes": [{"id": 1, "name": "root"}]}', {2}),
    ("a memory snapshot", ".json", b'{"segments": [], "device_traces": [[]]}', {2}),
    ("a memory timeline", ".json", b'[[-1, 1, 512, 7], [-1, 1, 512, 7]]', {2}),
    ("another tool's Chrome trace", ".json",
     document([{"ph": "X", "name": "ExecuteCompiler", "pid": 1, "tid": 1, "ts": 0, "dur": 10}]), {2}),
    ("a table", ".csv", b"Time (%),Total Time (ns),Instances\n50,100,1\n", {2}),
    ("an archive", ".zip", b"PK\x03\x04" + bytes(200), {2}),
    ("cut in an event", ".json", WHOLE[:-100], {2}),
    ("cut after an event", ".json", WHOLE[:WHOLE.rindex(b"{\"ph\"") - 2], {2}),
    ("cut gzip", ".json.gz", gzip.compress(WHOLE)[:-60], {2}),
    ("gzip with a wrong sum", ".json.gz", gzip.compress(WHOLE)[:-8] + b"\0" * 8, {2}),
    ("gzip head only", ".json.gz", gzip.compress(WHOLE)[:10], {2}),
    ("text behind the end", ".json", WHOLE + b" garbage", {2}),
    ("bad UTF-8", ".json", raw_kernel(b'"name": "a\xff\xc0\x80\xed\xa0\x80", "pid": 0, "tid": 7, "ts": 200, "dur": 5'),
     {0}),
    ("control characters", ".json", raw_kernel(b'"name": "a\n\x01\x1b[31m", "pid": 0, "tid": 7, "ts": 200, "dur": 5'),
     {0}),
    ("NaN", ".json", raw_kernel(b'"name": "a", "pid": 0, "tid": 7, "ts": NaN, "dur": Infinity'), {0}),
    ("beyond 2^63", ".json",
     raw_kernel(b'"name": "a", "pid": 99999999999999999999, "tid": 7, "ts": 9223372036854775808, "dur": 1e308'), {0}),
    ("largest int64", ".json", raw_kernel(b'"name": "a", "ts": 9223372036854775807, "dur": 9223372036854775807'), {0}),
    ("negative duration", ".json", raw_kernel(b'"name": "a", "tid": 7, "ts": 5, "dur": -5'), {0}),
    ("duplicate keys", ".json",
     raw_kernel(b'"name": "a", "name": "b", "ts": 1, "ts": 200, "dur": 1, "dur": 5, "args": {}, "args": {"stream": 7}'),
     {0}),
    ("members of other types", ".json",
     raw_kernel(b'"name": [1, {"a": 2}], "pid": {}, "tid": null, "ts": "x", "dur": true, "args": 7'), {0}),
    ("nesting", ".json", b'{"traceEvents": [{"args": ' + b"[" * 100000 + b"]" * 100000 + b"}]}", {0, 2}),
    ("nesting of objects", ".json", b'{"a": ' * 100000 + b"1" + b"}" * 100000, {2}),
    ("one name that never ends", ".json.gz", bomb, {2}),
    ("blanks without end", ".json.gz", blanks, {0, 2}),
    ("many streams", ".json", document([kernel(i, tid=i, args={"stream": i, "device": i % 7}) for i in range(5000)]),
     {0}),
    ("SQLite head only", ".sqlite", b"SQLite format 3\0" + b"\0" * 84, {2}),
    ("SQLite of something else", ".sqlite", database(["CREATE TABLE a(b)"]), {2}),
    ("SQLite without kernels", ".sqlite", database(STRINGS), {0, 2}),
    ("SQLite, a kernel", ".sqlite", database(KERNELS + [row(1, 5, 0, 1, 7, 1, 1 << 24, 0, 0)]), {0}),
    ("SQLite, hostile types", ".sqlite",
     database(KERNELS + [row("x", b"\xff\0", None, 1.5e300, "7", -1, HUGE, "no id", b"blob"), row(),
                         row(HUGE, -HUGE, HUGE, HUGE, HUGE, HUGE, HUGE, HUGE, HUGE), row(5, 1), row(1e18, 9e18)]),
     {0, 2}),
    ("SQLite, string ids", ".sqlite",
     database(KERNELS + [("INSERT INTO StringIds VALUES(?, ?)", (HUGE, b"\xff\xfe")),
                         ("INSERT INTO StringIds VALUES(?, ?)", (-5, "x"))]), {0, 2}),
    ("SQLite, tables that are views", ".sqlite",
     database(STRINGS + ["CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT "
                         "x + 1 FROM c) SELECT x AS start, x + 1 AS end FROM c"]), {2}),
    ("SQLite, a column that is computed", ".sqlite",
     database(STRINGS + [f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL({COLUMNS}, mangledName AS (zeroblob(900000000)))"]), {2}),
    ("many threads", ".json", many(tid=1), {0}),
    ("many streams of one GPU", ".json", many(stream=1), {0}),
    ("many GPUs", ".json", many(device=1), {0}),
    ("SQLite, many of all", ".sqlite", many_in_export, {0}),
    ("profile, many of all", ".gpuprof", many_in_profile, {0}),
]


def found():
    """What the fuzzers start from, and what they once found, must be read or refused."""
    tree = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fuzz")
    for path in sorted(glob.glob(os.path.join(tree, "corpus_*", "*"))):
        with open(path, "rb") as f:
            name = os.path.basename(path)
            yield name, name[name.index("."):], f.read(), {0, 2}


def check(gpuprof, path, right, most):
    """Yields what is wrong."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(["timeout", "-s", "KILL", str(SECONDS), gpuprof, "analyze", "--json", path], stdout=out,
                                 stderr=errors)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = status = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        output, error = out.read(), errors.read().decode("utf-8", "replace").strip()
    if status not in right:
        yield f"status {status} (137 or -9: more than {SECONDS} s), not one of {sorted(right)}: {error[:300]}"
    elif status == 2 and (len(error.splitlines()) != 1 or os.path.basename(path) not in error):
        yield f"not one line that names the file: {error[:300]!r}"
    elif status == 0:
        json.loads(output.decode("utf-8", "strict"))
    seconds = used.ru_utime + used.ru_stime
    if seconds > CPU_SECONDS * (5 if most > 1000 else 1):
        yield f"takes {seconds:.1f} s of CPU time, allowed are {CPU_SECONDS}"
    if used.ru_maxrss > most << 10:
        yield f"uses {used.ru_maxrss >> 10} MiB, allowed are {most}"


def linted(gpuprof, folder):
    """lint-trace of what is no trace: one line that names the file, and why."""
    for name, content, why in (("none.json", None, "no such file"), ("empty.json", b"", "empty file"), ("cut.json", b"{", "cut off")):
        path = os.path.join(folder, name)
        if content is not None:
            with open(path, "wb") as f:
                f.write(content)
        done = subprocess.run([gpuprof, "lint-trace", path], capture_output=True, text=True, check=False)
        good = done.returncode == 2 and len(done.stderr.splitlines()) == 1 and name in done.stderr and why in done.stderr
        print(("ok   " if good else "FAIL ") + "lint-trace: " + why + ("" if good else f": {done.returncode} {done.stderr!r}"))
        yield not good


def main():
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 256
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for i, (name, suffix, content, right) in enumerate(CASES + list(found())):
            path = os.path.join(folder, f"case{i}{suffix}")
            if callable(content):
                content(path)
            else:
                with open(path, "wb") as f:
                    f.write(content)
            problems = list(check(sys.argv[1], path, right, most))
            print(("FAIL " if problems else "ok   ") + name)
            for p in problems:
                print("       " + p)
            bad += bool(problems)
            os.unlink(path)
        bad += sum(linted(sys.argv[1], folder))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
