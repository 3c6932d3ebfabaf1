"""What the cases of check.py share: running programs with and without gpuprof, asking profiles, and the rows of the result.

Standard library only: the machine with the card may have nothing else.
"""
import glob
import importlib.util
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time


# Where steps that are not recorded serve as the measure: CUPTI is off there, also a version that gpuprof would leave on (case_pauses.py)
PAUSES = {"GPUPROF_CUPTI_PAUSES": "1"}


class Skip(Exception):
    """The case cannot run here; the text says why."""


class Failed(Exception):
    """A program that the case needs failed; the text says how."""


class Done:
    """A finished program."""

    def __init__(self, status, stdout, stderr, wall_s):
        self.status, self.stdout, self.stderr, self.wall_s = status, stdout, stderr, wall_s

    def number(self, name):
        """NAME=VALUE as the trainers print it."""
        found = re.findall(rf"{name}=([-+0-9.eE]+)", self.stdout)
        if not found:
            raise Failed(f"no {name}= in the output: {self.stdout[-300:]!r} {self.stderr[-300:]!r}")
        return float(found[-1])


def library_folders():
    """Where CUDA's libraries may lie when the linker does not know them: toolkits, and NVIDIA's wheels of this Python."""
    folders = []
    for root in [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda", *sorted(glob.glob("/usr/local/cuda-*"), reverse=True)]:
        folders += [os.path.join(root, p) for p in ("lib64", "targets/x86_64-linux/lib", "extras/CUPTI/lib64") if root]
    spec = importlib.util.find_spec("nvidia")
    for place in list(spec.submodule_search_locations or []) if spec else []:
        folders += sorted(glob.glob(os.path.join(place, "*", "lib")))
    return [f for f in folders if os.path.isdir(f)]


class Box:
    """One case's machine: the build, the device, a folder for artefacts, and the rows it has measured."""

    def __init__(self, build, out, device):
        self.bin = os.path.join(os.path.abspath(build), "bin")
        self.gpuprof = os.path.join(self.bin, "gpuprof")
        self.source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        self.out, self.device, self.rows, self.note = os.path.abspath(out), device, [], None
        self.virtual, self.parts = device.startswith("virtual"), []
        self.writing = threading.Lock() # some cases measure in several threads
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("GPUPROF")}

    def chosen(self, names):
        """Those of a case's parts that were asked for; all where none was."""
        return [n for n in names if not self.parts or any(n.startswith(p) for p in self.parts)]

    def program(self, name):
        path = os.path.join(self.bin, name)
        if not os.access(path, os.X_OK):
            raise Skip(f"{name} is not in the build")
        return path

    def path(self, name):
        return os.path.join(self.out, name)

    def libraries(self):
        """The environment in which our own programs find CUDA's libraries."""
        known = self.env.get("LD_LIBRARY_PATH", "")
        return {"LD_LIBRARY_PATH": ":".join(filter(None, [known, *library_folders()]))} if not self.virtual else {}

    def start(self, arguments, **variables):
        """The running program, in a process group of its own; end() ends it."""
        own = self.libraries() if arguments[0].startswith(self.bin) else {}
        return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                env={**self.env, **own, **variables}, cwd=self.out, start_new_session=True)

    @staticmethod
    def end(p):
        os.killpg(p.pid, signal.SIGKILL)
        p.communicate()

    def run(self, arguments, limit_s=120, good=(0,), **variables):
        """Runs to its end or for `limit_s`; raises Failed on a status that is not `good` (None: any will do)."""
        start = time.monotonic()
        p = self.start(arguments, **variables)
        try:
            stdout, stderr = p.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            self.end(p)
            raise Failed(f"{os.path.basename(arguments[0])} {' '.join(arguments[1:])[:200]} ran longer than {limit_s} s") from None
        if good is not None and p.returncode not in good:
            raise Failed(f"{' '.join(arguments)[-300:]}: status {p.returncode}\n{stderr[-1500:]}")
        return Done(p.returncode, stdout, stderr, time.monotonic() - start)

    def plain(self, program, limit_s=120, good=(0,), **variables):
        """The program without recording, on the case's device."""
        return self.run([self.gpuprof, "run", "--no-record", "--device", self.device, "--", *program], limit_s, good, **variables)

    def profile(self, name, program, limit_s=120, good=(0,), options=(), **variables):
        """The program under `gpuprof run`; the profile's path and the finished program."""
        path = self.path(name + ".gpuprof")
        done = self.run([self.gpuprof, "run", "-q", "-f", "--device", self.device, "-o", path, *(options or ["--full"]), "--", *program],
                        limit_s, good, **variables)
        if not os.path.exists(path):
            raise Failed(f"no profile {name}.gpuprof: {done.stderr[-500:]}")
        return path, done

    def analyze(self, profile, *options):
        return json.loads(self.run([self.gpuprof, "analyze", "--json", *options, profile]).stdout)

    def ask(self, profile, query):
        with sqlite3.connect(f"file:{profile}?mode=ro", uri=True) as db:
            return db.execute(query).fetchall()

    def one(self, profile, query):
        rows = self.ask(profile, query)
        return rows[0][0] if rows else None

    def row(self, what, value, unit="", aim="", good=None):
        """One line of the result. `good`: whether the aim is met; None where there is no aim."""
        with self.writing:
            self.rows.append({"what": what, "value": value, "unit": unit, "aim": aim, "good": good})
            self.save({})

    def save(self, outcome):
        """Into the note that the parent reads: the rows up to now stay if the case is stopped."""
        if self.note:
            with open(self.note + ".new", "w", encoding="utf-8") as f:
                json.dump({**outcome, "rows": self.rows}, f)
            os.replace(self.note + ".new", self.note)

    def figures(self, done, prefix=""):
        """NAME<TAB>VALUE<TAB>UNIT lines of a measuring program, as rows and as a dictionary."""
        found = {}
        for line in done.stdout.splitlines():
            parts = line.split("\t")
            if len(parts) == 3:
                name, value, unit = parts
                found[name] = None if value == "none" else float(value)
                self.row(prefix + name, found[name], unit)
        return found

    def keep(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)

    def python(self):
        """A Python that has PyTorch and sees a GPU with it."""
        for python in (os.environ.get("PYTHON", ""), sys.executable, "python3"):
            if not python:
                continue
            try:
                done = self.plain([python, "-c", "import torch; print(torch.__version__, torch.cuda.is_available())"], 60, None)
            except (OSError, Failed):
                continue
            if done.status == 0 and done.stdout.strip().endswith("True"):
                return python, done.stdout.split()[0]
        raise Skip("no Python whose PyTorch sees a GPU (name it in PYTHON=)")
