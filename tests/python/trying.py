"""`gpuprof try` on a PyTorch script that knows nothing of it: the DataLoader is changed, and the change measured.

    trying.py BUILD          77 without PyTorch
"""
import json
import os
import subprocess
import sys

from support import PYTHON, Test, have_torch

# A batch costs 32 ms of waiting, a step nearly nothing: workers shorten it on any machine.
SCRIPT = """
import sys, time, torch
from torch.utils.data import Dataset, DataLoader
class Slow(Dataset):
    def __len__(self):
        return 16 * 14
    def __getitem__(self, i):
        time.sleep(0.002)
        return torch.ones(4), i % 2
def train():
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(Slow(), batch_size=16, num_workers=0):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    print("loss", loss.item())
if __name__ == "__main__":
    train()
"""

# In a worker a sample costs sixty times as much, and is another one: the advice is wrong, which no profile can know. There are
# several times as many batches as workers may have ready at the first step.
WORSE = SCRIPT.replace("time.sleep(0.002)",
                       "time.sleep(0.03 if torch.utils.data.get_worker_info() else 0.0005)").replace(
    "torch.ones(4)", "torch.ones(4) * (2 if torch.utils.data.get_worker_info() else 1)").replace("16 * 14", "16 * 60")


def attempt(t, *options, script="train.py"):
    done = t.run([t.gpuprof, "try", "--json", "--runs", "3", *options, "--", PYTHON, t.path(script)],
                 TMPDIR=t.folder.name)
    said = json.loads(done.stdout or '{"tried": [{}]}')
    return done, {**said, **said["tried"][0]}


def refuted(t):
    """Advice that makes the program slower is refuted, not inconclusive."""
    t.write("worse.py", WORSE)
    done, said = attempt(t, "--top", "3", script="worse.py")
    predicted = (said.get("predicted_pct") or {}).get("low") or said.get("at_most_pct") or 0
    t.check(said.get("rule") == "data-loading" and predicted > 5, "the advice promises much",
            done.stdout + done.stderr)
    t.check(said.get("measured_pct", {}).get("high", 0) < 0, "it makes the step longer", done.stdout)
    t.check(said.get("verdict") == "REFUTED" and done.returncode == 1, "and is refuted, status 1",
            f"{done.returncode} {done.stdout}")
    losses = said.get("losses", {})
    t.check(losses.get("verdict") == "changed" and losses["differ_pct"] > 1 and losses["without_change_differ_pct"] == 0,
            "the change of its losses is not hidden", losses)
    t.check(said.get("asked") == 3 and "gpuprof can apply 1" in (said.get("fewer") or ""),
            "--top 3 says why it tried one", done.stdout)


def fixed(t, profile):
    """The advice becomes a diff of the program, which is tried in a copy, and stays as a file."""
    with open(t.path("train.py"), encoding="utf-8") as f:
        before = f.read()
    done = t.run(["env", "-C", t.folder.name, t.gpuprof, "try", "--json", "--runs", "2", "--profile", profile, "--fix", "faster.patch", "--",
                  PYTHON, "train.py"], TMPDIR=t.folder.name)
    said = json.loads(done.stdout or '{"tried": [{}]}')["tried"][0]
    t.check(said.get("rule") == "data-loading" and said.get("patch") == "faster.patch" and "changed: Load data" in done.stderr,
            "the first advice becomes a diff", done.stdout + done.stderr)
    t.check(said.get("measured_pct", {}).get("mid", 0) > 20 and said["losses"]["verdict"] == "equal", "which is tried", done.stdout)
    with open(t.path("train.py"), encoding="utf-8") as f:
        t.check(f.read() == before, "the user's file stays")
    with open(t.path("faster.patch"), encoding="utf-8") as f:
        t.check("+    for x, y in DataLoader(Slow(), batch_size=16, num_workers=" in f.read(), "the diff is there to be applied")
    again = t.run(["env", "-C", t.folder.name, t.gpuprof, "try", "--profile", profile, "--fix", "faster.patch", "--", PYTHON, "train.py"])
    t.check(again.returncode == 2 and "faster.patch" in again.stderr, "and is not replaced unasked", again.stderr)


