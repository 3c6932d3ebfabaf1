#!/usr/bin/env python3
"""fix.py BUILD: `gpuprof fix`. Each edit that it knows, on small files: what is written elsewhere in them stays to the byte, and
what it does not know for sure it leaves to the user with a reason. Then the command on a real recording, and its diff through
`git apply`."""
import gzip
import io
import json
import os
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout

from support import Build, Checks

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cli", "fix"))
import fix  # noqa: E402

NO_PLACE = None
LOADER = "DataLoader(num_workers=0)"
# what is tried: (action, line, params, conditions, now), the file, and what it becomes; or, after "!", why it is left
CASES = {
    "a keyword goes behind the last argument": (
        ("set_workers", 2, {"workers": 4}, [], LOADER),
        "from torch.utils.data import DataLoader\nx = DataLoader(data,  batch_size=8)  # small\n",
        "from torch.utils.data import DataLoader\n"
        "x = DataLoader(data,  batch_size=8, num_workers=4, persistent_workers=True)  # small\n"),
    "a value that is there is replaced": (
        ("set_workers", 1, {"workers": 4}, ["made_anew"], LOADER),
        "x = DataLoader(data, num_workers = 1)\n", "x = DataLoader(data, num_workers = 4)\n"),
    "a trailing comma, lines of their own, comments and CRLF": (
        ("keep_workers", 2, {}, [], LOADER),
        "x = DataLoader(\r\n    (data),  # all, of it\r\n    num_workers=2,  # few)\r\n)\r\n",
        "x = DataLoader(\r\n    (data),  # all, of it\r\n    num_workers=2,\r\n    persistent_workers=True,  # few)\r\n)\r\n"),
    "brackets around the last argument": (
        ("pin_batches", 1, {}, [], LOADER), "x = DataLoader((a, b)[0], (2))\n",
        "x = DataLoader((a, b)[0], (2), pin_memory=True)\n"),
    "letters of more than one byte before the place": (
        ("pin_batches", 1, {}, [], LOADER), "s = 'größer'; x = DataLoader(d)  # ü\n",
        "s = 'größer'; x = DataLoader(d, pin_memory=True)  # ü\n"),
    "workers that are not asked for cannot stay": (
        ("keep_workers", 1, {}, [], LOADER), "x = DataLoader(d, num_workers=0)\n", "!line 1 asks for no workers to keep"),
    "an argument may have its value by its place": (
        ("set_workers", 1, {"workers": 4}, [], LOADER), "x = DataLoader(d, 8, True, None, None, 2)\n",
        "!line 1 may set num_workers without its name"),
    "so may those of a list": (
        ("pin_batches", 1, {}, [], LOADER), "x = DataLoader(*a)\n", "!line 1 may set pin_memory without its name"),
    "and a copy's": (
        ("copy_without_waiting", 1, {}, [], None), "x = x.to(device, dtype, True)\n", "!line 1 may set non_blocking without its name"),
    "but a type may stand there": (
        ("copy_without_waiting", 1, {}, [], None), "x = x.to(device, torch.half)\n", "x = x.to(device, torch.half, non_blocking=True)\n"),
    "what is written so already": (
        ("pin_batches", 1, {}, [], LOADER), "x = DataLoader(d, pin_memory=True)\n", "!it is written so already"),
    "**options may say it already": (
        ("set_workers", 1, {"workers": 4}, [], LOADER), "x = DataLoader(data, **options)\n",
        "!line 1 passes **options, which may set num_workers"),
    "a line that has changed since": (
        ("set_workers", 1, {"workers": 4}, [], LOADER), "import torch\nx = DataLoader(data)\n",
        "!line 1 has no call of DataLoader"),
    "two loaders in a line": (
        ("set_workers", 1, {"workers": 4}, [], LOADER), "x = DataLoader(a), DataLoader(b)\n",
        "!line 1 has 2 calls of DataLoader"),
    "no workers, where a setting needs them": (
        ("set_workers", 1, {"workers": 0}, [], "DataLoader(num_workers=2)"), "x = DataLoader(a, num_workers=2, prefetch_factor=4)\n",
        "!line 1 says prefetch_factor, which need workers"),
    "workers that import the program": (
        ("set_workers", 1, {"workers": 2, "start_method": "spawn"}, [], LOADER), "x = DataLoader(a)\n",
        "!workers import the program again, and it has no `if __name__ == '__main__':`"),
    "pinned batches are copied without waiting, other copies stay": (
        ("pin_batches", 1, {}, ["waited"], LOADER),
        "x = DataLoader(d)\nfor i, (a, b) in enumerate(x):\n    a = a.to('cuda'); b = b.cuda()\n    c.cuda()\n",
        "x = DataLoader(d, pin_memory=True)\nfor i, (a, b) in enumerate(x):\n"
        "    a = a.to('cuda', non_blocking=True); b = b.cuda(non_blocking=True)\n    c.cuda()\n"),
    "the optimizer, in place of what it does now": (
        ("fuse_optimizer", NO_PLACE, {"optimizer": "AdamW"}, [], None),
        "o = torch.optim.AdamW(p, foreach=False, lr=1e-3)\n", "o = torch.optim.AdamW(p, lr=1e-3, fused=True)\n"),
    "one of two optimizers is not chosen": (
        ("fuse_optimizer", NO_PLACE, {"optimizer": "SGD"}, [], None), "a = SGD(p)\nb = SGD(q)\n",
        "!2 calls of SGD in train.py"),
    "gradients are not filled with zeros": (
        ("overwrite_gradients", NO_PLACE, {}, [], None), "o.zero_grad(set_to_none=False)\nm.zero_grad(False)\n",
        "o.zero_grad()\nm.zero_grad(False)\n"),
    "the model is compiled in place": (
        ("launch_as_graph", NO_PLACE, {}, [], None),
        "import re\nre.compile('x')\nif 1:\n\tm = N()\n\to = SGD(m.net.parameters(),\n\t        lr=1)\n\tgo()\n",
        "import re\nre.compile('x')\nif 1:\n\tm = N()\n\to = SGD(m.net.parameters(),\n\t        lr=1)\n"
        "\tm.net.compile(mode=\"reduce-overhead\")\n\tgo()\n"),
    "a graph needs gradients that are set to None": (
        ("launch_as_graph", NO_PLACE, {}, [], None),
        "m = N()\no = SGD(m.parameters())\nfor x in d:\n    o.zero_grad(set_to_none=False); m.zero_grad(False)\n    m(x).backward()\n",
        "m = N()\no = SGD(m.parameters())\nm.compile(mode=\"reduce-overhead\")\nfor x in d:\n    o.zero_grad(); m.zero_grad(True)\n"
        "    m(x).backward()\n"),
    "and no sums of them": (
        ("launch_as_graph", NO_PLACE, {}, [], None),
        "m = N()\no = SGD(m.parameters())\nfor i, x in d:\n    m(x).backward()\n    if i % 4 == 3:\n        o.step()\n        o.zero_grad()\n",
        "!line 4 adds to the gradients of the pass before, which a graph cannot"),
    "but not twice": (
        ("launch_as_graph", NO_PLACE, {}, [], None), "m = torch.compile(N())\no = SGD(m.parameters())\n",
        "!train.py calls compile already"),
    "a setting behind the imports": (
        ("measure_algorithms", NO_PLACE, {}, [], None),
        '"""About."""\nimport os\nimport torch\nfrom torch import nn\n\nx = 1\nimport late\n',
        '"""About."""\nimport os\nimport torch\nfrom torch import nn\ntorch.backends.cudnn.benchmark = True\n\nx = 1\nimport late\n'),
    "or where it is set now": (
        ("measure_algorithms", NO_PLACE, {}, [], None), "import torch\ntorch.backends.cudnn.benchmark = False\n",
        "import torch\ntorch.backends.cudnn.benchmark = True\n"),
    "no search where sizes vary": (
        ("fix_shapes", 2, {}, ["benchmark_on"], "benchmark: True"), "import torch\ntorch.backends.cudnn.benchmark = True  # fast\n",
        "import torch\ntorch.backends.cudnn.benchmark = False  # fast\n"),
    "sizes that vary without a search": (
        ("fix_shapes", NO_PLACE, {}, [], None), "import torch\n", "!which sizes a program can keep is the author's to decide"),
    "no torch under that name": (
        ("measure_algorithms", NO_PLACE, {}, [], None), "from torch import nn\n", "!train.py does not import torch by that name"),
    "TF32 where it saves most": (
        ("mix_precision", NO_PLACE, {"dtype": "bf16"}, ["tf32_first"], None), "import torch\n",
        'import torch\ntorch.set_float32_matmul_precision("high")\n'),
    "16 bits are the author's": (
        ("mix_precision", NO_PLACE, {"dtype": "bf16"}, [], None), "import torch\n",
        "!where 16 bits are enough is the author's to decide"),
    "anomaly mode off": (
        ("stop_anomaly_detection", 1, {}, [], None), "with torch.autograd.detect_anomaly(check_nan=True):\n    go()\n",
        "with torch.autograd.set_detect_anomaly(False):\n    go()\n"),
    "weights in another format": (
        ("use_channels_last", NO_PLACE, {}, [], None), "m = N().cuda()\no = SGD(m.parameters())\n",
        "m = N().cuda()\no = SGD(m.parameters())\nm.to(memory_format=torch.channels_last)\n"),
    "which some have already": (
        ("use_channels_last", NO_PLACE, {}, [], None), "m = N().cuda()\nx = x.to(memory_format=torch.channels_last)\n",
        "!line 2 asks for it; see that the model and what it gets have this format"),
    "weights of which there is a copy": (
        ("use_channels_last", NO_PLACE, {}, [], None), "m = N()\no = SGD(m.parameters())\nema = copy.deepcopy(m)\n",
        "!line 3 copies a model, and the copy needs this format as well"),
    "activations are kept": (
        ("keep_activations", NO_PLACE, {}, [], None),
        "from torch.utils.checkpoint import checkpoint as again\nimport torch\nx = again(b, x, use_reentrant=False, mask=m)\n"
        "y = torch.utils.checkpoint.checkpoint(lambda x: f(x),\n  x)\nself.checkpoint(x)\n",
        "from torch.utils.checkpoint import checkpoint as again\nimport torch\nx = b(x, mask=m)\ny = (lambda x: f(x))(x)\nself.checkpoint(x)\n"),
    "but a file is not": (
        ("keep_activations", NO_PLACE, {}, [], None), "from torch.utils import data\ncheckpoint(b, x)\n",
        "!no call of torch.utils.checkpoint.checkpoint"),
    "no wait": (
        ("remove_synchronize", 2, {}, [], None), "for x in d:\n    torch.cuda.synchronize()\n    go(x)\n", "for x in d:\n    go(x)\n"),
    "a wait for a time": (
        ("remove_synchronize", 3, {}, [], None), "for x in d:\n    go(x)\n    torch.cuda.synchronize()\n    t += time.time() - a\n",
        "!line 3 waits for a time that the program measures"),
    "a wait for one event": (
        ("remove_synchronize", 1, {}, [], None), "event.synchronize()\n", "!line 1 waits for one stream or event"),
    "no collection of garbage": (
        ("collect_garbage_rarely", 2, {}, [], None), "for x in d:\n    gc.collect()\n    go(x)\n", "for x in d:\n    go(x)\n"),
    "64 bits": (
        ("use_single_precision", 1, {}, [], None), "m = N().double()\n", "m = N().float()\n"),
    "64 bits elsewhere, too": (
        ("use_single_precision", 1, {}, [], None), "m = N().double()\nx = y.double()\n",
        "!the types of both must be the same, and 64 bits are asked for on line 2 as well"),
    "64 bits of what NumPy makes": (
        ("use_single_precision", 3, {}, [], None),
        "x = torch.from_numpy(np.random.randn(3)).cuda()\ny = torch.from_numpy(labels).long()\nm = N().double().cuda()\n",
        "x = torch.from_numpy(np.random.randn(3)).float().cuda()\ny = torch.from_numpy(labels).long()\nm = N().float().cuda()\n"),
    "but not of what comes from elsewhere": (
        ("use_single_precision", 2, {}, [], None), "x = torch.from_numpy(read()).cuda()\nm = N().double()\n",
        "!what line 1 takes from NumPy may have 64 bits, too"),
    "nor of samples": (
        ("use_single_precision", 4, {}, [], None),
        "class D:\n    def __getitem__(self, i):\n        return np.load(i)\nm = N().double()\n",
        "!what line 2 makes by NumPy may have 64 bits, too"),
    "64 bits by a type": (
        ("use_single_precision", 2, {}, [], None), "import torch\ntorch.set_default_dtype(torch.float64)\n",
        "import torch\ntorch.set_default_dtype(torch.float32)\n"),
    "a statement goes": (
        ("allocate_once", 2, {}, [], None), "go()\ntorch.cuda.empty_cache()\nend()\n", "go()\nend()\n"),
    "the only one of its block": (
        ("allocate_once", 2, {}, [], None), "if a:\n    torch.cuda.empty_cache()  # why\n", "if a:\n    pass  # why\n"),
    "DDP's buffers": (
        ("keep_own_buffers", 1, {}, [], None), "m = DDP(m, device_ids=[0])\n", "m = DDP(m, device_ids=[0], broadcast_buffers=False)\n"),
    "a sum stays on the GPU": (
        ("read_rarely", 2, {}, [], None), "while 1:\n    total += loss.item()\n", "while 1:\n    total += loss.detach()\n"),
    "TF32, where the program forbids it": (
        ("mix_precision", NO_PLACE, {}, ["tf32_first"], None), "import torch\ntorch.set_float32_matmul_precision('highest')\n",
        "import torch\ntorch.set_float32_matmul_precision(\"high\")\n"),
    "in the older way": (
        ("mix_precision", NO_PLACE, {}, ["tf32_first"], None), "import torch\ntorch.backends.cuda.matmul.allow_tf32 = False\n",
        "import torch\ntorch.backends.cuda.matmul.allow_tf32 = True\n"),
    "and where it has it": (
        ("mix_precision", NO_PLACE, {}, ["tf32_first"], None), "import torch\ntorch.set_float32_matmul_precision('high')\n",
        "!it is written so already"),
    "a sum of products": (
        ("read_rarely", 1, {}, [], None), "total += len(x) * f(x).item() / 2\n", "total += len(x) * f(x).detach() / 2\n"),
    "gradients that are set to None stay": (
        ("overwrite_gradients", NO_PLACE, {}, [], None), "a.zero_grad(set_to_none=True)\n", "!no zero_grad(set_to_none=False)"),
    "a number that is used at once": (
        ("read_rarely", 1, {}, [], None), "print(loss.item())\n", "!line 1 uses the number at once: read it every hundredth step"),
    "an advice that has no edit": (
        ("fuse_attention", NO_PLACE, {}, [], None), "import torch\n", "!gpuprof knows no safe edit for it"),
    "a file that does not parse": (
        ("keep_workers", 1, {}, [], LOADER), "x = DataLoader(\n", "!"),
}


