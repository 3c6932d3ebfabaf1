#!/usr/bin/env python3
"""Small loops that lose their time in the user's own code: the cause stands among the first findings, with its line, and
the mended program is not told of it.

usage: causes.py BUILD [NAME ...]

GPUPROF_TORCH names the Python with a CUDA build of PyTorch 2; status 77 without it.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from support import Build, Checks, pytorch_ended  # noqa: E402

LOOP = """
import sys, threading, time, torch
mended = "mended" in sys.argv
net = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(8)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
x = torch.randn(65536, 512, device="cuda")
keep = torch.rand(65536, device="cuda") < 0.5
{before}
for step in range(40):
    out = net(x)
    {cause}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

# What stands before the loop and in it; the rule, what its finding says (title, summary and remedy), among how many.
CAUSES = {
    "kernel": ("want = torch.rand(4096, 4, device='cuda')",
               "loss = out.square().mean()\n    with torch.no_grad():\n"
               "        d = (out[:4096, None, :4] - want).abs().sum(-1) if mended else torch.cdist(out[:, :4], want, p=1)",
               "one-kernel", ["cdist_kernel", "kernel.py:13"], 1),
    "mask": ("", "loss = (out * keep[:, None]).square().mean() if mended else out[keep].square().mean()",
             "sync-in-loop", ["behind nonzero", "mask.py:11", "torch.where(mask, x, 0)"], 3),
    "elements": ("lens = torch.randint(1, 20, (400,), device='cuda')",
                 "loss = out.square().mean() * (lens.max() if mended else max(lens))",
                 "piecewise-work", ["reads a number behind", "elements.py:11"], 3),
    "lock": ("lock = threading.Lock()\ndef upload():\n    while True:\n        with lock:\n            time.sleep(0.1)\n"
             "        time.sleep(0.001)\nthreading.Thread(target=upload, daemon=True).start()\n"
             "def record():\n    with lock:\n        pass",
             "loss = out.square().mean()\n    mended or (torch.cuda.synchronize(), record())",
             "", ["record()", "lock.py:", "waits for a lock or another thread"], 3),
    "padding": ("words = torch.nn.Embedding(1000, 512).cuda()\nids = torch.zeros(64, 512, dtype=torch.long)\n"
                "ids[:, :64] = torch.randint(1, 1000, (64, 64))\nx = x[:64]",
                "loss = net(words((ids[:, :64].contiguous() if mended else ids).cuda())).square().mean()",
                "padding", ["88 % of the 512 columns", "padding.py:14"], 1),
    "labels": ("head = torch.nn.Linear(512, 20000).cuda()\nlabels = torch.full((64, 64), -100)\n"
               "labels[:, ::8] = 7\nx = x[:4096]\nwhere = torch.arange(0, 4096, 8, device='cuda')",
               "wanted = labels.cuda().flatten()\n    loss = torch.nn.functional.cross_entropy(head(out[where] if mended "
               "else out), wanted[where] if mended else wanted)",
               "ignored-labels", ["ignores 88 % of the 4096 labels", "labels.py:15"], 1),
    "pieces": ("class Rounded(torch.nn.Linear):\n    def forward(self, x):\n        w = self.weight.detach()\n"
               "        for _ in range(0 if mended else 20):\n            w = w * 2 / 2\n"
               "        return torch.nn.functional.linear(x, self.weight + (w - self.weight).detach())\n"
               "wide = Rounded(512, 65536, bias=False).cuda()\nx = x[:64]",
               "loss = wide(out).square().mean()",
               "forward-only", ["within modules that no backward pass", "pieces.py:12"], 3),
    "again": ("def positions():\n    n = torch.arange(65536 * 512, device='cuda').view(65536, 512) * 1.5\n"
              "    for _ in range(60):\n        n = n.sin()\n    return n\nonce = positions()",
              "loss = (out + (once if mended else positions())).square().mean()",
              "computed-again", ["positions()", "again.py:11", "100 % of the calls read the same tensors"], 3),
    "twice": ("twin = torch.nn.Sequential(torch.nn.Linear(512, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 512)).cuda()\n"
              "optimizer.add_param_group({'params': twin.parameters()})",
              "with torch.no_grad():\n        seen = twin(x)\n"
              "    loss = (out - (seen if mended else twin(x))).square().mean() + seen.mean()",
              "computed-again", ["is called again at twice.py:14", "call it once in a step"], 3),
    "rest": ("slow = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(8)]).cuda()\nslow.requires_grad_(not mended)\n"
             "mended or optimizer.add_param_group({'params': slow.parameters(), 'lr': 0.0})",
             "loss = (out - slow(x)).square().mean()",
             "unused-gradients", ["weights whose learning rate is 0", "rest.py:13"], 3),
    "losses": ("heads = [torch.nn.Linear(512, 4).cuda() for _ in range(3)]",
               "losses = [head(out).square().mean() for head in heads]\n    loss = sum(losses)\n"
               "    mended or [one.backward(retain_graph=True) for one in losses[1:]]",
               "repeated-backward", ["3 backward passes go through one graph", "losses.py:15"], 3),
    "teacher": ("teacher = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(8)]).cuda()\n"
                "teacher.requires_grad_(not mended)",
                "loss = (out - teacher(x)).square().mean()",
                "unused-gradients", ["weights that no optimizer has", "teacher.py:12"], 3),
    "critic": ("critic = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(8)]).cuda()\n"
               "critic.requires_grad_(not mended)",
               "loss = critic(out).square().mean()",
               "unused-gradients", ["also gradients of weights that no optimizer has", "critic.py:12", "requires_grad_(False) once"], 3),
}


