#!/usr/bin/env python3
"""The same question as judge.py's, for programs of PyTorch whose faults stand in their text: how much of what can be saved does a
greedy agent get that follows gpuprof, with six reruns?

    bench/judge/scripts.py BIN PYTHON [--state DIR] [--drawn N] [--seed S] [--models a100-80,h100] [--more DIR]... [--only NAME]...
                   [--agents guided,...] [--seconds S] [--write docs/accuracy/judge_scripts.tsv]

PYTHON has a CUDA build of PyTorch; everything runs on the virtual GPU. N programs are those of programs/ with one to four of the
faults of faults.py, drawn at random. --more names folders with pairs NAME.py and NAME.mended.py, or NAME.py as a link to a program
and beside it NAME.mended.py: what differs is the fault.

The agent is a script without a language model. It makes one change in a copy, runs that, keeps it if the step is at least 1 %
shorter, and goes on. It takes changes back that alter the losses of the first steps, on the CPU (a lower precision does what it
says; that is not compared).

- guided: the first finding of `gpuprof analyze` on a recording of what it has kept that it can follow and has not tried.
  It follows a finding by the diff of `gpuprof fix --rule`; else, if the finding's action is one that faults.py names for a
  fault of the program and the finding names one of the fault's lines or its function, by the mend of that fault; else, if the finding names no
  line at all, by the first such fault. In pairs, which name no actions, the line alone decides. It compiles a model only where a
  fault of the program is that it is not compiled: compiling takes minutes.
- one at a time: the mends of its faults (which no blind search would know) and every edit that `gpuprof fix` knows at every place
  where it can be made, by name.
- random: the same in random order.

A step's time is the lower quartile of blocks of five steps between two waits for the GPU (watched.py), the shortest of two runs that
nothing records (one, if it differs by over 30 %): what others do on the cores only adds time. Texts that differ by less than 12 %
run twice more, in turn. The attainable best is the shortest step of all that were measured, the
program without its faults among them. What was measured stays in DIR, by the text of the program.
Exit status: 0 if every program ran, whatever the figures are; 1 if a file was damaged.
"""
import argparse
import ast
import difflib
import glob
import hashlib
import json
import os
import random
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "truth"), os.path.join(HERE, "..", "..", "cli", "fix")]
import fix  # noqa: E402
from actions import ACTIONS  # noqa: E402
from faults import EXAMPLES, FAULTS, PRECISION  # noqa: E402
from judge import RERUNS, WORTH, share  # noqa: E402
from truth import Store  # noqa: E402

FAR, CLOSE = 0.3, 0.04                                       # of a step: nearer ones are run again, and then in turn
LOWER = [*PRECISION.split(), "use_single_precision"]         # does what it says to the numbers
COMPILES = ("launch_as_graph", "fuse_pointwise")              # minutes for each
SAME = 1e-3                                                  # of a loss: other orders of adding
LOSSES = 2
AGENTS = ("guided", "one at a time", "random")


class Change:
    """Pieces of text in place of others, each of which occurs once."""

    def __init__(self, name, pairs, actions="", how="search"):
        self.name, self.pairs, self.actions, self.how = name, pairs, actions.split(), how

    def made_in(self, text):
        """The new text; None where the change does not fit."""
        for good, bad in self.pairs:
            if text.count(bad) != 1 and not (text.count(bad) == 2 and bad in good):
                return None
            text = text.replace(bad, good, 1)
        return text

    def lines(self, text):
        """Numbers of the lines that it changes, as far as they stand in the text, and of their functions."""
        found = set()
        for _, bad in self.pairs:
            if text.count(bad) == 1:
                first = text[:text.index(bad)].count("\n") + 1
                found.update(range(first, first + max(1, bad.count("\n") + (not bad.endswith("\n")))))
        functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef) and n.name not in ("main", "forward")]
        return found | {f.lineno for f in functions if found & set(range(f.lineno, f.end_lineno + 1))}