def finding(action, line, params, conditions, now):
    return {"rule": "r", "title": "T", "group": "lost", "kind": "predicted", "saves_ms": {"low": 1, "mid": 2, "high": 3},
            "remedy": {"action": action, "object": {"kind": "call", "name": None, "place": line and f"train.py:{line}", "made_by": None},
                       "params": params, "now": now, "conditions": conditions, "pytorch": "in words"}}


def fresh(build):
    return tempfile.mkdtemp(dir=build.folder.name)


def fixed(folder, *findings, script="train.py"):
    """(status, diff, what is said) of those findings about train.py in the folder."""
    out, said = io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape", newline=""), io.StringIO()
    stdin, sys.stdin = sys.stdin, io.StringIO(json.dumps({"command": f"python3 {script}", "findings": findings}))
    with redirect_stdout(out), redirect_stderr(said):
        status = fix.main(folder, "")
    sys.stdin = stdin
    return status, out.buffer.getvalue(), said.getvalue()


def applied(folder, patch):
    with open(os.path.join(folder, "x.patch"), "wb") as f:
        f.write(patch)
    subprocess.run(["git", "apply", "--whitespace=nowarn", "x.patch"], cwd=folder, check=True)
    with open(os.path.join(folder, "train.py"), "rb") as f:
        return f.read().decode()


