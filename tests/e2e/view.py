#!/usr/bin/env python3
"""`gpuprof view` serves one file, once, to those who may have it: who does not know the address, who comes by another
host's name or from another page, who is slow, long, wrong or another user gets nothing and holds nobody up.
Usage: view.py BUILD."""
import gzip
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
GPUPROF = os.path.join(BUILD, "bin/gpuprof")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PORT, ORIGIN = 9001, "https://ui.perfetto.dev"
failures = []


def check(what, right, *details):
    if not right:
        failures.append(f"{what}: {details!r}"[:400])


class View:
    """A running `gpuprof view`; path: what its address ends in."""

    def __init__(self, *args, env=None):
        for _ in range(120):  # another one may be running on this machine
            self.child = subprocess.Popen([GPUPROF, "view", "--no-open", *args], stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
            line = self.child.stdout.readline()
            found = re.fullmatch(r"https://ui\.perfetto\.dev/#!/\?url=http://127\.0\.0\.1:9001(/\S+)\n", line)
            if found:
                self.path = found[1]
                return
            errors = self.child.communicate()[1]
            if "is another" not in errors:
                sys.exit(f"view does not start: {line!r} {errors!r}")
            time.sleep(1)
        sys.exit("port 9001 is taken")

    def end(self, seconds=20):
        try:
            return self.child.wait(seconds)
        finally:
            self.child.kill()
            self.child.communicate()

    def running(self):
        return self.child.poll() is None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.communicate()


def connect():
    s = socket.create_connection(("127.0.0.1", PORT), timeout=20)
    return s


def rest(s):
    parts = []
    try:
        while part := s.recv(1 << 20):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


def ask(raw):
    with connect() as s:
        try:
            s.sendall(raw)
        except ConnectionError:
            pass
        return rest(s)


def request(path, method="GET", host=f"127.0.0.1:{PORT}", headers=""):
    return f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n".encode()


def status(answer):
    found = re.match(rb"HTTP/1\.1 (\d+) ", answer)
    return int(found[1]) if found else 0


def refusals(v):
    """Each is answered so, and has no byte of the file."""
    p, wrong = v.path, v.path[:5] + ("0" if v.path[5] != "0" else "1") + v.path[6:]
    origin = f"Origin: {ORIGIN}\r\n"
    cases = [
        ("the old address", request("/trace.json.gz"), 404), ("root", request("/"), 404), ("a wrong digit", request(wrong), 404),
        ("a part", request(p[:-1]), 404), ("more", request(p + "x"), 404), ("a query", request(p + "?x"), 404),
        ("dots", request("/x/.." + p), 404), ("an absolute address", request(f"http://127.0.0.1:{PORT}{p}"), 404),
        ("no host", f"GET {p} HTTP/1.1\r\n\r\n".encode(), 400), ("HTTP/1.0 without host", f"GET {p} HTTP/1.0\r\n\r\n".encode(), 400),
        ("another host", request(p, host="evil.example"), 403), ("its port", request(p, host=f"evil.example:{PORT}"), 403),
        ("no port", request(p, host="127.0.0.1"), 403), ("host and more", request(p, host=f"127.0.0.1:{PORT}.evil"), 403),
        ("two hosts", request(p, headers="Host: evil.example\r\n"), 400),
        ("another page", request(p, headers="Origin: https://evil.example\r\n"), 403),
        ("a page like it", request(p, headers=f"Origin: {ORIGIN}.evil.example\r\n"), 403),
        ("a page without a name", request(p, headers="Origin: null\r\n"), 403),
        ("two pages", request(p, headers=origin + "Origin: https://evil.example\r\n"), 400),
        ("POST", request(p, "POST", headers="Content-Length: 3\r\n") + b"abc", 405), ("PUT", request(p, "PUT"), 405),
        ("DELETE", request(p, "DELETE"), 405), ("a method in small letters", request(p, "get"), 405),
        ("HEAD", request(p, "HEAD"), 200), ("may I?", request(p, "OPTIONS", headers=origin), 204),
        ("may I, elsewhere?", request("/", "OPTIONS", headers=origin), 404),
        ("noise", b"\x16\x03\x01\x02\x00\x01\xfc\r\n\r\n", 400), ("a zero", request(p).replace(b"Host", b"Ho\0st"), 400),
        ("a folded header", request(p, headers="X: a\r\n b\r\n"), 400), ("HTTP/2", f"GET {p} HTTP/2.0\r\n\r\n".encode(), 400),
        ("a very long one", b"GET /" + b"a" * 100000, 431), ("long headers", request(p, headers="X: " + "a" * 9000 + "\r\n"), 431),
        ("line feeds alone", request(p).replace(b"\r\n", b"\n"), 0),
    ]
    for what, raw, right in cases:
        with connect() as s:
            try:
                s.sendall(raw)
                s.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            answer = rest(s)
        check(what, status(answer) == right, right, answer[:100])
        head, _, body = answer.partition(b"\r\n\r\n")
        check(what + ": a body", body == b"", body[:50])
        if right in (400, 403):
            check(what + ": open to a page", b"Access-Control" not in head, head)
    check("still there after refusals", v.running())
    answer = ask(request(p, "OPTIONS", headers=origin))
    check("the page may ask", f"Access-Control-Allow-Origin: {ORIGIN}\r\n".encode() in answer, answer)


def whole(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"Content-Length: (\d+)", head)
    return status(answer) == 200 and length and int(length[1]) == len(body) and body


def served_once(file, want):
    with View(file) as v:
        secret = v.path.split("/")[1]
        check("a secret of 128 bits", re.fullmatch("[0-9a-f]{32}", secret), secret)
        refusals(v)
        slow = [connect() for _ in range(40)]  # more than it has room for, and none ever asks
        for s in slow[:20]:
            s.sendall(b"GET /")
        began = time.monotonic()
        # two requests in one: the second is not looked at
        answer = ask(request(v.path, headers=f"Origin: {ORIGIN}\r\n") * 2)
        check("not held up by the slow", time.monotonic() - began < 9, time.monotonic() - began)
        check("the file", want(whole(answer) or b""), answer[:300])
        check("for the page", b"Access-Control-Allow-Origin: " + ORIGIN.encode() in answer, answer[:300])
        check("ends well", v.end() == 0)
        for s in slow:
            s.close()
    try:
        ask(request(v.path))
        check("served twice", False)
    except OSError:
        pass
    return secret


def is_trace(data):
    return data and json.loads(gzip.decompress(data))["traceEvents"]


def main():
    folder = tempfile.mkdtemp()
    tmp = os.path.join(folder, "tmp")
    os.mkdir(tmp)
    profile, trace = os.path.join(folder, "x.gpuprof"), os.path.join(folder, "x.json")
    with gzip.open(os.path.join(SOURCE, "docs/examples/train_conv-workers0.gpuprof.gz")) as f, open(profile, "wb") as out:
        shutil.copyfileobj(f, out)
    big = os.urandom(3 << 20)
    with open(trace, "wb") as f:
        f.write(big)
    secrets = {served_once(trace, lambda data: data == big) for _ in range(2)}
    with View(profile, env={"TMPDIR": tmp}) as v:
        check("no copy in the temporary folder", os.listdir(tmp) == [], os.listdir(tmp))
        check("a profile's trace", is_trace(whole(ask(request(v.path)))))
        check("ends well, a profile", v.end() == 0)
        secrets.add(v.path)
    check("the same secret twice", len(secrets) == 3, secrets)
    huge = os.path.join(folder, "huge.json")  # more than sockets hold
    with open(huge, "wb") as f:
        f.truncate(64 << 20)
    with View(huge) as v:
        broken = connect()
        broken.sendall(request(v.path))
        broken.recv(100)
        check("two at a time", status(ask(request(v.path))) == 409)
        broken.close()
        answer = b""
        for _ in range(100):  # until it knows that the first has gone
            answer = ask(request(v.path))
            if status(answer) != 409:
                break
            time.sleep(0.05)
        check("what was broken off is sent again", whole(answer) == bytes(64 << 20), answer[:200])
        check("ends well, after one that went", v.end() == 0)
    with View(profile, env={"TMPDIR": tmp}) as v:
        v.child.send_signal(signal.SIGINT)
        v.end()
        check("left behind by an end", os.listdir(tmp) == [], os.listdir(tmp))
    cut = os.path.join(folder, "cut.json")
    for text, damaged in ('{"traceEvents": [{"ph": "X", "na', True), ('{"traceEvents": []}', False):
        with open(cut, "w") as f:
            f.write(text)
        with View(cut) as v:
            v.child.send_signal(signal.SIGINT)
            said = v.child.communicate(timeout=20)[1]
            check("says that the file is cut off", ("not a complete Chrome trace" in said) == damaged, said)
    with View("--timeout", "1", trace) as v:
        idle = connect()
        check("ends after its time", v.end() == 2)
        idle.close()
    if os.getuid() == 0:  # another user knows the address, and gets nothing
        with View(trace) as v:
            code = ("import os, socket, sys; 'x'.encode('idna'); os.setuid(65534); s = socket.create_connection(('127.0.0.1', 9001)); "
                    "s.sendall(sys.stdin.buffer.read()); print(s.recv(50))")
            said = subprocess.run([sys.executable, "-c", code], input=request(v.path), capture_output=True).stdout
            check("another user", b"403" in said, said)
    shutil.rmtree(folder)
    for line in failures:
        print(line)
    print("view:", "ok" if not failures else f"{len(failures)} failures")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
