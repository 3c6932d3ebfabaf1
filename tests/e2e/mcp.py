#!/usr/bin/env python3
"""mcp.py BUILD: `gpuprof mcp`, by the client of the protocol's own SDK: each tool on a small recording, and what needs --run is
refused without it. Then 1,000 hostile requests: each is answered, no file appears, and a program that all of them name never runs.
GPUPROF_TEST_MCP names a Python that has the SDK; without it the one in PATH is asked."""
import gzip
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
import threading

from support import Build, Checks

sys.path.pop(0)  # where this file lies, whose name is that of the SDK
HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.environ.get("GPUPROF_TEST_MCP") or shutil.which("python3")
TOOLS = {"analyze": ["files", "rule", "top"], "explain": ["rule"], "evidence": ["file", "rule", "rows"],
         "fix": ["files", "source", "rule"], "diff": ["base", "new"], "gate": ["base", "new", "max_regress_pct"],
         "record": ["program", "output", "device"], "try": ["program", "apply", "patch", "fix_to", "until", "profile", "runs", "device"]}
NESTED = []
for _ in range(300):
    NESTED = [NESTED]
VALUES = ["--output=x", "-o", "-fox", "--force", "--", "-", "/dev/zero", "/dev/tty", "/proc/self/mem", "fifo", "../..", "..", "",
          "a\0b", "$(marker)", "; marker", "|marker", "`marker`", "marker", "./marker", "> x", "x\nmarker", "A" * 300_000, "\ud800",
          "%s%n", "\x1b[2J", "file:x?mode=rwc", ":memory:", "a.gpuprof", "noise.gpuprof", "num-workers", "--apply=x",
          "'; DROP TABLE step", None, True, 7, -1, 1e308, 10 ** 400, [], {}, {"a": ["marker"]}, NESTED]
LINES = ["{", "", "[]", "null", "7", '"x"', '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","method":7,"id":{}}', "\0\0", "\ufffd{", "[" * 3000,
         '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', '{"jsonrpc":"2.0","result":{},"id":"marker"}', "Content-Length: 9", "A" * 300_000]


class Raw:
    """A server to which any line can be sent."""

    def __init__(self, command, **how):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **how)
        self.answered, self.news = {}, threading.Condition()
        threading.Thread(target=self.listen, daemon=True).start()
        self.send(self.call(0, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                              "clientInfo": {"name": "t", "version": "0"}}))
        self.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def listen(self):
        for line in self.process.stdout:
            answer = json.loads(line)
            with self.news:
                self.answered[str(answer.get("id"))] = answer
                self.news.notify_all()

    @staticmethod
    def call(number, method, params):
        return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    def send(self, line):
        self.process.stdin.write(line.encode("utf-8", "replace") + b"\n")
        self.process.stdin.flush()

    def wait_for(self, number):
        with self.news:
            self.news.wait_for(lambda: str(number) in self.answered, 30)
        return self.answered.get(str(number))


def files(folder):
    found = (os.path.join(at, name) for at, _, names in os.walk(folder) for name in names)
    return sorted((path, os.lstat(path).st_mtime_ns) for path in found)


def hostile_word(chosen, name):
    """Of the right kind in most cases, so that a command gets it."""
    word, strange = chosen.choice(VALUES), chosen.random() < 0.1
    if name in ("files", "program"):
        return word if strange else [chosen.choice([str(word), "marker"]), chosen.choice(["a.gpuprof", "marker"])]
    if name in ("rows", "top", "runs", "max_regress_pct"):
        return word if strange else chosen.choice([1, 3, -1, 10 ** 9])
    return word if strange else chosen.choice([str(word), "a.gpuprof", "num-workers"])


def parses(line):
    """Whether the SDK can read it: half a character, or brackets without end, get no answer."""
    try:
        pydantic_core.from_json(line)
        return True
    except ValueError:
        return False


def hostile(build, checks, env, cwd):
    before, chosen = files(build.folder.name), random.Random(20261129)
    server, asked = Raw([build.gpuprof, "mcp"], env=env, cwd=cwd), []
    for number in range(1, 1001):
        if chosen.random() < 0.15:
            server.send(chosen.choice(LINES))
        else:
            tool = chosen.choice([*TOOLS, "record", "record", "try", "try", "diff", "gate", "evidence", "marker", 7])
            named = [*TOOLS.get(tool, ["x"]), chosen.choice(["output", "o", "rule"])]
            words = {name: hostile_word(chosen, name) for name in named
                     if name in ("file", "base", "new", "program") or chosen.random() < 0.5}
            method = chosen.choice(["tools/call"] * 20 + ["tools/run", "resources/read"])
            line = server.call(number, method, {"name": tool, "arguments": words})
            server.send(line)
            asked += [number] * parses(line)
        if number % 50 == 0 and asked:
            server.wait_for(asked[-1])
    lacking = [number for number in asked if not server.wait_for(number)]
    checks.check(len(asked) > 700 and not lacking and server.process.poll() is None, "1,000 hostile requests: each is answered",
                 f"{len(asked)} asked, not answered: {lacking[:9]}, status {server.process.poll()}")
    got = [json.dumps(server.answered.get(str(number))) for number in asked]
    reached = sum("exit status" in text or '"isError": false' in text for text in got)
    checks.check(reached > 200, f"{reached} of {len(asked)} calls reached a command of gpuprof")
    server.send(server.call(2000, "tools/call", {"name": "analyze", "arguments": {"files": ["a.gpuprof"]}}))
    checks.check('"schema": 1' in json.dumps(server.wait_for(2000)).replace("\\", ""), "it still answers")
    server.process.stdin.close()
    checks.check(server.process.wait(20) == 0, "it ends with its input")
    checks.check(files(build.folder.name) == before, "no file appears or changes, and the marker never runs",
                 str(set(files(build.folder.name)) ^ set(before)))


