#!/usr/bin/env python3
"""everyday.py BUILD: the loop of every day without a file name or an option to think about: `run` again, `analyze` and its like
without a file, a file where a command belongs, and who may read what is written."""
import json
import os
import pty
import re
import shutil
import stat
import subprocess
import sys
import time

from support import Build, Checks


def gpuprof(build, folder, *words):
    return build.run(["env", "-C", folder, build.gpuprof, *words])


def record(build, folder, *options):
    return gpuprof(build, folder, "run", *options, "--device", "virtual:a100-80", "--", build.train, "--steps", "6")


def again(build, checks, folder):
    """The second run gets a number, and says so; a name that the user gave is still refused."""
    first, second = record(build, folder), record(build, folder)
    checks.check(first.returncode == 0 and second.returncode == 0, "two plain runs", f"{first.stderr}{second.stderr}")
    checks.check(sorted(os.listdir(folder)) == ["train_conv.2.gpuprof", "train_conv.gpuprof"], "the second has a number", str(os.listdir(folder)))
    checks.check("train_conv.2.gpuprof" in second.stderr, "and its name is said", second.stderr)
    named = record(build, folder, "-o", "train_conv.gpuprof")
    checks.check(named.returncode == 125 and "-f replaces it" in named.stderr, "a name that was given is refused", named.stderr)


def newest(build, checks, folder):
    """Without a file: the newest one here, and that is said on stderr."""
    os.utime(os.path.join(folder, "train_conv.gpuprof"), (2e9, 2e9))
    done = gpuprof(build, folder, "analyze", "--json")
    checks.check(done.returncode == 0 and "the newest profile here: train_conv.gpuprof" in done.stderr and done.stdout[:1] == "{",
                 "analyze takes the newest", done.stderr)
    for rank in range(2):
        shutil.copy(os.path.join(folder, "train_conv.gpuprof"), os.path.join(folder, f"job.r{rank}.gpuprof"))
        os.utime(os.path.join(folder, f"job.r{rank}.gpuprof"), (2.1e9, 2.1e9))
    done = gpuprof(build, folder, "export", "-o", "-")
    checks.check("job.r0.gpuprof to job.r1.gpuprof (2 ranks)" in done.stderr, "with all its ranks", done.stderr)
    for rank in range(2):
        os.remove(os.path.join(folder, f"job.r{rank}.gpuprof"))
    empty = build.path("empty")
    os.makedirs(empty)
    for command in ("analyze", "report", "export", "view"):
        done = gpuprof(build, empty, command, *(["-o", "-"] if command == "export" else []))
        checks.check(done.returncode == 2 and done.stderr.count("\n") == 1 and "no profile is in this folder" in done.stderr,
                     f"{command} where there is none", done.stderr)


def in_place_of_a_command(build, checks, folder):
    for name, words in (("train_conv.gpuprof", "gpuprof analyze train_conv.gpuprof"), ("train.py", "gpuprof run python train.py")):
        if not os.path.exists(os.path.join(folder, name)):
            open(os.path.join(folder, name), "w", encoding="utf-8").close()
        done = gpuprof(build, folder, name)
        checks.check(done.returncode == 2 and words in done.stderr, f"gpuprof {name}", done.stderr)


def modes(build, checks, folder):
    """As the umask says; --private keeps a file for its owner."""
    def mode(name):
        return oct(stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode))
    old = os.umask(0o022)
    try:
        record(build, folder, "-o", "open.gpuprof")
        record(build, folder, "--private", "-o", "private.gpuprof", "--metrics", "private.prom")
        gpuprof(build, folder, "report", "open.gpuprof")
        gpuprof(build, folder, "report", "--private", "-o", "private.html", "open.gpuprof")
        os.umask(0o027)
        record(build, folder, "-o", "group.gpuprof")
    finally:
        os.umask(old)
    for name, wanted in (("open.gpuprof", 0o644), ("open.html", 0o644), ("private.gpuprof", 0o600), ("private.html", 0o600), ("private.prom", 0o600), ("group.gpuprof", 0o640)):
        checks.check(mode(name) == oct(wanted), f"{name} has the mode {oct(wanted)}", mode(name))


