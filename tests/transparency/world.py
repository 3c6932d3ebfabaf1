"""Runs a command twice in the same folders, without and with gpuprof, and keeps all that can be seen of it.

A world is three fresh folders (home, tmp, work) at one path. What a run has left there is moved aside when it has
ended, so that the second run finds the same path as new. The profile lies outside of the world.
"""
import dataclasses
import hashlib
import os
import shutil
import signal
import stat
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
LIMIT_S = 300  # a run that takes longer is ended, and counts as hanging
MTIME = 1577836800  # of every copied program: compiled files hold it


@dataclasses.dataclass
class Outcome:
    """What one run showed: the status as subprocess has it (-15: died by SIGTERM), bytes, files."""
    status: int
    stdout: bytes
    stderr: bytes
    files: dict  # path: (mode, kind, hash or target)
    left: list  # commands of processes that are still there
    seconds: float


def fresh(root):
    shutil.rmtree(root, ignore_errors=True)
    for name in ("home", "tmp", "work"):
        os.makedirs(os.path.join(root, name))
    work = os.path.join(root, "work")
    for name in sorted(os.listdir(PROGRAMS)):
        target = os.path.join(work, name)
        shutil.copy(os.path.join(PROGRAMS, name), target)
        os.utime(target, (MTIME, MTIME))
    return work


def tree(root):
    """Every path below root: its mode, its kind and what it holds."""
    found = {}
    for folder, folders, names in os.walk(root):
        for name in folders + names:
            path = os.path.join(folder, name)
            info = os.lstat(path)
            kind, holds = stat.S_IFMT(info.st_mode), ""
            if stat.S_ISLNK(info.st_mode):
                holds = os.readlink(path)
            elif stat.S_ISREG(info.st_mode):
                with open(path, "rb") as file:
                    holds = hashlib.sha256(file.read()).hexdigest()
            found[os.path.relpath(path, root)] = (oct(stat.S_IMODE(info.st_mode)), oct(kind), holds)
    return found


def living(root):
    """Commands of processes whose home is this world: children that outlived the run."""
    mark, found = ("HOME=" + os.path.join(root, "home")).encode(), []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark not in file.read().split(b"\0"):
                    continue
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                found.append((int(pid), file.read().replace(b"\0", b" ").decode(errors="replace")))
        except OSError:
            continue
    return [(pid, what) for pid, what in found if what]  # a zombie has no command


def outlived(root):
    """What still lives a moment after the end; it is ended."""
    until = time.monotonic() + 3
    while living(root) and time.monotonic() < until:
        time.sleep(0.05)
    left = living(root)
    for pid, _ in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    return sorted(what for _, what in left)


def appears(path, process, until):
    while not os.path.exists(path):
        if process.poll() is not None or time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def send(process, work, steps, until):
    """The signals of a situation: ("process" or "group", name, file that the program makes when it may be sent)."""
    for to, name, ready in steps:
        if not appears(os.path.join(work, ready), process, until):
            return
        number = getattr(signal, "SIG" + name)
        try:
            (os.killpg if to == "group" else os.kill)(process.pid, number)
        except ProcessLookupError:
            return


def run(root, command, environment, steps=(), stdin=b"one\ntwo\n"):
    work = fresh(root)
    base = os.path.dirname(root)
    out, err, given = (os.path.join(base, name) for name in ("stdout", "stderr", "stdin"))
    with open(given, "wb") as file:
        file.write(stdin)
    began = time.monotonic()
    with open(given, "rb") as i, open(out, "wb") as o, open(err, "wb") as e:
        process = subprocess.Popen(command, stdin=i, stdout=o, stderr=e, cwd=work, env=environment,
                                   start_new_session=True)
        try:
            send(process, work, steps, began + LIMIT_S)
            status = process.wait(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = None
    seconds = time.monotonic() - began
    left = outlived(root)
    with open(out, "rb") as o, open(err, "rb") as e:
        return Outcome(status, o.read(), e.read(), tree(root), left, seconds)


def environment(root, variables):
    """The same for both runs, and nothing of the caller's but the way to programs."""
    path = os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin")
    fixed = {"PATH": path, "HOME": os.path.join(root, "home"), "TMPDIR": os.path.join(root, "tmp"),
             "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TZ": "UTC",
             "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "TOKENIZERS_PARALLELISM": "false",
             "PYTHONHASHSEED": "0", "COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    fixed.update(variables)
    return {k: v for k, v in fixed.items() if v is not None}
