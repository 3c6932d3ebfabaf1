#!/usr/bin/env python3
"""The matrix must be able to fail: it is given gpuprofs that are not transparent, each in its own way, and one that is.

usage: selftest.py
"""
import os
import sys
import tempfile

import pythons
import situations
import transparency

RECORDS = "import sqlite3; sqlite3.connect(profile).execute('CREATE TABLE kept (x)')"
# what it does wrong: (code before the program starts, code after its end, situation, what the matrix must say)
FAULTS = {
    "nothing": ("", "", "shell/sh", None),
    "records nothing": ("os.unlink(profile)", "", "shell/true", "no profile"),
    "a line more": ("print('hello', flush=True)", "", "shell/true", "stdout + 'hello"),
    "a line of its own on stderr": ("print('gpuprof: hello', file=sys.stderr, flush=True)", "", "shell/false", "stderr + 'gpuprof: hello"),
    "another status": ("", "status = 0", "shell/false", "status 0 instead of 1"),
    "a signal becomes a status": ("", "status = abs(status)", "shell/kill -9 $$", "status 9 instead of -9"),
    "a file": ("open('left', 'w').close()", "", "shell/true", "file work/left: is left behind"),
    "another mode": ("os.umask(0o77)", "", "shell/sh", "file work/made"),
    "a variable": ("os.environ['MINE'] = '1'", "", "shell/env, sorted", "stdout + 'MINE=1"),
    "a variable less": ("del os.environ['LANG']", "", "shell/env, sorted", "stdout - 'LANG=C.UTF-8"),
    "a descriptor": ("os.set_inheritable(os.open('/', 0), True)", "", "shell/descriptors", "stdout + '"),
    "a blocked signal": ("signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])", "", "shell/signal mask", "stdout + 'SigBlk"),
    "its input": ("sys.stdin.readline()", "", "shell/cat", "stdout - 'one"),
    "a process": ("subprocess.Popen(['sleep', '60'])", "", "shell/true", "process left behind: sleep 60"),
    "a signal twice": ("twice = True", "", "signals/saver/TERM/system", "stdout + "),
}
FAKE = """#!{python}
import os, signal, subprocess, sys
twice, words = False, sys.argv[1:]
profile, command = words[words.index('-o') + 1], words[words.index('--') + 1:]
{records}
{before}
child = subprocess.Popen(command, close_fds=False)
def passed_on(number, frame):
    child.send_signal(number)
    if twice:
        import time
        time.sleep(0.2)
        child.send_signal(number)
signal.signal(signal.SIGTERM, passed_on)
status = child.wait()
{after}
if status < 0:
    signal.signal(-status, signal.SIG_DFL) if -status != 9 else None
    os.kill(os.getpid(), -status)
sys.exit(status)
"""


def verdict(folder, every, before, after, situation):
    """What the matrix says of one situation under a gpuprof with that fault."""
    fake = os.path.join(folder, "gpuprof")
    with open(fake, "w", encoding="utf-8") as file:
        file.write(FAKE.format(python=sys.executable, records=RECORDS, before=before, after=after))
    os.chmod(fake, 0o755)
    matrix = transparency.Matrix(folder, fake, None, 1)
    return matrix.run(next(s for s in every if s.name == situation))


def main():
    bad, every = 0, situations.everything([pythons.probe("system", sys.executable)])
    for name, (before, after, situation, said) in FAULTS.items():
        with tempfile.TemporaryDirectory(prefix="transparency-self-") as folder:
            row = verdict(folder, every, before, after, situation)
        good = row["verdict"] == "same" if said is None else row["verdict"] == "differs" and any(said in line for line in row["lines"])
        bad += not good
        print(("ok      " if good else "FAILED  ") + f"a gpuprof that does: {name}" + ("" if good else f": {row}"), flush=True)
    print(f"{len(FAULTS) - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
