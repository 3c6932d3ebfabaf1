#!/usr/bin/env python3
"""`make transparency`: programs without and with gpuprof, in some hundred situations, must show the same to the byte: stdout, stderr,
status, files left behind, processes left behind. What differs for a reason stands in explained.py.

usage: transparency.py BUILD [--only GLOB] [--sample N] [--jobs N] [--state FILE] [--python NAME=PATH] [--write PAGE] [--list]
"""
import argparse
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import queue
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import compare
import explained
import page
import pythons
import situations
import table
import world

SEES = {"steps": "SELECT count(*) FROM range r JOIN string s ON r.name = s.id WHERE s.text = 'gpuprof.step'",
        "batches": "SELECT count(*) FROM loader_span", "kernels": "SELECT count(*) FROM kernel", "virtual": "SELECT 1"}
DEVICE = "virtual:a100-80"
PROGRAMS = world.PROGRAMS


class Matrix:
    def __init__(self, build, gpuprof, state, jobs):
        self.build, self.gpuprof, self.state, self.lock = build, gpuprof, state, threading.Lock()
        self.folder = tempfile.TemporaryDirectory(prefix="transparency-")
        world.PROGRAMS = shutil.copytree(PROGRAMS, os.path.join(self.folder.name, "programs"),
                                         ignore=shutil.ignore_patterns("__pycache__"))  # as they are now
        compile_programs(world.PROGRAMS)
        self.slots = queue.Queue()
        for n in range(jobs):
            slot = os.path.join(self.folder.name, str(n))
            os.mkdir(slot)
            self.slots.put(slot)
        self.rows = self.read_state()

    def read_state(self):
        """What an earlier call found, if it was this build."""
        if not self.state or not os.path.exists(self.state):
            return {}
        with open(self.state, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file if line.endswith("}\n")]
        return {row["name"]: row for row in rows}

    def keep(self, row):
        with self.lock:
            self.rows[row["name"]] = row
            if self.state:
                with open(self.state, "a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")

    def gpu_words(self, slot, virtual, quiet=True):
        """gpuprof in front of a program."""
        profile = os.path.join(slot, "profile", "p.gpuprof")
        words = [self.gpuprof, "run", *(["-q"] if quiet else []), "-f", *(["--device", DEVICE] if virtual else []), "-o", profile, "--"]
        return " ".join(words)

    def one(self, situation, slot, traced):
        """One run; the profile lies outside of the world."""
        root = os.path.join(slot, "world")
        subprocess.run(["rm", "-rf", os.path.join(slot, "profile")], check=True)
        os.mkdir(os.path.join(slot, "profile"))
        virtual = situation.sees in ("kernels", "virtual")
        words, loud = (self.gpu_words(slot, virtual, quiet) if traced else "" for quiet in (True, False))
        if virtual and not traced:  # the virtual GPU is gpuprof's own: the other side has it, too, and is not recorded
            words = f"{self.gpuprof} run -q --no-record --device {DEVICE} --"
        command = situation.words(self.build, words, loud)
        variables = dict(situation.variables)
        return world.run(root, command, world.environment(root, variables), situation.steps)

    def observed(self, situation, slot):
        """Whether gpuprof was there at all: a run that records nothing is always transparent."""
        path = os.path.join(slot, "profile", "p.gpuprof")
        if not os.path.exists(path): # of one of several ranks
            path = os.path.join(slot, "profile", "p.r0.gpuprof")
        if not os.path.exists(path):
            return "no profile"
        if not situation.sees:
            return ""
        db = sqlite3.connect(path)
        try:
            return "" if db.execute(SEES[situation.sees]).fetchone()[0] else f"the profile holds no {situation.sees}"
        except sqlite3.Error as problem:
            return f"the profile cannot be read: {problem}"
        finally:
            db.close()

    def run(self, situation):
        slot = self.slots.get()
        try:
            row = self.judged(situation, slot)
        except Exception as problem:
            row = {"verdict": "differs", "lines": [f"the test itself: {problem!r}"]}
        finally:
            self.slots.put(slot)
        row = {"name": situation.name, "axes": situation.axes, **row}
        self.keep(row)
        return row

    def judged(self, situation, slot):
        began = time.monotonic()
        plain, traced = self.one(situation, slot, False), self.one(situation, slot, True)
        lines, used = compare.judge(situation.name, plain, traced, explained.EXPLAINED)
        unseen = self.observed(situation, slot)
        if plain.status is None:
            lines.append("hangs without gpuprof")
        elif lines:  # is it the program that is never the same?
            again, second = self.one(situation, slot, False), self.one(situation, slot, True)
            lines = self.steady(situation, plain, again, second, lines)
            unseen = self.observed(situation, slot)
        if unseen:
            lines.append(unseen)
        if situation.ends is not None and plain.status != situation.ends:
            last = plain.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            lines.append(f"without gpuprof it ends with status {plain.status}, not {situation.ends}: {last[:120]}")
        verdict = "differs" if lines else "explained" if used else "same"
        if lines and all(line.startswith("unsteady") for line in lines):
            verdict = "unsteady"
        return {"verdict": verdict, "lines": lines[:40], "count": len(lines), "explained": used, "seconds": round(time.monotonic() - began, 1),
                "status": plain.status, "output": len(plain.stdout) + len(plain.stderr)}

    def steady(self, situation, plain, again, second, lines):
        """Differences that the program shows without gpuprof as well are its own; what does not come back is said."""
        own, _ = compare.judge(situation.name, plain, again, explained.EXPLAINED)
        if own:
            return [f"unsteady without gpuprof: {line}" for line in own]
        lasting, _ = compare.judge(situation.name, again, second, explained.EXPLAINED)
        return lasting or [f"unsteady: once, and not again: {line}" for line in lines]


