#!/usr/bin/env python3
"""schema.py BUILD FOLDER N: docs/json.schema.json against what gpuprof prints as JSON, strictly: of the recordings in the tree, of each Nth in
FOLDER where it is there, of one of the virtual GPU, and of `diff`, `gate` and `try` with it. A key that the schema lacks is wrong,
and so is one that no recording in the tree has, unless its $comment says `rare: ` and why. Python's jsonschema validates;
GPUPROF_TEST_MCP names a Python that has it (the MCP SDK brings it); without it the one in PATH is asked."""
import concurrent.futures
import gzip
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
for folder in ("e2e", "fuzz"):
    sys.path.append(os.path.join(os.path.dirname(HERE), folder))
import seeds  # noqa: E402 it lies in one of them
import standins  # noqa: E402
from support import Build, Checks, DEVICE  # noqa: E402

PYTHON = os.environ.get("GPUPROF_TEST_MCP") or shutil.which("python3")
PACKED = ("docs/examples/train_conv-workers0", "tests/golden/real/resnet50-fp32", "tests/golden/real/resnet50-loader", "tests/golden/real/train_gpt-odd")
ATTEMPTS = 3  # of what a busy machine may disturb
ROWS = ("--rows", "2")  # of a profile
SUFFIXES = (".gz", ".pb", ".rpd")
# Takes half as long per step with a setting, and says that it applied it.
LOOP = """
import ctypes, os, time
agent = ctypes.CDLL(None)
setting = os.environ.get("GPUPROF_APPLY")
if setting:
    agent.gpuprof_agent_range_begin(b"gpuprof.apply " + setting.encode())
    agent.gpuprof_agent_range_end()
for i in range(8):
    agent.gpuprof_agent_range_begin(b"step")
    time.sleep(0.002 if setting else 0.004)
    agent.gpuprof_agent_range_end()
"""


def closed(node):
    """The same schema without room for keys that it does not name."""
    if isinstance(node, list):
        return [closed(n) for n in node]
    if not isinstance(node, dict):
        return node
    return {**({"additionalProperties": False} if "properties" in node else {}), **{k: closed(v) for k, v in node.items()}}


class Schema:
    def __init__(self, document):
        self.document, self.seen = document, set()
        self.strict = jsonschema.Draft202012Validator(closed(document))

    def wrong(self, answer):
        return [f"{'.'.join(map(str, e.absolute_path))}: {e.message[:300]}" for e in self.strict.iter_errors(answer)]

    def fits(self, node, value):
        return self.strict.evolve(schema=closed(node)).is_valid(value)

    def mark(self, node, value):
        """Marks the keys that `value` has."""
        while "$ref" in node:
            name, *path = node["$ref"].split("/")[2:]
            node = self.document["$defs"][name]
            for word in path:
                node = node[word]
        for branch in node.get("anyOf", ()):
            if self.fits(branch, value):
                self.mark(branch, value)
        for key, below in node.get("properties", {}).items() if isinstance(value, dict) else ():
            if key in value:
                self.seen.add(id(below))
                self.mark(below, value[key])
        for item in value if "items" in node else ():
            self.mark(node["items"], item)

    def keys(self, node, name, rare=False):
        """Yields path and schema of each key, and whether its $comment or one around it says that it is rare."""
        for key, below in node.get("properties", {}).items():
            seldom = rare or below.get("$comment", "").startswith("rare: ")
            yield f"{name}.{key}", below, seldom
            yield from self.keys(below, f"{name}.{key}", seldom)
        if "items" in node:
            yield from self.keys(node["items"], name, rare)


def job_on_cpu(path):
    """Two ranks without a GPU, the second one late. In one step the program's own profiler writes its trace; the last steps evaluate."""
    rows = seeds.Rows(path)
    for key, value in {"source": "run", "framework": "pytorch", "have": "ranges,loader,ranks,host"}.items():
        rows.put("meta", process=0, key=key, value=value)
    for p in (1, 2):
        rows.put("process", pid=100 * p, ppid=1, rank=p - 1, local_rank=p - 1, world_size=2, end_ns=10**9, command="train.py", sealed=1)
        rows.put("meta", process=p, key="torch.parameters", value="2 of 8 numbers, float32, on cpu")
        rows.put("meta", process=p, key="torch.memory", value="peak=900, reserved=950, available=9000, total=10000, weights=100, "
                 "gradients=100, optimizer=200, forward=500")
        rows.put("meta", process=p, key="torch.memory.failed", value="asked=9000, times=1, allocated=500, held=900, available=9000, total=10000, "
                 "in Net at train.py:7")
        thread, at, own = rows.put("thread", process=p, tid=100 * p, name="python3"), 1_000_000, 6_000_000 * p
        for i in range(30):
            evaluates = 40_000_000 * (i > 24)
            parts = [("gpuprof.step", 0, 30_000_000 + evaluates), ("backward", own, 25_000_000), ("optimizer.step", 25_000_000, 29_000_000)]
            parts += [("torch.profiler", 1_000_000, 4_000_000)] * (i == 9) + [("validation", 30_000_000, 30_000_000 + evaluates)] * (i > 24)
            for name, start, end in parts:
                rows.put("range", process=p, thread=thread, start_ns=at + start, end_ns=at + end, name=name, depth=name != "gpuprof.step")
            at += 30_000_000 + evaluates
    rows.db.commit()
    rows.db.close()


