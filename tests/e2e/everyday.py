#!/usr/bin/env python3
"""everyday.py BUILD: the loop of every day without a file name or an option to think about: `run` again, `analyze` and its like
without a file, a file where a command belongs, and who may read what is written."""
import os
import shutil
import stat
import sys

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
        record(build, folder, "--private", "-o", "private.gpuprof")
        gpuprof(build, folder, "report", "open.gpuprof")
        gpuprof(build, folder, "report", "--private", "-o", "private.html", "open.gpuprof")
        os.umask(0o027)
        record(build, folder, "-o", "group.gpuprof")
    finally:
        os.umask(old)
    for name, wanted in (("open.gpuprof", 0o644), ("open.html", 0o644), ("private.gpuprof", 0o600), ("private.html", 0o600), ("group.gpuprof", 0o640)):
        checks.check(mode(name) == oct(wanted), f"{name} has the mode {oct(wanted)}", mode(name))


def main():
    checks, build = Checks(), Build(sys.argv[1])
    folder = build.path("loop")
    os.makedirs(folder)
    for part in (again, newest, in_place_of_a_command, modes):
        part(build, checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
