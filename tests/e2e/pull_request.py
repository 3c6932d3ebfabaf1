#!/usr/bin/env python3
"""pull_request.py BUILD: what a slowdown says in a pull request: the step with its interval, cause, line, and a diff that applies; one
comment, which each run updates, on GitHub and on GitLab (stand-ins for gh and curl). Then the programs of docs/ci.md for experiment
trackers, with stand-ins for wandb and mlflow."""
import json
import os
import re
import subprocess
import sys

from support import Build, Checks

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.path.append(os.path.join(ROOT, "tests", "fuzz"))
import seeds  # noqa: E402

PROGRAM = """import torch
from torch.utils.data import DataLoader

data = torch.utils.data.TensorDataset(torch.rand(64, 3))
if __name__ == "__main__":
    for batch in DataLoader(data, batch_size=32):
        print(batch[0].shape)
"""
FACTS = {"torch.version": "2.4.0", "torch.settings": "num_workers persistent_workers loader", "torch.loader.made": "train.py:6",
         "torch.loader.where": "train.py:6", "torch.loader": "DataLoader(num_workers=0, batch_size=32, pin_memory=False)"}
# Comments are lines of a file: [id, whose, text]. What another one wrote may be read, and not changed.
SERVICE = '''#!{python}
import json, re, sys
def load():
    with open({file!r}, encoding="utf-8") as f:
        return json.load(f)
def save(comments):
    with open({file!r}, "w", encoding="utf-8") as f:
        json.dump(comments, f)
def change(number, text):
    comments = load()
    mine = [c for c in comments if c[0] == number and c[1] == "bot"]
    if not mine:
        sys.exit(22)
    mine[0][2] = text
    save(comments)
def add(text):
    save([*load(), [len(load()) + 1, "bot", text]])
def read(word, before):
    with open(word[len(before):], encoding="utf-8") as f:
        return f.read()
words = sys.argv[1:]
'''
GH = SERVICE + '''
assert words.pop(0) == "api"
if "-F" in words:
    text = read(words[words.index("-F") + 1], "body=@")
    method, path = words[words.index("-X") + 1], words[2]
    if method == "PATCH":
        change(int(re.fullmatch("repos/o/r/issues/comments/([0-9]+)", path)[1]), text)
    else:
        assert (method, path) == ("POST", "repos/o/r/issues/7/comments"), words
        add(text)
    print("{{}}")
else:
    assert words[:3] == ["--paginate", "repos/o/r/issues/7/comments", "--jq"], words
    start = re.search('startswith[(]"(.*)"[)][)] [|] .id$', words[3])[1]
    print("".join(f"{{c[0]}}\\n" for c in load() if c[2].startswith(start)), end="")
'''
CURL = SERVICE + '''
assert sys.stdin.read() == "PRIVATE-TOKEN: secret\\n" and "secret" not in str(words), words
base = "https://gitlab/projects/5/merge_requests/7/notes"
if "--data-urlencode" in words:
    text = read(words[words.index("--data-urlencode") + 1], "body@")
    if words[words.index("-X") + 1] == "PUT":
        change(int(re.fullmatch(base + "/([0-9]+)", words[-1])[1]), text)
    else:
        assert words[-1] == base, words
        add(text)
else:
    assert words[-1].startswith(base + "?"), words
    print(json.dumps([{{"id": c[0], "body": c[2]}} for c in load()]))
'''
WANDB = """
import json
said = []
class Table:
    def __init__(self, columns, data):
        assert all(len(row) == len(columns) for row in data)
        self.data = data
class Summary:
    def update(self, values):
        said.append(values)
class Run:
    summary = Summary()
    def log(self, values):
        said.append({k: v.data if isinstance(v, Table) else v for k, v in values.items()})
    def finish(self):
        print(json.dumps(said))
def init(project, config):
    said.append(config)
    return Run()
"""
MLFLOW = """
import json
said = []
class Run:
    def __enter__(self):
        return self
    def __exit__(self, *_):
        print(json.dumps(said))
def start_run():
    return Run()
def log_params(params):
    said.append(params)
def set_tag(key, value):
    said.append({key: value})
def log_metric(key, value):
    said.append({key: float(value)})
def log_metrics(metrics):
    said.append({k: float(v) for k, v in metrics.items()})
def log_dict(dictionary, artifact_file):
    said.append({artifact_file: json.loads(json.dumps(dictionary))["verdict"]})
"""


