"""Reads what `gpuprof analyze --json` prints from stdin, and prints a unified diff of the user's Python files that makes what can
be changed there safely: fix.py FOLDER RULE|"". Says on stderr what it changed and what it did not, and why. Writes no file.
Exit status: 0 a change; 1 none; 2 the input is of no use."""
import difflib
import json
import os
import re
import sys

from actions import ACTIONS
from source import CannotEdit, Source

LOOKED_AT = 50000  # entries of the folder: more are a file system, not a program
LARGEST = 4 << 20  # bytes of a file
SKIPPED = {"node_modules", "site-packages", "dist-packages", "__pycache__"}


def leads_on(folder, path):
    """No link; or one of a copy that `try` made of the current folder, in the place of the folder to which it leads."""
    return not os.path.islink(path) or os.path.realpath(path) == os.path.join(os.path.realpath("."), os.path.relpath(path, folder))


def python_files(folder):
    """Paths below a folder by base name, without environments and hidden folders."""
    found, seen = {}, 0
    for at, folders, names in os.walk(folder, followlinks=True):
        folders[:] = sorted(f for f in folders if f not in SKIPPED and not f.startswith(".") and
                            not os.path.exists(os.path.join(at, f, "pyvenv.cfg")) and leads_on(folder, os.path.join(at, f)))
        for name in names:
            if name.endswith(".py"):
                found.setdefault(name, []).append(os.path.join(at, name))
        seen += len(folders) + len(names)
        if seen > LOOKED_AT:
            break
    return found


class Program:
    """The files that the analysis names, as they are now."""

    def __init__(self, folder, command):
        self.folder, self.paths, self.open = folder, python_files(folder), {}
        self.script = next((w for w in (command or "").split() if w.endswith(".py")), None)

    def source(self, name):
        """Of "train.py", "data/train.py", or a path from the root that leads below the folder."""
        folder = os.path.realpath(self.folder) + os.sep
        if os.path.realpath(name).startswith(folder) and os.path.isabs(name):
            name = os.path.realpath(name)[len(folder):]
        found = [p for p in self.paths.get(os.path.basename(name), []) if ("/" + p).endswith("/" + name.lstrip("./"))]
        if len(found) != 1:
            raise CannotEdit(f"{len(found) or 'no'} files {name} in {self.folder}; --source names the program's folder")
        path = found[0]
        if path not in self.open:
            if not os.path.isfile(path) or os.path.getsize(path) > LARGEST:
                raise CannotEdit(f"{path} is no file of a program")
            with open(path, "rb") as f:
                text = f.read()
            try:
                self.open[path] = Source(path, os.path.relpath(path, self.folder), text)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
                raise CannotEdit(f"{path} does not parse: {e}") from None
        return self.open[path]

    def place(self, remedy):
        """(source, line); (None, 0) where no line is known."""
        at = re.fullmatch(r"(.*\.py):(\d+)", remedy["object"]["place"] or "")
        return (self.source(at[1]), int(at[2])) if at else (None, 0)

    def files(self):
        """The script first."""
        first = [self.source(self.script)] if self.script else []
        return first + [s for s in self.open.values() if s not in first]


def change(program, finding):
    remedy = finding["remedy"]
    function = ACTIONS.get(remedy["action"])
    if not function:
        raise CannotEdit("gpuprof knows no safe edit for it")
    place = program.place(remedy)
    files = program.files()
    if not files:
        raise CannotEdit("the recording names no Python file")
    before = [(s, len(s.changes), {c: dict(k) for c, k in s.keywords.items()}) for s in files]
    try:
        note = function(files, remedy, place)
    except CannotEdit:
        for source, changes, keywords in before:  # all of an advice, or nothing
            del source.changes[changes:]
            source.keywords = keywords
        raise
    if all((len(s.changes), s.keywords) == (n, keywords) for s, n, keywords in before):
        raise CannotEdit("it is written so already")
    return note


def diff(source):
    after = source.changed()
    if after == source.text:
        return ""
    lines = [text.decode("utf-8", "surrogateescape").splitlines(keepends=True) for text in (source.text, after)]
    said = difflib.unified_diff(*lines, "a/" + source.shown, "b/" + source.shown)
    return "".join(line if line.endswith(("\n", "\r")) else line + "\n\\ No newline at end of file\n" for line in said)


def printable(text):
    """What a recording says may hold what a terminal obeys."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def saving(finding):
    saves = finding["saves_ms"]
    if finding["kind"] != "predicted":
        return f"saves up to {saves['high']:.3g} ms per step"
    return f"saves {saves['mid']:.3g} ms per step ({saves['low']:.3g} to {saves['high']:.3g})"


def main(folder, rule):
    try:
        analysis = json.load(sys.stdin)
    except ValueError:
        return 2  # whoever writes it has said why
    program = Program(folder, analysis.get("command"))
    said, left = [], []
    for finding in analysis["findings"]:
        if rule and finding["rule"] != rule or not rule and finding["group"] == "training":
            continue
        place = finding["remedy"]["object"]["place"]
        title = finding["title"] + (f" ({place})" if place else "") + ", " + saving(finding)
        try:
            note = change(program, finding)
            said.append(f"changed: {title}" + (f"; {note}" if note else ""))
        except CannotEdit as why:
            words = finding["remedy"].get("pytorch")
            left.append(f"left to you: {title}: {why}" + (f"\n    {words}" if words else ""))
    patch = "".join(diff(s) for s in program.open.values())
    sys.stdout.buffer.write(patch.encode("utf-8", "surrogateescape"))
    sys.stdout.flush()
    print(printable("\n".join(said + left)) or "nothing to change", file=sys.stderr)
    return 0 if patch else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
