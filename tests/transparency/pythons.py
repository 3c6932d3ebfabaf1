"""Finds interpreters, and what each can import.

Given by `--python NAME=PATH` or GPUPROF_PYTHONS="NAME=PATH NAME=PATH"; besides them, `system` is /usr/bin/python3, and the plain ones
are the python3.8 to python3.14 on the path or of pyenv.
"""
import dataclasses
import glob
import os
import re
import shutil
import subprocess

MODULES = ("torch", "torchvision", "timm", "accelerate", "lightning", "transformers", "coverage", "numpy")
PROBE = f"""
import importlib.metadata as m, importlib.util as u, sys
print("python=%d.%d" % sys.version_info[:2])
for name in {MODULES!r}:
    if u.find_spec(name) is not None:
        try:
            print(name + "=" + m.version(name))
        except m.PackageNotFoundError:
            print(name + "=1")
"""


@dataclasses.dataclass(frozen=True)
class Interpreter:
    name: str
    path: str
    modules: tuple  # (name, version), "python" among them

    def version(self, module):
        text = dict(self.modules).get(module)
        return None if text is None else tuple(int(n) for n in re.findall(r"\d+", text)[:2])

    def has(self, need):
        """A module, or module>=major."""
        name, _, least = need.partition(">=")
        found = self.version(name)
        return found is not None and (not least or found[0] >= int(least))


def probe(name, path):
    done = subprocess.run([path, "-c", PROBE], capture_output=True, text=True, timeout=120)
    rows = tuple(tuple(line.split("=", 1)) for line in done.stdout.splitlines())
    return Interpreter(name, path, rows) if done.returncode == 0 else None


def plain_paths():
    for minor in range(8, 15):
        path = shutil.which(f"python3.{minor}")
        installed = sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/3.{minor}.*/bin/python3.{minor}")))
        if installed:
            yield f"3.{minor}", installed[-1]
        elif path and "/shims/" not in path:
            yield f"3.{minor}", path


def find(given):
    """All interpreters by name, those with PyTorch first, and a line for each that was given and cannot be used."""
    asked = [word.partition("=")[::2] for word in [*os.environ.get("GPUPROF_PYTHONS", "").split(), *given]]
    if os.path.exists("/usr/bin/python3"):
        asked.append(("system", "/usr/bin/python3"))
    found, unusable = {}, []
    for name, path in [*asked, *plain_paths()]:
        interpreter = probe(name, os.path.abspath(path)) if os.access(path, os.X_OK) else None
        if interpreter:
            found.setdefault(name, interpreter)
        else:
            unusable.append(f"{name}: {path} is no Python that runs")
    return sorted(found.values(), key=lambda i: not i.has("torch")), unusable