# Three loaders make their batches in the loop, in 160, 120 and 88 ms. Workers pay for two of them; those of the third sleep much longer.
FAULTS = """
import time, torch
from torch.utils.data import Dataset, DataLoader, get_worker_info
class Slow(Dataset):
    def __init__(self, alone, in_worker):
        self.seconds = alone, in_worker
    def __len__(self):
        return 4 * 14
    def __getitem__(self, i):
        time.sleep(self.seconds[get_worker_info() is not None])
        return torch.ones(4), i % 2
def train():
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    a = DataLoader(Slow(0.040, 0.040), batch_size=4)
    b = DataLoader(Slow(0.030, 0.030), batch_size=4)
    c = DataLoader(Slow(0.022, 0.200), batch_size=4)
    for (x, y), (u, v), (w, z) in zip(a, b, c):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x + u + w), y).backward()
        optimizer.step()
if __name__ == "__main__":
    train()
"""
DECIDED = [("data-loading", "kept"), ("data-loading", "kept"), ("data-loading", "taken back")]


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def series(t):
    """`--until`: what pays is kept, one change on top of another; what does not is taken back, and not tried again. One diff holds what
    was kept."""
    program, folder = t.write("series/train.py", FAULTS), t.path("series")
    for _ in range(2):  # a busy machine hides a saving
        done = t.run(["env", "-C", folder, t.gpuprof, "try", "-f", "--json", "--runs", "3", "--fix", "all.patch", "--until", "5",
                      "--record", "why.md", "--", PYTHON, "-B", "train.py"], timeout=700, TMPDIR=t.folder.name)
        said = json.loads(done.stdout or '{"tried": []}')
        tried = said["tried"]
        if [(c["rule"], c["decision"]) for c in tried] == DECIDED:
            break
    t.check(done.returncode == 0 and [(c["rule"], c["decision"]) for c in tried] == DECIDED, "two changes are kept, one is taken back",
            done.stdout + done.stderr)
    t.check("no other advice" in (said["ended"] or ""), "and is not tried again", said["ended"])
    t.check(tried[0]["without_ms"] > tried[1]["without_ms"] > tried[2]["without_ms"], "each is compared with what was kept", done.stdout)
    t.check(said["kept_diff"] == tried[0]["diff"] + tried[1]["diff"] == text_of(t.path("series/all.patch")), "one diff has what was kept",
            done.stdout)
    record = text_of(t.path("series/why.md"))
    t.check("## gpuprof try: 2 of 3 changes kept" in record and
            all(c[key] in record for c in tried for key in ("diff", "finding", "decision_why")), "the record has all", record)
    t.check(text_of(program) == FAULTS and sorted(os.listdir(folder)) == ["all.patch", "train.py", "why.md"], "the tree stays")
    applied = t.run(["git", "-C", folder, "apply", "all.patch"])
    lines = [line for line in text_of(program).splitlines() if "num_workers=" in line]
    t.check(applied.returncode == 0 and [line.split()[0] for line in lines] == ["a", "b"], "git applies it", applied.stderr)
    back = t.run(["git", "-C", folder, "apply", "-R", "all.patch"])
    t.check(back.returncode == 0 and text_of(program) == FAULTS, "and reverts it", back.stderr)


def broken(t):
    """A change with which the program fails is taken back, with the program's words; then nothing is left to try."""
    t.write("broken/train.py", SCRIPT.replace("time.sleep(0.002)", "time.sleep('no' if torch.utils.data.get_worker_info() else 0.002)"))
    done = t.run(["env", "-C", t.path("broken"), t.gpuprof, "try", "--fix", "all.patch", "--until", "2", "--", PYTHON, "-B", "train.py"],
                 TMPDIR=t.folder.name, COLUMNS="80")
    lines = done.stdout.partition("change ")[2].splitlines()
    t.check(done.returncode == 1 and len(lines) > 1 and lines[1].startswith("1 data-loading ") and lines[1].endswith(" taken back"),
            "a change that breaks the program is taken back", done.stdout + done.stderr)
    said = " ".join(done.stdout.split())
    t.check("the program fails with the change (FAILED)" in said and "TypeError" in said and "Nothing was kept" in said, "with the reason",
            done.stdout)
    t.check(max(map(len, lines)) <= 80 and os.listdir(t.path("broken")) == ["train.py"], "in 80 columns, and nothing is written",
            done.stdout)