class Program:
    def __init__(self, o, store, name, model, text, mends, steps):
        self.o, self.store, self.name, self.model, self.text, self.mends, self.steps = o, store, name, model, text, mends, steps
        self.failed, self.damaged, self.losses_of, self.mended = {}, [], {}, set()
        self.start = [*shlex.split(o.timed_by), "timeout", "-k", "5", str(o.longest), o.gpuprof, "run"]

    def in_folder(self, text, argv, name="train.py"):
        """Runs argv with {script} as a file of that text; returns what it did and the folder, which the caller removes."""
        if time.monotonic() > self.o.deadline:
            raise TimeoutError
        folder = tempfile.mkdtemp(dir=self.o.state)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
        done = subprocess.run([os.path.abspath(a) if os.path.sep in a and os.path.exists(a) else a for a in argv], cwd=folder,
                              capture_output=True, text=True, errors="replace", timeout=900, check=False,
                              env={**os.environ, "OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"})
        return done, folder

    def watched(self, text, what, n, before=(), **env):
        done, folder = self.in_folder(text, [*("env", *(f"{k}={v}" for k, v in env.items())), *before, self.o.python,
                                             os.path.join(HERE, "watched.py"), what, "said", str(n), "train.py"])
        try:
            with open(os.path.join(folder, "said"), encoding="utf-8") as f:
                return [float(w) for w in f.read().split()]
        except OSError:
            self.failed[key(text)] = "takes too long" if done.returncode in (124, 137) else done.stderr[-400:]
            return None
        finally:
            shutil.rmtree(folder)

    def ms(self, text, runs=1):
        """The step of that text in ms, the shortest of at least so many runs; None: it fails."""
        while len(self.store.times(self.model, self.name, key(text))) < runs:
            if key(text) in self.failed:
                return None
            said = self.watched(text, "steps", self.steps, [*self.start, "--no-record", "--device", f"virtual:{self.model}", "--"])
            if said is None:
                return None
            self.store.add(self.model, self.name, key(text), said[0])
        return min(self.store.times(self.model, self.name, key(text)))

    def losses(self, text):
        """Of the first steps on the CPU; None if it does not run there within 25 seconds."""
        if key(text) not in self.losses_of:
            try:
                said = self.watched(text, "losses", LOSSES, ["timeout", "25"], TORCHDYNAMO_DISABLE="1", CUDA_VISIBLE_DEVICES="")
            except subprocess.TimeoutExpired:
                said = None
            self.failed.pop(key(text), None)
            self.losses_of[key(text)] = said
        return self.losses_of[key(text)]

    def profile(self, text):
        """The profile of that text, recorded once, in the folder of which `fix` takes the program."""
        kept = self.store.profile(self.model, self.name + " " + key(text))
        folder = kept[:-8]
        if not os.path.exists(os.path.join(folder, "train.py")):
            done, made = self.in_folder(text, [*self.start, "-q", "-f", "-o", "train.gpuprof", "--device", f"virtual:{self.model}", "--",
                                               self.o.python, "train.py"])
            if not os.path.exists(os.path.join(made, "train.gpuprof")):
                raise RuntimeError(done.stderr[-400:])
            os.rename(made, folder)
        return folder

    def findings(self, text):
        folder = self.profile(text)
        said = subprocess.run([self.o.gpuprof, "analyze", "--json", "train.gpuprof"], cwd=folder, capture_output=True, check=True).stdout
        return json.loads(said)["findings"]

    def fixed(self, text, rule):
        """What `gpuprof fix` makes of the text for a rule; None: it makes nothing."""
        folder = self.profile(text)
        patch = subprocess.run([self.o.gpuprof, "fix", "-q", "--rule", rule, "train.gpuprof"], cwd=folder, capture_output=True, check=False).stdout
        if read(folder) != text:
            self.damaged.append(f"{rule}: the file itself changed")
        if not patch:
            return None
        copy = tempfile.mkdtemp(dir=self.o.state)
        with open(os.path.join(copy, "train.py"), "w", encoding="utf-8") as f:
            f.write(text)
        done = subprocess.run(["patch", "-s", "-p1"], cwd=copy, input=patch, capture_output=True, check=False)
        after = read(copy)
        shutil.rmtree(copy)
        self.check(rule, text, after, patch.decode(), done.returncode)
        return after

    def check(self, rule, before, after, patch, status):
        """The patch applied, and changed its lines alone; the result parses."""
        said = [line for line in patch.splitlines() if re.match(r"[-+](?![-+]{2} [ab]/)", line)]
        done = [line for line in difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
                if re.match(r"[-+](?![-+]{2} )", line)]
        try:
            compile(after, "train.py", "exec")
        except SyntaxError as e:
            self.damaged.append(f"{rule}: {e}")
        if status or sorted(said) != sorted(done):
            self.damaged.append(f"{rule}: the diff and what it changed differ")