def one_case(build, checks, what, wanted, text, becomes):
    folder = fresh(build)
    with open(os.path.join(folder, "train.py"), "w", newline="", encoding="utf-8") as f:
        f.write(text)
    status, patch, said = fixed(folder, finding(*wanted))
    if becomes.startswith("!"):
        checks.check((status, patch) == (1, b"") and becomes[1:] in said and "in words" in said, what, f"{patch} {said}")
        return
    after = applied(folder, patch)
    checks.check(status == 0 and after == becomes, what, f"{after!r}\n{said}")


def together(build, checks):
    """Several changes of one call make one diff; what conflicts is left."""
    folder = fresh(build)
    with open(os.path.join(folder, "train.py"), "w", encoding="utf-8") as f:
        f.write("x = DataLoader(d)\nfor b in x:\n    b.cuda()\no = SGD(m.parameters())")  # no line end at the end
    status, patch, said = fixed(folder, finding("set_workers", 1, {"workers": 2}, [], LOADER), finding("pin_batches", 1, {}, [], LOADER),
                                finding("fuse_pointwise", None, {}, [], None))
    after = applied(folder, patch)
    checks.check(status == 0 and after.startswith("x = DataLoader(d, num_workers=2, persistent_workers=True, pin_memory=True)\n"),
                 "changes of one call", after)
    same = fresh(build)
    with open(os.path.join(same, "train.py"), "w", encoding="utf-8") as f:
        f.write("o = SGD(m.parameters())\no.zero_grad(set_to_none=False)\n")
    _, patch, why = fixed(same, finding("overwrite_gradients", None, {}, [], None), finding("launch_as_graph", None, {}, [], None))
    after = applied(same, patch)
    checks.check(after == 'o = SGD(m.parameters())\nm.compile(mode="reduce-overhead")\no.zero_grad()\n', "the same change twice", after + why)
    whole = fixed(folder, finding("fuse_pointwise", 1, {}, [], None), script=os.path.join(folder, "train.py"))
    checks.check("files" not in whole[2], "a program that was recorded by its whole path", whole[2])
    other = fixed(folder, finding("fuse_pointwise", 1, {}, [], None), script="/elsewhere/train.py")
    checks.check("no files /elsewhere/train.py" in other[2], "but not one of another folder", other[2])
    checks.check("line 4 has no end" in said, "a last line without an end is left", said)


