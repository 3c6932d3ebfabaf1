"""What the end-to-end tests share: running gpuprof and train_conv of one build, and counting checks.

Standard library only. A test is a script: `NAME.py BUILD`; it prints one line per check and exits 1
when any failed.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

DEVICE = "virtual:a100-80"


class Checks:
    """Counts checks; `done` ends the script with the right status."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, good, what, why=""):
        if good:
            self.passed += 1
            print(f"ok      {what}", flush=True)
        else:
            self.failed += 1
            print(f"FAILED  {what}{': ' + why if why else ''}", flush=True)
        return good

    def done(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed or not self.passed else 0)


class Build:
    """The binaries under test, and a folder of its own for what they write."""

    def __init__(self, path):
        self.bin = os.path.join(os.path.abspath(path), "bin")
        self.gpuprof = os.path.join(self.bin, "gpuprof")
        self.train = os.path.join(self.bin, "train_conv")
        self.folder = tempfile.TemporaryDirectory(prefix="gpuprof-e2e-")
        # nothing of the caller's settings may reach the programs under test
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("GPUPROF", "CUDA_")) and k != "CI"}

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run(self, arguments, stdin="", **variables):
        """Runs to the end, with `variables` in the environment; stdout and stderr as text."""
        return subprocess.run(arguments, capture_output=True, text=True, errors="replace",
                              input=stdin, env={**self.env, **variables}, timeout=240,
                              cwd=self.folder.name)

    def profile(self, name, *arguments, steps=40, device=DEVICE):
        """train_conv under `gpuprof run`; returns the profile's path and the finished process."""
        out = self.path(name + ".gpuprof")
        done = self.run([self.gpuprof, "run", "-f", "--device", device, "-o", out, "--", self.train,
                         "--steps", str(steps), *arguments])
        if done.returncode != 0:
            raise RuntimeError(f"train_conv {' '.join(arguments)} under gpuprof run: status "
                               f"{done.returncode}\n{done.stderr[-2000:]}")
        return out, done

    def analyze(self, profile):
        done = self.run([self.gpuprof, "analyze", "--json", profile])
        if done.returncode != 0:
            raise RuntimeError(f"gpuprof analyze {profile}: status {done.returncode}\n"
                               f"{done.stderr[-2000:]}")
        return json.loads(done.stdout)


# Bottlenecks that a trainer has in all its runs, planted or not. The advice is right, and no setting carries it out.
BY_NATURE = {
    "train_gpt": "fused-attention",  # it has no fused kernel for attention
}


def planted(analysis, trainer):
    """The analysis without findings about what the trainer always does."""
    return {**analysis, "findings": [f for f in analysis["findings"] if f["rule"] != BY_NATURE.get(trainer)]}


def pytorch_ended(done):
    """With status 0, or as Python 3.11 ends PyTorch's backward thread where that asks for Python's lock while the process
    ends: by an abort behind the program's last line, on a busy machine, with gpuprof and without (vgpu/docs/pytorch.md)."""
    aborted = done.returncode in (-6, 134) and "terminate called without an active exception" in done.stderr
    if aborted:
        print("        PyTorch's backward thread was ended with the process: no matter of the test")
    return done.returncode == 0 or aborted


def lacks_cores(analysis):
    """Other work had the cores, and the analysis says so first: then it may keep silent about what the host does."""
    first = analysis["findings"][0]["summary"] if analysis["findings"] else ""
    return analysis["verdict_class"] == "contention" or "another program has the cores" in first


def printed_median_ms(stdout):
    """The last line that train_conv prints."""
    last = stdout.rstrip().splitlines()[-1]
    if not last.startswith("median_step_ms="):
        raise RuntimeError(f"train_conv ended with '{last}'")
    return float(last.split("=")[1])


def printed_pace_ms(stdout):
    """What the trainer says that its loop takes per step, also where workers deliver in bursts."""
    pace = re.search(r"^pace_step_ms=([0-9.]+)$", stdout, re.M)
    return float(pace.group(1)) if pace else printed_median_ms(stdout)