def said(build, out, count):
    """(rule, title, summary, remedy) of the first findings."""
    return [(f["rule"], " ".join([f["title"], f["summary"], str(f["remedy"])])) for f in build.analyze(out)["findings"][:count]]


def run(checks, build, python, name):
    before, cause, rule, words, count = CAUSES[name]
    script, found = build.path(name + ".py"), []
    with open(script, "w", encoding="utf-8") as f:
        f.write(LOOP.format(before=before, cause=cause))
    for arguments in ([], ["mended"]):
        out = build.path(f"{name}{len(arguments)}.gpuprof")
        done = build.run([build.gpuprof, "run", "-q", "-f", "--device", "virtual:a100-80", "-o", out, "--", python, script,
                          *arguments])
        if not checks.check(pytorch_ended(done), f"{name}: ends with status 0", done.stderr[-800:]):
            return
        found.append([t for r, t in said(build, out, count if not arguments else 99) if not rule or r == rule])
    checks.check(any(all(w in t for w in words) for t in found[0]), f"{name}: its cause is among the first {count}",
                 str(found[0]))
    checks.check(not any(words[0] in t for t in found[1]), f"{name}: mended, it is not told so", str(found[1]))


# A library that runs the loop and has the network, and a program that leaves both to it and is called back.
LIBRARY = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(256, 256) for _ in range(6))
    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return x
class Loop:
    def __init__(self, net, after):
        self.net, self.after, self.optimizer = net.cuda(), after, torch.optim.SGD(net.parameters(), lr=1e-3)
    def train(self, steps):
        for _ in range(steps):
            loss = self.net(torch.ones(64, 256, device="cuda")).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.after(self.net)
"""
PROGRAM = """
import os, sys, torch
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))
from loops import Loop, Net
def watch(net):
    for weight in net.parameters():
        weight.detach().norm()
Loop(Net(), watch).train(60)
"""


def library(checks, build, python):
    """The GPU's lines are those of the library and of what it calls back, not the one call of its loop."""
    folder, script, out = build.path("site-packages/loops"), build.path("program.py"), build.path("program.gpuprof")
    os.makedirs(folder)
    for path, text in ((os.path.join(folder, "__init__.py"), LIBRARY), (script, PROGRAM)):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    done = build.run([build.gpuprof, "run", "-q", "-f", "--device", "virtual:a100-80", "-o", out, "--", python, script])
    if not checks.check(pytorch_ended(done), "library: ends with status 0", done.stderr[-800:]):
        return
    at = {line["place"]: line["ms"] for line in build.analyze(out)["lines"]["gpu"]["lines"]}
    checks.check({"loops/__init__.py:9", "loops/__init__.py:19", "program.py:7"} <= set(at), "library: its lines launch", str(at))
    checks.check(at.get("program.py:8", 0) < 0.1 * sum(at.values()), "library: the call of its loop does not", str(at))


def main():
    python = os.environ.get("GPUPROF_TORCH")
    names = [n for n in CAUSES if not sys.argv[2:] or n in sys.argv[2:]]
    alone = "library" in sys.argv[2:]
    if not python or not (names or alone):
        print("skipped: causes: set GPUPROF_TORCH to a Python with a CUDA build of PyTorch 2")
        sys.exit(77)
    build, checks = Build(sys.argv[1]), Checks()
    build.env.pop("GPUPROF_TORCH", None)
    for name in names:
        run(checks, build, python, name)
    if alone or not sys.argv[2:]:
        library(checks, build, python)
    checks.done()


main()
