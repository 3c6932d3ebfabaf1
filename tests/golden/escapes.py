#!/usr/bin/env python3
"""Names that try to break out of every output: a profile whose texts hold escape sequences, markup, commands of CI
services, mentions, characters that no format takes. Each exporter must keep its format, and show the rest of the name.
Usage: escapes.py GPUPROF SOURCE."""
import base64
import csv
import gzip
import html.parser
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

# Bytes, because some are no UTF-8.
HOSTILE = [b"\x1b[31mred", b"\x1b]0;title\x07", "\u009b31m".encode(), b"\x00nul"[1:], b"\x7f\x08\x0c", b"\xff\xc0\x80",
           "\u202egnp.exe".encode(), "\u2066iso\u2069".encode(), "\ufeff\u2028\u2029".encode(), "\ufffe\uffff".encode(),
           b"\n::error::oops", b" ::error::oops", b"::warning file=a::b", b"##[error]oops", b"##vso[task.x]y", b"\r\n\t",
           b"<script>window.hurt=1</script>", b"<img src=x onerror=window.hurt=1>", b"</title></script></style>", b"]]>-->",
           b"a|b", b"`code`", b"[link](http://evil.example/x)", b"![x](x)", b"@octocat", b"fixes #1", b"https://evil.example",
           b"www.evil.example", b"$x^2$ ~~s~~ *e* _f_", b"&lt;&amp;&#60;", b"\"'\\", b"=cmd()"]
EVERYTHING = b"\n".join(HOSTILE)
ACTS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufdd0-\ufdef\ufeff\ufff9-\ufffb"
                  "\ufffe\uffff]")
failures = []


def complain(what, *details):
    failures.append(f"{what}: " + " ".join(repr(d)[:300] for d in details))


def make_hostile(path):
    db = sqlite3.connect(path)
    db.text_factory = bytes
    keys = {i for i, in db.execute("SELECT key FROM meta UNION SELECT code FROM health UNION SELECT rule FROM trial")}
    keys |= {i for i, in db.execute("SELECT id FROM string WHERE text IN ('step', 'data.wait', 'kernels', 'run') OR id = 0 "
                                    "OR text LIKE '%kernels,copies%' OR text GLOB '[0-9]*'")}
    for n, (i, text) in enumerate(db.execute("SELECT id, text FROM string").fetchall()):
        if i not in keys:
            db.execute("UPDATE string SET text = CAST(? AS TEXT) WHERE id = ?", (text + b" " + HOSTILE[n % len(HOSTILE)], i))
    everywhere = [i for i, in db.execute("SELECT name FROM device UNION SELECT name FROM thread UNION SELECT name FROM "
                                         "(SELECT name FROM kernel LIMIT 40) UNION SELECT value FROM meta m JOIN string k "
                                         "ON k.id = m.key WHERE k.text = 'command'")]
    for i in everywhere:
        text = db.execute("SELECT text FROM string WHERE id = ?", (i,)).fetchone()[0]
        db.execute("UPDATE string SET text = CAST(? AS TEXT) WHERE id = ?", (text + b" " + EVERYTHING, i))
    top = db.execute("SELECT max(id) FROM string").fetchone()[0]
    for k, text in enumerate((b"hostile", EVERYTHING, b"pin-memory")):
        db.execute("INSERT INTO string VALUES (?, CAST(? AS TEXT))", (top + 1 + k, text))
    db.execute("INSERT INTO health VALUES (900, 1, 2, ?, ?, 1)", (top + 1, top + 2))
    columns = [c[1].decode() for c in db.execute("PRAGMA table_info(trial)")]
    values = {"id": 1, "setting": top + 2, "verdict": top + 2, "rule": top + 3}
    db.execute(f"INSERT INTO trial VALUES ({','.join('?' * len(columns))})",
               [values.get(c, 1000000) for c in columns])
    db.commit()
    db.close()


