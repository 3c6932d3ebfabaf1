"""What holds up a loop on the CPU is a finding, with its line and what the thread does there, whether or not a rule knows it;
the mended program is not told of it.

    causes.py BUILD          77 without PyTorch
"""
import json
import sys

from support import PYTHON, Test, have_torch

LOOP = """
import json, os, random, subprocess, sys, threading, time, torch
mended = "mended" in sys.argv
net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
x = torch.ones(16, 64)
{before}
for step in range(60):
    if not mended:
        {cause}
    net(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""

# What stands before the loop, the call in it, and what is said of it: the function, what it does there.
CAUSES = {
    "command": ('def memory_map():\n    return subprocess.run(["sleep", "0.02"])', "memory_map()", "memory_map()",
                "waits for another process"),
    "retry": ("def fetch():\n    for tried in range(3):\n        time.sleep(0.007)", "fetch()", "fetch()", "sleeps"),
    "lock": ("turn = threading.Event()\ndef upload():\n    while True:\n        time.sleep(0.02)\n        turn.set()\n"
             "threading.Thread(target=upload, daemon=True).start()\ndef record():\n    turn.wait()\n    turn.clear()",
             "record()", "record()", "waits for a lock or another thread"),
    "rarely": ("pool = threading.Lock()\ndef evict():\n    pool.acquire(timeout=0.03)\npool.acquire()",
               "step % 4 or evict()", "evict()", "waits for a lock or another thread"),
    "python": ("def jitter(image):\n    rows = []\n    for r in image:\n        row = []\n        for v in r:\n"
               "            v += random.gauss(0, 1)\n            row.append(min(max(v, 0), 1))\n        rows.append(row)\n"
               "    return rows", "jitter([[0.5] * 100] * 200)", "jitter()", "computes"),
    "files": ('with open("weights.json", "w") as f:\n    json.dump([[0.5] * 1000] * 100, f)\ndef schedule():\n'
              '    with open("weights.json") as f:\n        return json.load(f)', "schedule()", "schedule()", "computes"),
}


def analyzed(t, command):
    done, profile = t.traced(command)
    t.check(done.returncode == 0, "runs", done.stderr[-500:])
    return json.loads(t.run([t.gpuprof, "analyze", "--json", profile]).stdout), \
        t.run([t.gpuprof, "analyze", profile]).stdout


def look(t, name, before, cause, function, does):
    script = t.write(name + ".py", LOOP.format(before=before, cause=cause))
    said, screen = analyzed(t, [PYTHON, script])
    first = said["findings"][0] if said["findings"] else {"rule": "none", "title": said["next"], "summary": said["why"]}
    t.check(first["rule"] == "slow-line" and function in first["title"] and name + ".py:" in first["summary"],
            f"{name}: its line comes first", first["title"])
    t.check(does in first["summary"], f"{name}: it {does}", first["summary"])
    t.check("nothing to change" not in screen.split("Fine")[0] and "own computing fills" not in screen,
            f"{name}: nothing to change is not said", screen)
    said, _ = analyzed(t, [PYTHON, script, "mended"])
    t.check(not [f for f in said["findings"] if function in f["title"]], f"{name}: mended, it is not told so",
            [f["title"] for f in said["findings"]])


def main():
    if not have_torch():
        print("skipped: no PyTorch in /usr/bin/python3")
        sys.exit(77)
    t = Test(sys.argv[1])
    for name, cause in CAUSES.items():
        if not sys.argv[2:] or name in sys.argv[2:]:
            look(t, name, *cause)
    t.done()


main()