def compile_programs(folder):
    """The C programs, beside the others; without a compiler their situations are skipped."""
    for kind, more in (("c_process", ["-pthread", "-ldl"]), ("c_process.static", ["-static", "-pthread"])):
        if shutil.which("cc"):
            done = subprocess.run(["cc", "-O1", "-w", os.path.join(folder, "c_process.c"), "-o", os.path.join(folder, kind), *more],
                                  capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(f"transparency: cc cannot build {kind}: {done.stderr[-500:]}")


def chosen(every, only, sample):
    picked = [s for s in every if not only or any(fnmatch.fnmatchcase(s.name, pattern) for pattern in only)]
    if sample and sample < len([s for s in picked if not s.skip]):
        able = [s for s in picked if not s.skip]
        always = {s.name for s in able if any(fnmatch.fnmatchcase(s.name, pattern) for pattern in table.ALWAYS)}
        # the same ones each time
        able.sort(key=lambda s: (s.name not in always, hashlib.sha256(s.name.encode()).hexdigest()))
        picked = able[:sample]
    return picked


def tell(row, done, of):
    sign = {"same": "ok     ", "explained": "ok  (e)", "skipped": "skipped", "unsteady": "unsteady"}.get(row["verdict"], "FAILED ")
    print(f"{sign} {done}/{of} {row['name']} ({row.get('seconds', 0)} s)", flush=True)
    for line in row["lines"][:4] if sign in ("FAILED ", "unsteady") else ():
        print(f"          {line[:240]}", flush=True)


def rotten(rows, ran):
    """Explanations that none of the situations of this call needed, though all that they name were run."""
    found = []
    for e in explained.EXPLAINED:
        named = [r for r in rows if e.names(r["name"]) and r["verdict"] != "skipped"]
        if named and e.name not in {u for r in named for u in r.get("explained", ())}:
            found.append(f"explained.py: '{e.name}' is not needed any more ({len(named)} situations)")
    return found


def options():
    ask = argparse.ArgumentParser()
    ask.add_argument("build")
    ask.add_argument("--only", action="append", default=[])
    ask.add_argument("--sample", type=int, default=0)
    ask.add_argument("--jobs", type=int, default=max(1, min(4, os.cpu_count() or 1)))
    ask.add_argument("--state")
    ask.add_argument("--python", action="append", default=[])
    ask.add_argument("--write")
    ask.add_argument("--gpuprof")
    ask.add_argument("--failed", action="store_true", help="run again what failed in the state file")
    ask.add_argument("--seconds", type=float, default=0)
    ask.add_argument("--list", action="store_true")
    return ask.parse_args()


def hear_signals():
    """A shell in the background, or nohup, has us ignore some; programs inherit that, and would be others than in front."""
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda number, frame: None)  # still without effect on us, and as usual for what we start
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def main():
    args = options()
    hear_signals()
    build = os.path.abspath(args.build)
    gpuprof = args.gpuprof or os.path.join(build, "bin", "gpuprof")
    if not args.gpuprof and not os.path.exists(os.path.join(build, "lib", "libgpuprof_agent.so")):
        print("transparency: this build has no agent, so there is nothing to compare")
        return 77
    interpreters, unusable = pythons.find(args.python)
    picked = chosen(situations.everything(interpreters), args.only, args.sample)
    if args.list:
        print("\n".join(f"{s.name}{'  (skipped: ' + s.skip + ')' if s.skip else ''}" for s in picked))
        return 0
    matrix = Matrix(build, gpuprof, args.state, args.jobs)
    left = [s for s in picked if not s.skip and (s.name not in matrix.rows or
                                                 args.failed and matrix.rows[s.name]["verdict"] in ("differs", "unsteady"))]
    random.Random(1).shuffle(left)
    began, done = time.monotonic(), 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        def run(situation):
            if args.seconds and time.monotonic() - began > args.seconds:
                return None
            return matrix.run(situation)
        for ended in concurrent.futures.as_completed([pool.submit(run, s) for s in left]):
            row = ended.result()
            if row:
                done += 1
                tell(row, done, len(left))
    rows = [{"name": s.name, "axes": s.axes, "verdict": "skipped", "lines": [s.skip]} if s.skip else matrix.rows[s.name]
            for s in picked if s.skip or s.name in matrix.rows]
    return conclude(rows, len(picked), unusable, interpreters, args)


def conclude(rows, of, unusable, interpreters, args):
    count = {v: sum(r["verdict"] == v for r in rows) for v in ("same", "explained", "differs", "unsteady", "skipped")}
    problems = unusable + ([] if args.sample or args.only else rotten(rows, of))
    if args.write:
        page.write(args.write, rows, interpreters, problems, of - len(rows))
    for line in problems:
        print(line)
    waiting = of - len(rows)
    ran = sum(count[v] for v in ("same", "explained", "differs", "unsteady"))
    print(f"transparency: {ran} situations run: {count['same']} the same, {count['explained']} the same but for what is explained, "
          f"{count['differs']} differ, {count['unsteady']} not steady by themselves; {count['skipped']} skipped, {waiting} still to run")
    # a program that varies by itself on a busy machine proves nothing against gpuprof; many of them prove nothing for it
    many = count["unsteady"] * 20 > ran
    return 1 if count["differs"] or many or problems or not ran else 3 if waiting else 0


if __name__ == "__main__":
    sys.exit(main())
