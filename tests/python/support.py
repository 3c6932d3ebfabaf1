"""What the tests of the Python hook share. Standard library only; the programs under test run by
/usr/bin/python3, whose PyTorch is the distribution's, or by $GPUPROF_TEST_PYTHON. `NAME.py BUILD`; 77: nothing to test with."""
import difflib
import os
import sqlite3
import subprocess
import sys
import tempfile

PYTHON = os.environ.get("GPUPROF_TEST_PYTHON", "/usr/bin/python3")


def have_torch():
    return os.path.exists(PYTHON) and subprocess.run(
        [PYTHON, "-c", "import torch, torch.utils.data"], capture_output=True).returncode == 0


def pythons():
    """(path, version, PyTorch's version) of each interpreter that has PyTorch: the distribution's, and those
    of $GPUPROF_TEST_PYTHONS, separated by colons. Says which it leaves out."""
    found = []
    for path in [PYTHON, *filter(None, os.environ.get("GPUPROF_TEST_PYTHONS", "").split(":"))]:
        ask = "import sys, torch; print(sys.version.split()[0], torch.__version__)"
        done = subprocess.run([path, "-c", ask], capture_output=True, text=True) if os.path.exists(path) else None
        if done and done.returncode == 0:
            found.append((path, *done.stdout.split()))
        else:
            print(f"        {path} has no PyTorch: left out")
    return found


def without_loader(trace):
    """A traceback without what stands below the lines of dataloader.py, and their numbers."""
    lines, inside = [], False
    for line in trace.splitlines():
        inside = 'dataloader.py", line ' in line or (inside and line.startswith("    "))
        if not inside:
            lines.append(line)
    return "\n".join(lines)


class Test:
    def __init__(self, build):
        self.gpuprof = os.path.join(os.path.abspath(build), "bin", "gpuprof")
        self.folder = tempfile.TemporaryDirectory(prefix="gpuprof-python-")
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("GPUPROF", "CUDA_", "PYTHON", "LD_PRELOAD"))}
        self.passed = self.failed = 0

    def check(self, good, what, why=""):
        self.passed += bool(good)
        self.failed += not good
        print(f"{'ok     ' if good else 'FAILED '} {what}{'' if good else ': ' + str(why)}",
              flush=True)
        return good

    def done(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed or not self.passed else 0)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def run(self, command, timeout=400, **variables):
        return subprocess.run(command, capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, timeout=timeout, cwd=self.folder.name,
                              env={**self.env, **variables})

    def traced(self, command, **variables):
        """Under `gpuprof run -q`: the finished process, and the profile's path."""
        profile = self.path("traced.gpuprof")
        done = self.run([self.gpuprof, "run", "-q", "-f", "-o", profile, "--", *command],
                        **variables)
        done.stderr = "".join(line for line in done.stderr.splitlines(True)
                              if not line.startswith("gpuprof: "))
        return done, profile

    def same(self, what, command, races=False, **variables):
        """The program's output and status are those without gpuprof; its profile's path. races:
        by which of its lines the DataLoader raises differs from run to run without gpuprof, too."""
        self.plain = plain = self.run(command, **variables)
        traced, profile = self.traced(command, **variables)
        self.last = traced
        if races:
            plain.stderr, traced.stderr = (without_loader(done.stderr) for done in (plain, traced))
        self.check(traced.returncode == plain.returncode, f"{what}: status",
                   f"{traced.returncode} instead of {plain.returncode}: {traced.stderr[-500:]}")
        for name in ("stdout", "stderr"):
            is_now, was = getattr(traced, name), getattr(plain, name)
            other = [line for line in difflib.unified_diff(was.splitlines(), is_now.splitlines(), "without", "with", n=0)]
            self.check(is_now == was, f"{what}: {name}", "\n".join(other)[:3000])
        return profile


def query(profile, sql):
    db = sqlite3.connect(profile)
    rows = db.execute(sql).fetchall()
    db.close()
    return rows


def facts(profile):
    """Of the last process that says so."""
    return dict(query(profile, "SELECT k.text, v.text FROM meta m JOIN string k ON k.id = m.key "
                               "JOIN string v ON v.id = m.value ORDER BY m.id"))


def health(profile):
    return query(profile, "SELECT c.text, t.text FROM health h JOIN string c ON c.id = h.code "
                          "JOIN string t ON t.id = h.text WHERE c.text <> 'sampler-cpu'")  # a cost, no trouble
