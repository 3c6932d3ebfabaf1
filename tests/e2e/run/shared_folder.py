#!/usr/bin/env python3
"""A profile in a folder that others can write to, as /tmp and a cluster's scratch are. Another user lays a journal beside
it, at any moment of the run, which names a file of the victim: SQLite would delete that file. Nothing is deleted, the
program ends as ever, and what was recorded is there. What the user has there stays, too.

usage: shared_folder.py BUILD [TIMES]: as root another user does it, else this one
"""
import os
import sqlite3
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import DEVICE, Build, Checks

MAGIC = bytes.fromhex("d9d505f920a163d7")
OTHER = 65534  # nobody
LONGEST_S = 0.4


def names(victim):
    """A journal that holds no page, and a record that names a file (SQLite's file format, 'super-journal')."""
    name = victim.encode()
    record = struct.pack(">I", 1) + name + struct.pack(">II", len(name), sum(name) & 0xFFFFFFFF) + MAGIC
    return b"x" + bytes(1023) + record


def lay(profile, victim, delay):
    """A process that lays it `delay` seconds after the profile is there. Its status tells whether it could."""
    pid = os.fork()
    if pid:
        return pid
    if os.geteuid() == 0:
        os.setgid(OTHER)
        os.setuid(OTHER)
    end = time.time() + 60
    while not os.path.exists(profile) and time.time() < end:
        time.sleep(0.002)
    time.sleep(delay)
    try:
        fd = os.open(profile + "-journal", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        os.write(fd, names(victim))
    except OSError:
        os._exit(1)
    os._exit(0)


def kernels(profile):
    db = sqlite3.connect(f"file:{profile}?immutable=1", uri=True)
    return db.execute("SELECT count(*) FROM kernel").fetchone()[0]


def attempt(build, profile, victim, delay):
    """One run, with a journal laid meanwhile. What went wrong, '' = nothing."""
    other = lay(profile, victim, delay)
    done = build.run([build.gpuprof, "run", "-q", "-f", "--device", DEVICE, "-o", profile, "--", build.train,
                      "--steps", "40"])
    laid = os.waitpid(other, 0)[1] == 0
    if not os.path.exists(victim):
        return "the victim's file was deleted"
    if done.returncode != 0:
        return f"status {done.returncode}: {done.stderr}"
    if not kernels(profile):
        return "nothing was recorded"
    if laid and os.geteuid() == 0 and not os.path.exists(profile + "-journal"): # one of this user is gpuprof's own
        return "the other user's file was deleted"
    return ""


def check_try(build, checks, profile, victim):
    """`try --profile` adds a row to a profile that is there: the journal is laid before it, or while it runs."""
    for name in os.listdir(os.path.dirname(profile)):
        os.unlink(os.path.join(os.path.dirname(profile), name))
    build.run([build.gpuprof, "run", "-q", "-f", "--device", DEVICE, "-o", profile, "--", build.train, "--steps", "12"])
    for delay in (0, 0.5, 1, 1.5, 2, 3):
        other = lay(profile, victim, delay)
        done = build.run([build.gpuprof, "try", "-q", "--device", DEVICE, "--profile", profile, "--apply", "pin_memory=1", "--runs", "1",
                          "--", build.train, "--steps", "6"])
        laid = os.waitpid(other, 0)[1] == 0
        checks.check(os.path.exists(victim) and (not laid or os.path.exists(profile + "-journal") or os.geteuid() != 0) and done.returncode in (0, 1, 2, 3),
                     f"try --profile, a journal laid after {delay} s: nothing is deleted", f"{done.returncode} {done.stderr}")
        if os.path.exists(profile + "-journal"):
            os.unlink(profile + "-journal")
    checks.check(build.run([build.gpuprof, "analyze", profile]).returncode == 0, "and the profile is whole")


def check_users_folders(build, checks):
    """Beside a profile lie folders and files of the user whose names are like ours."""
    folders = [".gpuprof-backup", ".gpuprof-spools"]
    kept = [".gpuprof-backup/notes.txt", ".gpuprof-spools/1-2.spool", "mine.gpuprof.before.partial"]
    for name in folders:
        os.mkdir(build.path(name))
    for name in kept:
        with open(build.path(name), "w", encoding="ascii") as f:
            f.write("precious")
    for name in (*kept, *folders):
        os.utime(build.path(name), (0, 0))
    done = build.run([build.gpuprof, "run", "-f", "-o", build.path("mine.gpuprof"), "--", "/bin/true"])
    gone = [name for name in kept if not os.path.exists(build.path(name))]
    checks.check(done.returncode == 0 and not gone and "gpuprof import" not in done.stderr,
                 "a user's folders and files of such names stay", f"{gone} {done.stderr}")


def main():
    build, checks = Build(sys.argv[1]), Checks()
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    os.chmod(build.folder.name, 0o755)
    folder, victim = build.path("scratch"), build.path("victim")
    profile = os.path.join(folder, "x.gpuprof")
    os.mkdir(folder)
    os.chmod(folder, 0o1777)
    with open(victim, "w", encoding="ascii") as f:
        f.write("precious")
    os.chmod(victim, 0o600)
    wrong = {}
    for i in range(times):
        delay = LONGEST_S * i / max(times - 1, 1)
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        why = attempt(build, profile, victim, delay)
        if why:
            wrong[f"{delay:.3f} s"] = why
        if not os.path.exists(victim):
            break
    checks.check(not wrong, f"a journal laid beside a profile, in {times} runs", str(wrong))
    with open(profile + "-journal", "wb") as f:  # one that SQLite would put back
        f.write(MAGIC + names(victim)[len(MAGIC):])
    done = build.run([build.gpuprof, "analyze", profile])
    checks.check(done.returncode == 2 and "did not write the file" in done.stderr and done.stderr.count("\n") == 1,
                 "one line says what lies there", f"{done.returncode} {done.stderr}")
    os.unlink(profile + "-journal")
    checks.check(build.run([build.gpuprof, "analyze", profile]).returncode == 0, "without it the profile is whole")
    checks.check(os.path.exists(victim), "and the file that it named is there")
    check_try(build, checks, profile, victim)
    check_users_folders(build, checks)
    checks.done()


main()