def read(folder):
    with open(os.path.join(folder, "train.py"), encoding="utf-8") as f:
        return f.read()


def key(text):
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def hunks(before, after):
    """The change between two texts, with as many lines around each place as make it unique."""
    a, b = before.splitlines(keepends=True), after.splitlines(keepends=True)
    for around in range(6):
        pairs = [("".join(b[g[0][3]:g[-1][4]]), "".join(a[g[0][1]:g[-1][2]]))
                 for g in difflib.SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(around)]
        if all(bad and before.count(bad) == 1 for _, bad in pairs):
            return pairs
    return []


def followed(p, text, tried):
    """(finding, change) of the first finding that can be followed and was not; None."""
    for finding in p.findings(text):
        action = finding["remedy"]["action"]
        if action in COMPILES and not any(action in m.actions for m in p.mends):
            continue
        after = p.fixed(text, finding["rule"])
        if after is not None and finding["rule"] not in tried:
            return finding, Change(finding["rule"], [(after, text)], how="diff")
        place = {int(n) for n in re.findall(r"\btrain\.py:(\d+)", " ".join([finding["remedy"]["object"]["place"] or "", finding["summary"]]))}
        fitting = [m for m in p.mends if m.made_in(text) and m.name not in tried and
                   (action in m.actions if m.actions else place)]
        named = [m for m in fitting if place & m.lines(text)]
        if named or (fitting and not place):
            mend = (named or fitting)[0]
            return finding, Change(mend.name, mend.pairs, how="line" if named else "words")
    return None


def guided(p):
    tried, text, log = set(), p.text, []
    while len(log) < RERUNS:
        found = followed(p, text, tried)
        if not found:
            break
        finding, change = found
        after = change.made_in(text)
        kept, said = worth(p, text, after, finding["remedy"]["action"] in LOWER)
        log.append(f"{change.how} {finding['rule']}{'' if change.how == 'diff' else ' (' + change.name + ')'}: {said}")
        if kept:
            text = after
            p.mended.add(change.name)
        else:
            tried.add(change.name)
    return text, log


def worth(p, before, after, lower=False):
    """Is the change to be kept? And why."""
    a, b = p.ms(before, 2), p.ms(after)
    if b is None:
        print(f"{p.name} with a change: {p.failed[key(after)]}", file=sys.stderr)
        return False, "takes too long" if p.failed[key(after)] == "takes too long" else "fails"
    for n, near in ((2, FAR), (3, 3 * CLOSE), (4, CLOSE)):
        if abs(b / a - 1) < near:
            a, b = p.ms(before, n), p.ms(after, n)
    said = f"{100 * (a - b) / a:+.0f} %"
    if b > a * WORTH:
        return False, said + ", taken back"
    x, y = (None, None) if lower else (p.losses(before), p.losses(after))
    if not x or not y:
        return True, said + ", losses not compared"
    if any(abs(i - j) > SAME * max(abs(i), abs(j)) for i, j in zip(x, y)):
        return False, said + ", losses change, taken back"
    return True, said + (", losses equal" if x == y else ", losses within")


def blind(p, changes):
    text, used = p.text, [] # losses do not matter to it
    for change in changes:
        after = change.made_in(text)
        if after is None or after == text or len(used) == RERUNS:
            continue
        kept, said = worth(p, text, after, True)
        used.append(f"{change.name}: {said}")
        text = after if kept else text
    return text, used