def evaluating():
    """The last steps do other work, too."""
    t, at = standins.Trace(), 1000.0
    for step in range(16):
        many = 1 + (step > 12)
        t.host("user_annotation", f"ProfilerStep#{step}", at, 5000 * many - 10)
        for k in range(100 * many):
            t.kernel(standins.GEMM, at + 12 * k, at + 12 * k + 7, 3)
        at += 5000 * many
    return t


def short():
    """Three passes without a mark, which may be steps."""
    t = standins.Trace()
    for k in range(18):
        t.kernel(f"void f{k % 6}(int)", 1000.0 + 200 * (k // 6) + 12 * k, 1007.0 + 200 * (k // 6) + 12 * k, 3)
    return t


def recordings(build):
    """Files in the tree, unpacked, and those that tests write."""
    for name in PACKED:
        path = build.path(os.path.basename(name) + ".gpuprof")
        with gzip.open(os.path.join(ROOT, name + ".gpuprof.gz")) as packed, open(path, "wb") as out:
            shutil.copyfileobj(packed, out)
        yield path
    for row in standins.make(build.path("standins")):
        yield build.path(os.path.join("standins", row[0]))
    for trace in (evaluating, short):
        path = build.path(trace.__name__ + ".json.gz")
        standins.put(path, trace().document())
        yield path
    job_on_cpu(build.path("cpu.gpuprof"))
    yield build.path("cpu.gpuprof")
    for windows in (True, False):
        seeds.profile(build.path(f"seed{windows}.gpuprof"), windows)
        yield build.path(f"seed{windows}.gpuprof")


def others(folder):
    return sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name.endswith(SUFFIXES))


def printed(build, *words):
    """The answer, or None where the command cannot read what it gets."""
    done = build.run([build.gpuprof, *words])
    if not done.stdout:
        print(f"        no answer: {' '.join(words[:2])}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout) if done.stdout else None


def comparisons(build, base, new):
    """Answers of commands that compare, by what they are."""
    with open(build.path("limits.ini"), "w", encoding="utf-8") as f:
        f.write("[step_time]\nmedian_ms_max = 1\n")
    yield "diff", printed(build, "diff", "--json", base, new)
    yield "gate", printed(build, "gate", "--json", "--budget", build.path("limits.ini"), base, new)
    yield "gate", printed(build, "gate", "--json", "--budget", build.path("limits.ini"), new)


def trials(build, profile):
    with open(build.path("loop.py"), "w", encoding="utf-8") as f:
        f.write(LOOP)
    settings = [f["setting"] for f in printed(build, "analyze", "--json", profile)["findings"] if f["setting"]]
    for setting in (*settings[:1], "x=1"):
        for _ in range(ATTEMPTS):
            said = printed(build, "try", "--json", "--device", DEVICE, "--runs", "3", "--profile", profile, "--apply", setting, "--",
                           sys.executable, build.path("loop.py"))
            if said:
                yield "try", said
                break


def main():
    build, checks = Build(sys.argv[1]), Checks()
    with open(os.path.join(ROOT, "docs", "json.schema.json"), encoding="utf-8") as f:
        schema = Schema(json.load(f))
    jsonschema.Draft202012Validator.check_schema(schema.document)

    def judge(what, command, answer, own=True):
        wrong = schema.wrong(answer)
        checks.check(not wrong, f"{command}: {os.path.basename(what)}", "; ".join(wrong[:5]))
        if own:
            schema.mark(schema.document["$defs"][command], answer)

    paths = list(recordings(build))
    recorder = os.path.exists(build.train) and os.path.exists(os.path.join(build.bin, "..", "lib", "libgpuprof_agent.so"))
    if recorder:
        paths.append(build.profile("virtual", "--data", "fixed", "--defect", "pageable", steps=24)[0])
        for command, answer in trials(build, paths[-1]):
            judge(str(answer["tried"][0]["apply"]), command, answer)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for path, answer in zip(paths, pool.map(lambda p: printed(build, "analyze", "--json", *ROWS * p.endswith(".gpuprof"), p), paths)):
            judge(path, "analyze", answer)
        rest = others(sys.argv[2])[::int(sys.argv[3])]
        for path, answer in zip(rest, pool.map(lambda p: printed(build, "analyze", "--json", p), rest)):
            if answer:
                judge(path, "analyze", answer, own=False)
    for command, answer in comparisons(build, paths[0], paths[-1]):
        judge("two recordings", command, answer)
    broken = {**answer, "verdict": "maybe", "surplus": 1}
    checks.check(len(schema.wrong(broken)) == 2, "a key and a value that the schema lacks are found", str(schema.wrong(broken)))
    keys = [key for name, node in schema.document["$defs"].items() for key in schema.keys(node, name)]
    for key, node, rare in keys if recorder else ():
        if (id(node) in schema.seen) == rare:
            checks.check(False, key, "is rare, and a recording has it" if rare else "no recording has it, and it is not said to be rare")
    print("" if recorder else "no recorder: keys that no recording has are not looked for")
    checks.done()


if __name__ == "__main__":
    if subprocess.run([PYTHON or "false", "-c", "import jsonschema"], capture_output=True, check=False).returncode != 0:
        print("skipped: no jsonschema: GPUPROF_TEST_MCP names a Python that has it (pip install jsonschema)")
        sys.exit(77)
    if "again" not in sys.argv:
        os.execv(PYTHON, [PYTHON, __file__, *sys.argv[1:], "again"])
    import jsonschema
    main()