def linked(build, checks):
    """In a copy of links, as `try` makes it, files are found behind those that stand where the folder does, and behind no others."""
    here, copy = fresh(build), fresh(build)
    for name in ("sub", "other"):
        os.mkdir(os.path.join(here, name))
        with open(os.path.join(here, name, f"{name}.py"), "w", encoding="utf-8") as f:
            f.write("x = 1\n")
    os.symlink(os.path.join(here, "sub"), os.path.join(copy, "sub"))
    os.symlink(os.path.join(here, "other"), os.path.join(copy, "elsewhere"))
    before = os.getcwd()
    os.chdir(here)
    found = fix.python_files(copy)
    os.chdir(before)
    checks.check(found == {"sub.py": [os.path.join(copy, "sub", "sub.py")]}, "a copy made of links", found)


def hostile(build, checks):
    """What is no file, what nests too deep, and words that a terminal would obey."""
    folder = fresh(build)
    os.mkfifo(os.path.join(folder, "train.py"))
    wanted = finding("keep_workers", 1, {}, [], LOADER)
    status, patch, said = fixed(folder, {**wanted, "title": "T\x1b[2J"})
    checks.check((status, patch) == (1, b"") and "is no file of a program" in said and "\x1b" not in said, "a pipe", repr(said))
    os.remove(os.path.join(folder, "train.py"))
    with open(os.path.join(folder, "train.py"), "w", encoding="utf-8") as f:
        f.write("x = DataLoader(" + "(" * 3000 + ")" * 3000 + ")\n")
    status, patch, said = fixed(folder, wanted)
    checks.check((status, patch) == (1, b"") and "does not parse" in said, "too many brackets", said[:300])


