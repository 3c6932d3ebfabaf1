"""Writes docs/transparency.md: what was run, what is explained, what was skipped and why, what differs."""
import collections
import re

import explained

HEAD = """# Programs with and without gpuprof
<!-- Written by `make transparency`. -->

Promise number one is that a program runs as if gpuprof were not there. `make transparency` runs small programs twice in the same
folders, without gpuprof and under `gpuprof run`, and compares every byte of stdout and stderr, the exit status or the signal,
each file left behind (name, mode, contents) and the processes left behind. What the programs print about themselves makes
it hard to hide: the environment, the interpreter's state, every attribute of PyTorch's classes with type, signature, source
and identity, pickles, stacks, what tracers and profilers see.

A run in which gpuprof recorded nothing proves nothing, so each situation must leave a profile; those that train must have their
steps or batches in it.

    make transparency TRANSPARENCY="--python NAME=/path/to/python ..."

takes interpreters with frameworks, as does `GPUPROF_PYTHONS="NAME=PATH ..."`; without any, the plain programs and the system's
PyTorch run. `--only 'launchers/*'`, `--sample N`, `--state FILE` (to stop and to go on), `--failed` and `--list` choose. The
programs are in `tests/transparency/programs/`.
"""


def table(title, rows):
    return [f"| {title} | run | the same | explained | not steady | differ |", "|---|---:|---:|---:|---:|---:|", *rows, ""]


def per_axis(rows, axis):
    found = collections.defaultdict(collections.Counter)
    for row in rows:
        if row["verdict"] != "skipped":
            for name, value in row["axes"]:
                if name == axis:
                    found[value][row["verdict"]] += 1
    for value, count in found.items():
        yield (f"| {value} | {sum(count.values())} | {count['same']} | {count['explained']} | {count['unsteady']} | "
               f"{count['differs']} |")


def versions(interpreter):
    return ", ".join(f"{'Python' if name == 'python' else name} {version}" for name, version in interpreter.modules)


def misses(rows):
    bad = [r for r in rows if r["verdict"] in ("differs", "unsteady")]
    if not bad:
        return ["None."]
    return [f"- `{r['name']}`: {brief(r['lines'][0])}" for r in sorted(bad, key=lambda r: r["name"])]


def brief(line):
    """Without the folders of the machine that it was run on."""
    return re.sub(r"(/[\w.+-]+)+/", ".../", line.replace("`", ""))[:160]


def skipped(rows):
    why = collections.Counter(r["lines"][0] for r in rows if r["verdict"] == "skipped")
    return [f"- {n} times: {reason}" for reason, n in why.most_common()] or ["Nothing."]


def write(path, rows, interpreters, problems, waiting):
    ran = [r for r in rows if r["verdict"] != "skipped"]
    same = sum(r["verdict"] == "same" for r in ran)
    with_reason = sum(r["verdict"] == "explained" for r in ran)
    unsteady = sum(r["verdict"] == "unsteady" for r in ran)
    lines = [HEAD, f"**{len(ran)} situations: {same} the same to the byte, {with_reason} but for what is explained below, "
             f"{unsteady} not the same twice by themselves, {len(ran) - same - with_reason - unsteady} differ.**", ""]
    if waiting:
        lines += [f"{waiting} more have not been run with this build.", ""]
    lines += table("block", per_axis(rows, "block")) + table("interpreter", per_axis(rows, "interpreter"))
    lines += ["| interpreter | what it is |", "|---|---|", *(f"| {i.name} | {versions(i)} |" for i in interpreters), ""]
    for title, axis in (("launcher", "launcher"), ("flag", "flag"), ("tracer", "tracer"), ("signal", "signal")):
        values = sorted({v for r in ran for a, v in r["axes"] if a == axis})
        lines += [f"{title.capitalize()}s ({len(values)}): {', '.join(f'`{v}`' for v in values)}.", ""]
    lines += ["## What is explained", "Each explanation names the situations that may need it. If a full run finds an explanation that none "
              "of them needs any more,", "`make transparency` fails, so the explanation must be deleted.", "",
              "| what | in how many | why |", "|---|---:|---|"]
    for e in explained.EXPLAINED:
        n = sum(e.name in r.get("explained", ()) for r in ran)
        lines.append(f"| {e.name} | {n} | {e.reason} |")
    lines += ["", "## What differs, or is not steady", *misses(rows), *(f"- {p}" for p in problems), "", "## What was skipped", *skipped(rows), ""]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