def compared(build, checks, folder):
    """diff and gate: one sentence that says which, how much and why; no milliseconds twice; GitHub's line; "failed" of a program
    that did."""
    slow = gpuprof(build, folder, "run", "-f", "-o", "slow.gpuprof", "--device", "virtual:a100-80", "--", build.train, "--steps", "20",
                   "--defect", "workers0")
    fast = gpuprof(build, folder, "run", "-f", "-o", "fast.gpuprof", "--device", "virtual:a100-80", "--", build.train, "--steps", "20")
    checks.check(slow.returncode == 0 and fast.returncode == 0, "a slow run and a fast one", slow.stderr + fast.stderr)
    said = " ".join(gpuprof(build, folder, "diff", "fast.gpuprof", "slow.gpuprof").stdout.split())
    checks.check(re.search(r"NEW takes .* per step.*more than BASE; most of it: GPU idle: waiting for input data, \+", said), "diff: one sentence", said)
    checks.check("finding " not in said and "only NEW has num-workers" in said, "diff: advice without milliseconds", said)
    done = build.run(["env", "-C", folder, "GITHUB_ACTIONS=true", build.gpuprof, "gate", "fast.gpuprof", "slow.gpuprof"])
    checks.check(done.returncode == 1 and "::error title=gpuprof gate%3A slower::NEW takes" in done.stderr and "::" not in done.stdout,
                 "gate: GitHub's line", done.stderr)
    checks.check(" to " not in re.sub(r"interval \S+( %)? to", "", done.stdout.split("kind")[0]), "gate: a change is no interval", done.stdout)
    gpuprof(build, folder, "run", "-f", "-o", "failed.gpuprof", "--device", "virtual:a100-80", "--", "sh", "-c", f"{build.train} --steps 20; exit 3")
    done = gpuprof(build, folder, "gate", "--json", "fast.gpuprof", "failed.gpuprof")
    checks.check(done.returncode == 1 and json.loads(done.stdout)["verdict"] == "failed", "gate: a program that failed", done.stdout[:200])


def tried(build, checks, folder):
    """`try FILE` repeats the recorded command; words that cannot be had back are refused in one line."""
    record(build, folder, "-f", "-o", "words.gpuprof")
    done = gpuprof(build, folder, "try", "--runs", "2", "--apply", "num_workers=1", "words.gpuprof")
    checks.check(f"the recorded program: {build.train} --steps 6" in done.stderr and "virtual" in done.stdout.lower(), "try FILE",
                 done.stderr + done.stdout)
    gpuprof(build, folder, "run", "-f", "-o", "blank.gpuprof", "--device", "virtual:a100-80", "--", "sh", "-c", f"{build.train} --steps 6")
    done = gpuprof(build, folder, "try", "blank.gpuprof")
    checks.check(done.returncode == 2 and done.stderr.count("\n") == 1 and "word by word" in done.stderr, "a word with blanks", done.stderr)


def progress(build, checks, folder):
    """After a second a line on a terminal, which is gone in the end; none elsewhere."""
    with open(os.path.join(folder, "slow.json"), "w", encoding="utf-8") as f:
        f.write('{"traceEvents": [')
        for i in range(400000):
            f.write('%s{"ph":"X","cat":"kernel","name":"k%d","pid":0,"tid":7,"ts":%d,"dur":5,"args":{"stream":7,"device":0}}'
                    % ("," if i else "", i % 40, 10 * i))
        f.write("]}")
    ours, theirs = pty.openpty()
    began = time.monotonic()
    with subprocess.Popen([build.gpuprof, "import", "-f", "-o", "slow2.gpuprof", "slow.json"], cwd=folder, stderr=theirs, stdout=subprocess.DEVNULL,
                          env={**build.env, "TERM": "xterm"}) as run:
        os.close(theirs)
        said = b""
        while True:
            try:
                more = os.read(ours, 4096)
            except OSError:
                break
            if not more:
                break
            said += more
    took = time.monotonic() - began
    checks.check(took < 2.5 or b"importing slow.json, 1 s" in said or b"analysing slow2.gpuprof, 1 s" in said, f"a line after a second ({took:.1f} s)", repr(said[:200]))
    checks.check(not re.search(rb", \d+ s", said.split(b"\r\x1b[K")[-1]), "the line is gone in the end", repr(said[-200:]))
    done = gpuprof(build, folder, "import", "-f", "-o", "slow2.gpuprof", "slow.json")
    checks.check("importing" not in done.stderr, "no line but on a terminal", done.stderr)


def main():
    checks, build = Checks(), Build(sys.argv[1])
    folder = build.path("loop")
    os.makedirs(folder)
    for part in (again, newest, in_place_of_a_command, modes, compared, tried, progress):
        part(build, checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