def edits(p):
    """Every edit of `gpuprof fix` at every place where it can be made."""
    folder, found = tempfile.mkdtemp(dir=p.o.state), {}
    with open(os.path.join(folder, "train.py"), "w", encoding="utf-8") as f:
        f.write(p.text)
    classes = sorted(set(re.findall(r"\b(SGD|Adam|AdamW|Adagrad)\(", p.text))) or [None]
    for action in sorted(set(ACTIONS)):
        for line in [None, *range(1, p.text.count("\n") + 1)]:
            remedy = {"action": action, "object": {"place": line and f"train.py:{line}"}, "params": {"workers": 2, "optimizer": classes[0]},
                      "conditions": ["tf32_first"], "now": None}
            program = fix.Program(folder, "python train.py")
            try:
                fix.change(program, {"remedy": remedy})
                after = program.files()[0].changed().decode()
            except fix.CannotEdit:
                continue
            if after != p.text:
                found.setdefault(after, Change(f"{action} {line or ''}", hunks(p.text, after)))
    shutil.rmtree(folder)
    return [c for c in found.values() if c.pairs]


def judge(p, agents):
    if p.ms(p.text, 2) is None:
        raise RuntimeError(p.failed[key(p.text)])
    good = p.text
    for mend in p.mends:
        good = mend.made_in(good) or good
    walks = {}
    for agent in agents:
        changes = sorted([*p.mends, *edits(p)], key=lambda c: c.name) if agent != "guided" else []
        if agent == "random":
            random.Random(1).shuffle(changes)
        walks[agent] = blind(p, changes) if changes else guided(p)
    ends = {agent: p.ms(text, 2) for agent, (text, _) in walks.items()}
    base, mended = p.ms(p.text, 2), p.ms(good, 2)
    best = min(x for x in (base, mended, *ends.values()) if x)
    return {"program": p.name, "model": p.model, "faults": ", ".join(m.name for m in p.mends), "base": base, "mended": mended or base,
            "best": min(best, base), "ends": ends, "damaged": p.damaged, "log": "; ".join(walks["guided"][1]) if "guided" in walks else "",
            "left": ", ".join(m.name for m in p.mends if "guided" in walks and m.name not in p.mended and m.made_in(walks["guided"][0]))}


def text_of(rows, agents):
    some = [r for r in rows if r["best"] <= r["base"] * WORTH]
    out = [f"{len(rows)} programs, in {len(some)} of them at least 1 % can be saved."]
    for agent in agents:
        of = [(r, share(r, agent)) for r in some if agent in r["ends"]]
        if of:
            slower = sum(r["ends"][agent] > r["base"] / WORTH for r, _ in of)
            out.append(f"{agent}: {100 * statistics.fmean(s for _, s in of):.0f} % of what can be saved (median "
                       f"{100 * statistics.median(s for _, s in of):.0f} %); at least 85 % in {sum(s >= 0.85 for _, s in of)} of {len(of)}; "
                       f"{slower} ended slower than they began")
    out.append(f"files damaged: {sum(len(r['damaged']) for r in rows)}")
    return out


def table(rows, agents, engine):
    names = ["engine", "program", "model", "faults", "step ms", "mended ms", "best ms", *(f"{a} ms" for a in agents), "share", "guided did", "left"]
    return ["\t".join(names)] + ["\t".join([
        engine, r["program"], r["model"], r["faults"], f"{r['base']:.2f}", f"{r['mended']:.2f}", f"{r['best']:.2f}",
        *(f"{r['ends'][a]:.2f}" if a in r["ends"] else "-" for a in agents),
        f"{share(r, 'guided'):.2f}" if r["best"] < r["base"] else "-", r["log"] or "-", r["left"] or "-"]) for r in rows]


def template(name):
    with open(os.path.join(HERE, "programs", name + ".py"), encoding="utf-8") as f:
        return f.read()


def with_fault(text, pairs):
    """The text with a fault; None where it does not fit."""
    for good, bad in pairs:
        if text.count(good) != 1:
            return None
        text = text.replace(good, bad)
    return text


def faults_check():
    """Every fault fits its program, leaves a program that parses, and its mend gives the program back. Returns what does not."""
    wrong = []
    for name, faults in FAULTS.items():
        good = template(name)
        for fault, (_, pairs) in faults.items():
            bad = with_fault(good, pairs)
            if not bad or Change(fault, pairs).made_in(bad) != good:
                wrong.append(f"{name}: {fault}")
            compile(bad or good, fault, "exec")
    return wrong


