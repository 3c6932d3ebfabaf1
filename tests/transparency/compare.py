"""What differs between two outcomes, as lines "stdout + text", and which of them is explained (explained.py)."""
import dataclasses
import difflib


def lines(data):
    return data.decode("utf-8", "backslashreplace").splitlines(keepends=True)


def changed(stream, plain, traced):
    """The lines that only one side has: `stream - line` without, `stream + line` with gpuprof."""
    if plain == traced:
        return []
    found = []
    a, b = lines(plain), lines(traced)
    for tag, a0, a1, b0, b1 in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            found += [f"{stream} - {text!r}" for text in a[a0:a1]]
            found += [f"{stream} + {text!r}" for text in b[b0:b1]]
    return found or [f"{stream} differs in its bytes"]


def differences(plain, traced):
    found = []
    if plain.status != traced.status:
        found.append(f"status {traced.status} instead of {plain.status}")
    found += changed("stdout", plain.stdout, traced.stdout)
    found += changed("stderr", plain.stderr, traced.stderr)
    for path in sorted(set(plain.files) | set(traced.files)):
        a, b = plain.files.get(path), traced.files.get(path)
        if a != b:
            found.append(f"file {path}: " + ("is missing" if b is None else "is left behind" if a is None
                                              else f"{b} instead of {a}"))
    found += [f"process left behind: {what}" for what in traced.left if what not in plain.left]
    return found


def judge(situation, plain, traced, explanations):
    """The differences that nothing explains, and the names of the explanations that were needed. Explained lines that only one
    side has are taken out first, so that the others are compared line by line."""
    own = [e for e in explanations if e.names(situation)]
    used, sides = set(), []
    for sign, here, there in (("-", plain, traced), ("+", traced, plain)):
        streams = {stream: left_out(own, sign, stream, getattr(here, stream), getattr(there, stream), used) for stream in ("stdout", "stderr")}
        sides.append(dataclasses.replace(here, **streams))
    unexplained = []
    for line in differences(*sides):
        names = [e.name for e in own if e.covers(line)]
        used.update(names)
        if not names:
            unexplained.append(line)
    return unexplained, sorted(used)


def left_out(own, sign, stream, here, there, used):
    if not own or here == there:
        return here
    kept, other = [], set(there.splitlines(keepends=True))
    for raw in here.splitlines(keepends=True):
        row = f"{stream} {sign} {raw.decode('utf-8', 'backslashreplace')!r}"
        names = [] if raw in other else [e.name for e in own if e.covers(row)]
        used.update(names)
        if not names:
            kept.append(raw)
    return b"".join(kept)