async def tools(build, checks, env, cwd):
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters

    async def connected(what, *arguments):
        async with Client(StdioServerParameters(command=build.gpuprof, args=["mcp", *arguments], env=env, cwd=cwd)) as client:
            async def call(tool, **words):
                result = await client.call_tool(tool, words)
                return result.is_error, result.content[0].text
            await what(client, call)

    async def reading(client, call):
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        named = {name: list(tool.input_schema["properties"]) for name, tool in listed.items()}
        checks.check(named == TOOLS, "the tools and their arguments", str(named))
        checks.check([name for name, tool in listed.items() if not tool.annotations.read_only_hint] == ["record", "try"], "what only reads")
        bad, text = await call("analyze", files=["a.gpuprof"], top=1)
        found = json.loads(text)
        checks.check(not bad and found["findings"][0]["rule"] == "num-workers" and found["device"]["virtual"], "analyze", text)
        bad, text = await call("evidence", file="a.gpuprof", rule="num-workers", rows=2)
        rows = [e["rows"] for e in json.loads(text)["findings"][0]["evidence"] if e["sql"]]
        checks.check(not bad and len(rows[0]) == 2 and rows[0][0]["end_ns"] > rows[0][0]["start_ns"] and rows[2] == [{"text": "2"}],
                     "evidence", text)
        bad, text = await call("explain", rule="num-workers")
        checks.check(not bad and "What it looks for" in text and "\x1b" not in text, "explain", text)
        bad, text = await call("fix", files=["a.gpuprof"])
        checks.check(not bad and "left to you" in text, "fix", text)
        for tool, key in (("diff", "changes"), ("gate", "verdict")):
            bad, text = await call(tool, base="a.gpuprof", new="a.gpuprof")
            checks.check(not bad and key in json.loads(text), tool, text)
        bad, text = await call("analyze", files=["--output=x"])
        checks.check(bad and "--output=x" in text and "exit status 2" in text, "what looks like an option is a file", text)
        for tool in ("record", "try"):
            bad, text = await call(tool, program=["marker"])
            checks.check(bad and "--run" in text, f"{tool} without --run is refused", text)

    async def running(_, call):
        bad, text = await call("record", program=["marker", "a b"], output="made.gpuprof")
        made = [os.path.exists(path) for path in (build.path("ran"), cwd + "/made.gpuprof")]
        checks.check(not bad and all(made), "record with --run runs it, and writes the profile", text)

    await connected(reading)
    checks.check(not os.path.exists(build.path("ran")), "nothing ran")
    if os.path.exists(os.path.join(build.bin, "../lib/libgpuprof_agent.so")):
        await connected(running, "--run")
        os.remove(build.path("ran"))
    await limits(build, checks)


async def limits(build, checks):
    """The server's own code, with a command that prints much and does not end."""
    with open(build.path("printer"), "w", encoding="ascii") as f:
        f.write('#!/bin/sh\nhead -c 1000000 /dev/zero | tr "\\0" a\n[ "$1" = explain ] || exec sleep 99\n')
    os.chmod(build.path("printer"), 0o755)
    sys.argv[1:] = [build.path("printer")]
    place = importlib.util.spec_from_file_location("server", os.path.join(build.bin, "../lib/mcp/server.py"))
    server = importlib.util.module_from_spec(place)
    place.loader.exec_module(server)
    text = await server.explain("x")
    checks.check(len(text) < 200_100 and "[cut: 800000 more bytes" in text, "a long answer is cut, and says so", text[-200:])
    try:
        await server.gpuprof("gate", seconds=0.5)
        checks.check(False, "a command that does not end is ended")
    except server.ToolError as e:
        checks.check("took more than 0.5 s" in str(e), "a command that does not end is ended", str(e))


def main():
    asked = PYTHON and subprocess.run([PYTHON, "-c", "import mcp.server.mcpserver"], capture_output=True, check=False, cwd="/")
    if not asked or asked.returncode != 0:
        print("skipped: no MCP SDK: GPUPROF_TEST_MCP names a Python that has it (pip install 'mcp>=2')")
        sys.exit(77)
    if "mcp" not in sys.argv[2:]:
        os.execv(PYTHON, [PYTHON, __file__, sys.argv[1], "mcp"])
    global pydantic_core
    import anyio
    import pydantic_core
    build, checks = Build(sys.argv[1]), Checks()
    cwd = build.path("here/deep")
    os.makedirs(cwd)
    with gzip.open(os.path.join(HERE, "../../docs/examples/train_conv-workers0.gpuprof.gz")) as packed, \
            open(cwd + "/a.gpuprof", "wb") as profile:
        shutil.copyfileobj(packed, profile)
    with open(cwd + "/noise.gpuprof", "wb") as f:
        f.write(b"SQLite format 3\0" + random.Random(1).randbytes(9000))
    os.mkfifo(cwd + "/fifo")
    for place in (build.path("marker"), cwd + "/marker"):
        with open(place, "w", encoding="ascii") as f:
            f.write(f"#!/bin/sh\n: > {build.path('ran')}\n")
        os.chmod(place, 0o755)
    env = {**build.env, "PATH": f"{os.path.dirname(PYTHON)}:{build.folder.name}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
    anyio.run(tools, build, checks, env, cwd)
    hostile(build, checks, env, cwd)
    without = build.run([build.gpuprof, "mcp"], PATH="/nowhere")
    checks.check(without.returncode == 2 and without.stderr == "gpuprof: mcp: needs python3, which is not in PATH\n", "without Python",
                 without.stderr)
    checks.done()


if __name__ == "__main__":
    main()