class Page(html.parser.HTMLParser):
    """Counts the scripts, and looks at every attribute."""

    def __init__(self):
        super().__init__()
        self.scripts = 0

    def handle_starttag(self, tag, attributes):
        self.scripts += tag == "script"
        if tag in ("img", "iframe", "object", "embed", "link", "base"):
            complain("html: an element of somebody else's", tag)
        for name, _ in attributes:
            if name.startswith("on"):
                complain("html: a handler", tag, name)


def check_text(what, data):
    """A terminal, and the log of a CI job."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as e:
        complain(what, "no UTF-8", e)
        return ""
    for found in ACTS.finditer(text):
        complain(what, "acts", text[max(0, found.start() - 40):found.end() + 10])
        break
    for line in text.splitlines():
        if line.strip().startswith("::") or "##[" in line or "##vso[" in line:
            complain(what, "a command to a runner", line)
    if not text:
        complain(what, "empty")
    return text


def check_markdown(what, data):
    text = check_text(what, data)
    ours = ("<details>", "</details>", "<summary>", "</summary>")
    for tag in re.findall(r"<[^>]*>?", text):
        if tag not in ours:
            complain(what, "HTML", tag)
    bare = re.sub(r"\\.", "", re.sub(r"`[a-z0-9-]+`", "", text.replace("&#8203;", "\u200b")))  # without what is escaped, and our code spans
    for pattern in (r"[`\[\]~$]", r"@\w", r"(?<!&)#\d", r"[a-z]://", r"www\.\w"):
        found = re.search(pattern, bare)
        if found:
            complain(what, pattern, bare[max(0, found.start() - 40):found.end() + 20])
    columns = 0
    for line in bare.splitlines():
        if not line.startswith("|"):
            columns = 0
        elif not columns:
            columns = line.count("|")
        elif line.count("|") != columns:
            complain(what, "a row that breaks its table", line)


def check_json(what, data):
    check_text(what, data)
    try:
        return json.loads(data)
    except ValueError as e:
        complain(what, e)


def check_junit(what, data):
    check_text(what, data)
    try:
        root = xml.etree.ElementTree.fromstring(data)
    except xml.etree.ElementTree.ParseError as e:
        complain(what, e)
        return
    said = "".join(root.itertext()) + "".join(value for e in root.iter() for value in e.attrib.values())
    for part in ("<script>window.hurt=1</script>", "]]>-->", "\n", "\ufffd"):
        if part not in said:
            complain(what, "lost", part)
    if any(e.tag not in ("testsuites", "testsuite", "testcase", "properties", "property", "failure", "skipped", "system-out")
           for e in root.iter()):
        complain(what, "an element of somebody else's")


def check_html(what, data, scripts):
    text = data.decode("utf-8", "replace")
    head = text[:text.index('id="data"')]
    check_text(what, head.encode())
    names = gzip.decompress(base64.b64decode(re.search(r'id="data">([^<]*)<', text)[1])).decode()
    found = ACTS.search(json.dumps(json.loads(names), ensure_ascii=False)) or re.search(r"\\u00[0-1]", names)
    if found:
        complain(what + ": the timeline acts", found[0])
    page = Page()
    page.feed(text)
    if page.scripts != scripts:
        complain(what, "scripts", page.scripts, scripts)


def check_csv(what, path):
    with open(path, "rb") as f:
        text = check_text(what, f.read())
    rows = list(csv.reader(io.StringIO(text), strict=True))
    if len(rows) < 2 or {len(r) for r in rows} != {len(rows[0])}:
        complain(what, "columns", {len(r) for r in rows})
    for row in rows[1:]:
        for field in row:
            if field[:1] in ("=", "+", "@"):
                complain(what, "a spreadsheet computes it", field)


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def check_perfetto(what, data):
    """A row of packets up to the last byte; the texts in them hold no character that acts."""
    at = 0
    try:
        while at < len(data):
            tag, at = varint(data, at)
            size, at = varint(data, at)
            if tag != 1 << 3 | 2:
                raise IndexError
            at += size
    except IndexError:
        complain(what, "no packet", at, len(data))
    if at != len(data):
        complain(what, "its last packet is cut", at, len(data))
    for acts in ("\x1b[31m", "\x1b]0;", "\u009b31m", "\u202egnp", "\u2066iso", "\ufeff\u2028"):
        if acts.encode() in data:
            complain(what, "a character acts", acts)
    if "\ufffd[31mred".encode() not in data:
        complain(what, "a name lost more than what acts")


def main():
    gpuprof, source = os.path.abspath(sys.argv[1]), sys.argv[2]
    folder = tempfile.mkdtemp()
    base, bad = os.path.join(folder, "base.gpuprof"), os.path.join(folder, "bad.gpuprof")
    with gzip.open(os.path.join(source, "docs/examples/train_conv-workers0.gpuprof.gz")) as f, open(base, "wb") as out:
        shutil.copyfileobj(f, out)
    subprocess.run([gpuprof, "import", base, "-o", bad, "-q"], check=True)  # of the present schema
    make_hostile(bad)

    def run(*args, right=(0,)):
        r = subprocess.run([gpuprof, *args], capture_output=True, env={**os.environ, "COLUMNS": "80"})
        if r.returncode not in right:
            complain(args[0], r.returncode, r.stderr)
        if r.stderr:
            check_text("stderr of " + args[0], r.stderr)
        return r.stdout

    clean_scripts = Page()
    clean_scripts.feed(run("report", base, "-o", "-").decode())
    for args in (["analyze"], ["analyze", "-v"], ["analyze", "--top", "1"], ["diff", base]):
        check_text(" ".join(args[:2]), run(*args, bad))
        check_text(" ".join(args[:2]), re.sub(rb"\x1b\[\d*m", b"", run(*args, "--color", "always", bad)))
    check_markdown("analyze --markdown", run("analyze", "--markdown", bad))
    check_markdown("diff --markdown", run("diff", "--markdown", base, bad))
    any_verdict = (0, 1, 3)
    check_markdown("gate --markdown", run("gate", "--markdown", base, bad, right=any_verdict))
    check_text("gate", run("gate", base, bad, right=any_verdict))
    check_junit("gate junit", run("gate", "--format", "junit", base, bad, right=any_verdict))
    check_json("gate --json", run("gate", "--json", base, bad, right=any_verdict))
    check_json("diff --json", run("diff", "--json", base, bad))
    check_json("analyze --json", run("analyze", "--json", bad))
    check_json("chrome", run("export", bad, "-o", "-"))
    check_perfetto("perfetto", run("export", "--format", "perfetto", bad, "-o", "-"))
    check_json("speedscope", run("export", "--format", "speedscope", bad, "-o", "-"))
    refused = subprocess.run([gpuprof, "export", "--format", "?", bad, "-o", "-"], capture_output=True, text=True).stderr
    for name in set(re.search(r"the formats are (.*)", refused)[1].split(", ")) - {"csv", "html", "chrome", "perfetto"}:  # checked on their own
        check_text(f"export --format {name}", run("export", "--format", name, bad, "-o", "-"))
    run("export", "--format", "csv", bad, "-o", os.path.join(folder, "tables"))
    for table in ("runs", "steps", "findings"):
        check_csv(table + ".csv", os.path.join(folder, "tables", table + ".csv"))
    for line in check_text("openmetrics", run("export", "--format", "openmetrics", bad, "-o", "-")).splitlines():
        if not re.fullmatch(r'# .*|\w+\{\w+="([^"\\]|\\["\\])*"(,\w+="([^"\\]|\\["\\])*")*\} -?[0-9.e+-]+', line):
            complain("openmetrics", line)
    check_html("html", run("report", bad, "-o", "-"), clean_scripts.scripts)
    # the names of files, too
    named = os.path.join(folder, "x\x1b[31m\u202e\n::error::|<b>.gpuprof")
    shutil.copy(base, named)
    check_text("a file's name", run("analyze", named))
    check_html("a file's name", run("report", named, "-o", "-"), clean_scripts.scripts)
    check_text("a file's name, refused", subprocess.run([gpuprof, "analyze", named + "x"], capture_output=True).stderr)
    shutil.rmtree(folder)
    for line in failures:
        print(line)
    print("escapes:", "ok" if not failures else f"{len(failures)} failures")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