def loop(path, wait_ns):
    """A recording of PROGRAM: 20 steps, each waits for its batch, which the training thread makes, and computes for 9 ms."""
    rows = seeds.Rows(path)
    for key, value in {**seeds.FACTS, "usable_cores": "8", "cgroup_cpu_quota": "8.0", "cgroup_cpu_throttled_periods": "0"}.items():
        rows.put("meta", process=0, key=key, value=value)
    rows.put("process", pid=100, ppid=1, rank=0, world_size=1, end_ns=10**9, command="train.py", sealed=1)
    own = dict(process=1, thread=rows.put("thread", process=1, tid=100, name="python3"))
    device = rows.put("device", process=1, name="NVIDIA A100-SXM4-80GB", uuid="GPU-1", cc_major=8, sm_count=108, memory_bytes=80 << 30)
    stream = rows.put("stream", process=1, device=device, context=1, stream=7, flags=1)
    for key, value in FACTS.items():
        rows.put("meta", process=1, key=key, value=value)
    at, n = 1_000_000, 0
    for step in range(20):
        rows.put("range", **own, start_ns=at, end_ns=at + wait_ns + 10_000_000, name="step", depth=0)
        for what, cpu_ns in ((0, -1), (1, wait_ns - 1000)):
            rows.put("loader_span", **own, start_ns=at, end_ns=at + wait_ns - 1000 * what, what=what, worker=-1, batch=step, cpu_ns=cpu_ns)
        at += wait_ns
        for k in range(9):
            n += 1
            rows.put("api", **own, start_ns=at + 10_000 * k, end_ns=at + 10_000 * k + 5000, name="cudaLaunchKernel", correlation=n)
            rows.put("kernel", process=1, correlation=n, stream=stream, start_ns=at + 20_000 + 1_000_000 * k, name=seeds.KERNELS[1],
                     end_ns=at + 1_010_000 + 1_000_000 * k, grid_x=640, grid_y=1, grid_z=1, block_x=128, block_y=1, block_z=1)
        at += 10_000_000
    rows.db.commit()
    rows.db.close()


def script(build, name, text, **values):
    path = build.path(os.path.join("bin", name))
    with open(path, "w", encoding="utf-8") as f:
        f.write(text.format(python=sys.executable, **values))
    os.chmod(path, 0o755)


def comments(build, checks, service, **variables):
    """The script of ci/, three times: a slowdown, the same again, and a run that passes."""
    kept = build.path(service + ".json")
    with open(kept, "w", encoding="utf-8") as f:
        json.dump([[1, "someone", "looks good"], [2, "someone", "<!-- gpuprof-comment: gpuprof -->\nforged"]], f)
    script(build, "gh" if service == "GitHub" else "curl", GH if service == "GitHub" else CURL, file=kept)

    def say(new, **more):
        done = build.run(["sh", os.path.join(ROOT, "ci/gpuprof-comment.sh"), "base.gpuprof", new], **{**variables, **more},
                         GPUPROF_SOURCE="src", PATH=f"{build.path('bin')}:{build.bin}:{os.environ['PATH']}")
        with open(kept, encoding="utf-8") as f:
            return done, json.load(f)

    done, first = say("slow.gpuprof")
    checks.check(done.returncode == 0 and len(first) == 3 and first[2][1] == "bot", f"{service}: a slowdown makes a comment", done.stderr + str(first))
    text = first[-1][2]
    for words in ("## gpuprof gate: slower", "**11.0 ms -> 22.0 ms** per step (median): +100.0 %, 95 % interval +100.0 to +100.0 %",
                  "**Cause:** Load data in parallel workers (`num-workers`), at train.py:6. Saves up to 12.0 ms (54.5 %): ", "```diff\n--- a/train.py\n"):
        checks.check(words in text, f"{service}: {words[:40]!r}", text)
    _, again = say("slow.gpuprof")
    checks.check(again == first, f"{service}: the same again changes nothing", str(again))
    _, passed = say("base.gpuprof")
    checks.check(len(passed) == 3 and "gate: pass" in passed[2][2] and "Cause" not in passed[2][2] and passed[:2] == first[:2],
                 f"{service}: a run that passes updates it, and nothing of others", str(passed))
    _, two = say("slow.gpuprof", GPUPROF_NAME="other")
    checks.check(len(two) == 4, f"{service}: another program has a comment of its own", str(two))
    done, none = say("none.gpuprof")
    checks.check(done.returncode == 2 and none == two, f"{service}: nothing is said of a run that cannot be read", done.stderr)
    return text


