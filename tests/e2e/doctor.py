#!/usr/bin/env python3
"""doctor: every check has a state and a cure where one is needed, what it says follows what is there, and it changes nothing."""
import json
import os
import sys

from support import Build, Checks


def look(build, checks, what, **variables):
    done = build.run([build.gpuprof, "doctor", "--json"], **variables)
    said = json.loads(done.stdout)
    checks.check(done.returncode == 0 and not done.stderr, f"{what}: quiet, status 0", done.stderr)
    bad = [c for c in said["checks"] if c["state"] not in ("ok", "note", "missing") or not c["found"]
           or (c["state"] != "ok" and not c["cure"]) or (c["state"] == "ok" and c["cure"])]
    checks.check(not bad, f"{what}: a cure exactly where something is wrong", str(bad))
    return said["checks"]


def found(lines, name, state=None):
    return [c["found"] for c in lines if c["check"] == name and state in (None, c["state"])]


def torch(build, checks):
    """PyTorch is read, not run: a version that would fail to import is as good as any."""
    for name, text, state, words in (
            ("cuda", "__version__ = '2.9.1+cu130'\ndebug = False\ncuda: Optional[str] = '13.0'\n", "ok", "2.9.1+cu130 for CUDA 13.0"),
            ("cpu", "raise SystemExit(1)\n__version__ = '1.13.0'\ncuda = None\n", "note", "1.13.0 without CUDA")):
        folder = build.path(f"venv-{name}/lib/python3.12/site-packages/torch")
        os.makedirs(folder)
        with open(os.path.join(folder, "version.py"), "w") as f:
            f.write(text)
        lines = look(build, checks, f"PyTorch, {name}", VIRTUAL_ENV=build.path(f"venv-{name}"))
        checks.check(len(found(lines, "pytorch", state)) == 1 and words in found(lines, "pytorch")[0],
                     f"PyTorch, {name}: what is said", str(found(lines, "pytorch")))


def others(build, checks):
    tool = build.path("tool.so")
    with open(tool, "w"):
        pass
    lines = look(build, checks, "another tool", CUDA_INJECTION64_PATH=tool, NVTX_INJECTION64_PATH="/no/such/tool.so",
                 CUDA_LAUNCH_BLOCKING="1")
    said = found(lines, "injection", "note")
    checks.check(len(said) == 2 and tool in said[0] and "does not exist" in said[1], "another tool: what is said", str(said))
    checks.check(len(found(lines, "environment", "note")) == 1, "another tool: settings in the way")


def virtual(build, checks):
    """With the virtual GPU's libraries in the loader's path NVML answers; no driver means no GPU all the same."""
    library = os.path.join(os.path.dirname(build.bin), "lib", "vgpu")
    lines = look(build, checks, "virtual GPU's libraries", LD_LIBRARY_PATH=library, GPUPROF_VGPU="h200")
    checks.check(found(lines, "nvml", "ok") and any("clocks" in f for f in found(lines, "recorded")),
                 "virtual GPU's libraries: NVML", str(found(lines, "nvml")))


def main():
    build, checks = Build(sys.argv[1]), Checks()
    before = set(os.listdir(build.folder.name))
    lines = look(build, checks, "here")
    names = {c["check"] for c in lines}
    checks.check({"cupti", "nvml", "agent", "python-hook", "virtual-gpu", "pytorch", "memory", "shared-memory", "cores",
                  "disk", "spool", "recorded"} <= names and names & {"driver", "gpu"}, "here: what is looked at", str(names))
    checks.check(any("NVTX" in f for f in found(lines, "recorded")), "here: what a run records", str(found(lines, "recorded")))
    if not found(lines, "gpu", "ok"):
        checks.check(any("kernels" in f for f in found(lines, "not-recorded")), "here: what it does not",
                     str(found(lines, "not-recorded")))
    text = build.run([build.gpuprof, "doctor"], COLUMNS="100").stdout
    flat = " ".join(text.split())
    checks.check(all(" ".join(c["found"].split()) in flat for c in lines if c["check"] not in ("disk", "spool", "memory")),
                 "the text says the same", text)
    torch(build, checks)
    others(build, checks)
    virtual(build, checks)
    left = set(os.listdir(build.folder.name)) - before - {"venv-cuda", "venv-cpu", "tool.so"}
    checks.check(not left, "nothing is left behind", str(left))
    checks.done()


if __name__ == "__main__":
    main()