def killed(t, profile):
    """Stopped in its first change, a series leaves nothing behind."""
    out = subprocess.Popen([t.gpuprof, "try", "--profile", profile, "--fix", "all.patch", "--until", "3", "--", PYTHON, "train.py"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=t.folder.name,
                           env={**t.env, "TMPDIR": t.folder.name})
    for line in out.stderr:
        if line.startswith("gpuprof: round 1 "):
            break
    out.terminate()
    out.communicate(timeout=120)
    left = [n for n in os.listdir(t.folder.name) if n.startswith("gpuprof-try-") or n == "all.patch"]
    t.check(out.returncode == 130 and not left, "a killed series leaves nothing", f"{out.returncode} {left}")


def main():
    if not have_torch():
        print("skipped: no PyTorch in /usr/bin/python3")
        sys.exit(77)
    t = Test(sys.argv[1])
    t.write("train.py", SCRIPT)
    profile = t.path("first.gpuprof")
    done, said = attempt(t, "-o", profile, "--top", "2")
    t.check("loss 0." in done.stderr, "the program's own output is shown once", done.stderr[-500:])
    t.check(said.get("rule") == "data-loading" and not said.get("together"),
            "the only advice with a setting is tried", done.stdout)
    t.check(said.get("runs_acknowledged") == 3, "the DataLoader was changed", done.stdout)
    t.check(said.get("measured_pct", {}).get("low", 0) > 20, "workers save more than a fifth", done.stdout)
    t.check(said.get("reruns_record") == "steps", "reruns record steps alone: their marks tell the pace",
            done.stdout)
    t.check(done.returncode == 0, "status 0: it saves time", done.returncode)
    t.check(said.get("losses", {}).get("verdict") == "equal" and said["losses"]["compared"] == 14,
            "the losses are equal to the bit", said.get("losses"))
    done, said = attempt(t, "--profile", profile, "--apply", "cudnn_benchmark=1;no_such_setting=1")
    t.check(said.get("refused") is not None, "a setting that the hook does not know is refused by name", done.stdout + done.stderr)
    t.check(said.get("verdict") not in ("CONFIRMED", "SMALLER", "LARGER"), "and nothing is confirmed", done.stdout)
    t.check(said["verdict"] == "REFUSED" and said["runs_without"] == 0, "nor run any further", done.stdout)
    done, said = attempt(t, "--runs", "2", "--profile", profile, "--apply", "num_workers=2")
    t.check(said.get("verdict") == "UNDERPOWERED" and said.get("rule") == "data-loading",
            "another value than the advised one is tried for the same advice", done.stdout)
    for how, text in {"text": "tried: num_workers=2: UNDERPOWERED: not predicted, measured ",
                      "--markdown": "- `data-loading`, tried: num\\_workers=2: UNDERPOWERED: not predicted, "}.items():
        shown = t.run([t.gpuprof, "analyze", *([] if how == "text" else [how]), profile]).stdout
        t.check(text in shown, f"the report shows the trial: {how}", shown)
    page = t.path("report.html")
    t.run([t.gpuprof, "report", profile, "-o", page])
    with open(page, encoding="utf-8") as f:
        t.check("<b>Tried.</b> num_workers=2: UNDERPOWERED" in f.read(), "and so does the page")
    fixed(t, profile)
    killed(t, profile)
    series(t)
    broken(t)
    refuted(t)
    t.check(not [n for n in os.listdir(t.folder.name) if n.startswith("gpuprof-try-")], "nothing is left behind")
    t.done()


main()