def applies(build, checks, text):
    diff = re.search(r"```diff\n(.*?)```\n", text, re.S)[1]
    with open(build.path("mend.patch"), "w", encoding="utf-8") as f:
        f.write(diff)
    done = subprocess.run(["git", "apply", build.path("mend.patch")], cwd=build.path("src"), capture_output=True, text=True, check=False)
    with open(build.path("src/train.py"), encoding="utf-8") as f:
        mended = f.read()
    checks.check(done.returncode == 0 and mended == PROGRAM.replace("batch_size=32", "batch_size=32, num_workers=2, persistent_workers=True"),
                 "the diff mends it", done.stderr + mended)


def refused(build, checks):
    for words, why in ((["--source", "src"], "--source needs --markdown"), (["--markdown", "--source", "nowhere"], "--source nowhere: No such file")):
        done = build.run([build.gpuprof, "gate", *words, "base.gpuprof", "slow.gpuprof"])
        checks.check(done.returncode == 2 and why in done.stderr, f"refused: {why}", done.stderr)
    done = build.run([build.gpuprof, "gate", "--markdown", "--source", "bin", "base.gpuprof", "slow.gpuprof"])
    checks.check(done.returncode == 1 and "**Cause:**" in done.stdout and "```" not in done.stdout, "without the program there is no diff", done.stdout)


def trackers(build, checks):
    with open(os.path.join(ROOT, "docs", "ci.md"), encoding="utf-8") as f:
        programs = re.findall(r"```python\n(.*?)```", f.read(), re.S)
    said = build.analyze("slow.gpuprof")
    os.mkdir(build.path("modules"))
    for module, stand_in in (("wandb", WANDB), ("mlflow", MLFLOW)):
        with open(build.path(f"modules/{module}.py"), "w", encoding="utf-8") as f:
            f.write(stand_in)
        program = next(p for p in programs if f"import {module}\n" in p)
        done = build.run([sys.executable, "-c", program, "slow.gpuprof"], PYTHONPATH=build.path("modules"), PATH=f"{build.bin}:{os.environ['PATH']}")
        checks.check(done.returncode == 0 and all(json.dumps(v) in done.stdout for v in
                                                  (said["verdict"], said["breakdown_of_ms"], said["breakdown_ms"]["idle_input"])),
                     f"{module} gets verdict, step and parts", done.stdout + done.stderr)
        checks.check(len(program.strip().splitlines()) <= 12, f"{module}: ten lines")


def main():
    build, checks = Build(sys.argv[1]), Checks()
    for name, wait_ns in (("base", 1_000_000), ("slow", 12_000_000)):
        loop(build.path(name + ".gpuprof"), wait_ns)
    for name in ("src", "bin"):
        os.mkdir(build.path(name))
    with open(build.path("src/train.py"), "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    text = comments(build, checks, "GitHub", GITHUB_REPOSITORY="o/r", GITHUB_REF="refs/pull/7/merge")
    comments(build, checks, "GitLab", GITHUB_REPOSITORY="", CI_API_V4_URL="https://gitlab", CI_PROJECT_ID="5", CI_MERGE_REQUEST_IID="7",
             GITLAB_TOKEN="secret")
    refused(build, checks)
    applies(build, checks, text)
    trackers(build, checks)
    checks.done()


main()