def real(build, checks):
    """The command, on a recording of a card."""
    folder = fresh(build)
    golden = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "real", "resnet50-loader.gpuprof.gz")
    with gzip.open(golden) as f, open(os.path.join(folder, "r.gpuprof"), "wb") as to:
        to.write(f.read())
    os.mkdir(os.path.join(folder, "src"))
    with open(os.path.join(folder, "src", "train.py"), "w", encoding="utf-8") as f:
        f.write("import torch\n" + "\n" * 45 + "loader = torch.utils.data.DataLoader(data, batch_size=32)\n")
    run = ["env", "-C", folder, build.gpuprof, "fix", "--rule", "num-workers"]
    done = build.run([*run, "r.gpuprof"])
    checks.check(done.returncode == 0 and "+loader = torch.utils.data.DataLoader(data, batch_size=32, num_workers=3, persistent_workers=True)"
                 in done.stdout and "--- a/src/train.py" in done.stdout, "a real recording", done.stdout + done.stderr)
    checks.check("changed: Load data in parallel workers (train.py:47), saves " in done.stderr, "what it saves", done.stderr)
    again = build.run([*run, "--source", "src", "-o", "x.patch", "r.gpuprof"])
    with open(os.path.join(folder, "x.patch"), encoding="utf-8") as f:
        checks.check(again.returncode == 0 and again.stdout == "" and "--- a/train.py" in f.read(), "into a file", again.stderr)
    refused = build.run([*run, "-o", "x.patch", "r.gpuprof"])
    checks.check(refused.returncode == 2 and "-f replaces it" in refused.stderr, "a file that exists", refused.stderr)
    os.remove(os.path.join(folder, "src", "train.py"))
    gone = build.run([*run, "r.gpuprof"])
    checks.check(gone.returncode == 1 and gone.stdout == "" and "no files train.py in .; --source names the program's folder" in gone.stderr,
                 "the program is elsewhere", gone.stderr)
    for words, why in ((["none.gpuprof"], "none.gpuprof"), (["--source", "nowhere", "r.gpuprof"], "--source nowhere: No such file"),
                       (["--rule", "nonsense", "r.gpuprof"], "nonsense")):
        bad = build.run(["env", "-C", folder, build.gpuprof, "fix", *words])
        checks.check(bad.returncode == 2 and why in bad.stderr and bad.stdout == "", f"refused: {words}", bad.stderr)


def main():
    build, checks = Build(sys.argv[1]), Checks()
    for what, case in CASES.items():
        one_case(build, checks, what, *case)
    together(build, checks)
    linked(build, checks)
    hostile(build, checks)
    real(build, checks)
    checks.done()


if __name__ == "__main__":
    main()