def drawn(o, store):
    rng = random.Random(o.seed)
    names = sorted(FAULTS)
    for i in range(o.drawn):
        name, model = names[i % len(names)], rng.choice(o.models.split(","))
        text, mends = template(name), []
        for fault in rng.sample(sorted(FAULTS[name]), rng.randint(1, 4)):
            actions, pairs = FAULTS[name][fault]
            broken = with_fault(text, pairs)
            if broken and all(m.made_in(broken) for m in mends): # else it is where another fault is
                text = broken
                mends.append(Change(fault, pairs, actions))
        steps = int(re.search(r"STEPS.* = (\d+)", text)[1])
        yield Program(o, store, f"{name} {o.seed}-{i + 1}", model, text, mends, steps)


def examples(o, store):
    for name, faults in EXAMPLES.items():
        with open(os.path.join(HERE, "..", "..", "examples", name, "train.py"), encoding="utf-8") as f:
            text = f.read()
        mends = [Change(fault, pairs, actions) for fault, (actions, pairs) in faults.items()]
        yield Program(o, store, name, o.models.split(",", maxsplit=1)[0], text, mends, int(re.search(r"steps.*default=(\d+)", text)[1]))


def pairs(o, store, folder):
    for path in sorted(glob.glob(os.path.join(folder, "*.mended.py"))):
        name = os.path.basename(path)[:-10]
        with open(os.path.join(folder, name + ".py"), encoding="utf-8") as f, open(path, encoding="utf-8") as g:
            text, good = f.read(), g.read()
        mends = [Change("the difference", hunks(text, good))]
        steps = re.search(r"(?:range\(|default=)(\d\d)\b", good)
        yield Program(o, store, name, o.models.split(",", maxsplit=1)[0], text, mends, int(steps[1]) if steps else 40)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    p.add_argument("bin")
    p.add_argument("python")
    p.add_argument("--state", default="judge_scripts")
    p.add_argument("--drawn", type=int, default=16)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--models", default="a100-80,h100")
    p.add_argument("--examples", action="store_true")
    p.add_argument("--more", action="append", default=[])
    p.add_argument("--longest", type=int, default=150, help="seconds that a run may take")
    p.add_argument("--timed-by", default="", help="words before each command that is timed or recorded, such as `chrt -f 1`")
    p.add_argument("--only", action="append")
    p.add_argument("--agents", default=",".join(AGENTS))
    p.add_argument("--engine", default="now", help="the word for this engine in the rows")
    p.add_argument("--seconds", type=float, default=1e9, help="begin no run after this time")
    p.add_argument("--write", help="file for the rows, with tabs between values; the figures are printed")
    if sys.argv[1:] == ["--check"]:
        sys.exit("\n".join(faults_check()) or 0)
    o = p.parse_args()
    o.gpuprof, o.state = os.path.abspath(os.path.join(o.bin, "gpuprof")), os.path.abspath(o.state)
    o.deadline = time.monotonic() + o.seconds
    store, agents, rows = Store(o.state), o.agents.split(","), []
    every = [*drawn(o, store), *(examples(o, store) if o.examples else []), *(x for folder in o.more for x in pairs(o, store, folder))]
    try:
        for program in every:
            if not o.only or program.name in o.only:
                try:
                    rows.append(judge(program, agents))
                except (RuntimeError, subprocess.SubprocessError) as e:
                    print(f"{program.name}: {e}", file=sys.stderr)
                    continue
                print("\t".join(table(rows[-1:], agents, o.engine)[1:]), flush=True)
    except TimeoutError:
        print(f"time is up: {len(rows)} of {len(every)} programs are judged; call it again", file=sys.stderr)
    print("\n".join(text_of(rows, agents)) if rows else "no program was judged")
    if o.write and rows:
        with open(o.write, "w", encoding="utf-8") as f:
            f.write("\n".join(table(rows, agents, o.engine)) + "\n")
    sys.exit(any(r["damaged"] for r in rows))


if __name__ == "__main__":
    main()
