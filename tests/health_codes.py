#!/usr/bin/env python3
"""Every code that the sources write into the table health stands in analyzer/facts/health_kinds.c, with what it means for
the verdict, and every code of that table is written somewhere. So nobody can add one and forget the verdict.
`health_codes.py selftest` plants a code that is not in the table.

usage: health_codes.py ROOT [selftest]
"""
import glob
import os
import re
import sys

CODE = re.compile(r'"([a-z]+(?:-[a-z0-9]+)*)"')
# functions that write a row, or hand its code on; and the places where a row is made without them
CALL = re.compile(r"\b(?:about_health|put_health|collect_health|spool_put_loss|gpuprof_hook_health|tell_repair|build_health|"
                  r"put_note|complain)\s*\(|struct row_health \w+ = \{|static const char code\[\] =|"
                  r"code, \*text;\s*\} losses\[\] = \{")


def statement(text, at):
    """Up to the semicolon outside of texts."""
    quoted = False
    for i in range(at, len(text)):
        if text[i] == '"' and text[i - 1] != "\\":
            quoted = not quoted
        elif text[i] == ";" and not quoted:
            return text[at:i]
    return text[at:]


def written(sources):
    """code: the places that write it. A call without a literal hands on what another one has."""
    found = {}
    for name, text in sources.items():
        for call in CALL.finditer(text):
            for code in CODE.findall(statement(text, call.end())):
                found.setdefault(code, set()).add(name)
    return found


def sources_of(root):
    found = {}
    for folder in ("agent", "analyzer", "cli"):
        for path in glob.glob(os.path.join(root, folder, "**", "*.c"), recursive=True):
            with open(path, encoding="utf-8") as f:
                found[os.path.relpath(path, root)] = f.read()
    return found


def check(sources):
    table = sources.pop("analyzer/facts/health_kinds.c")
    known = set(re.findall(r'\{"([a-z0-9-]+)", HEALTH_', table))
    found = written(sources)
    wrong = [f"{code} ({', '.join(sorted(where))}) is not in health_kinds.c" for code, where in sorted(found.items())
             if code not in known]
    wrong += [f"{code} is in health_kinds.c, and nobody writes it" for code in sorted(known - set(found))]
    return known, wrong


def main():
    sources = sources_of(sys.argv[1])
    if "selftest" in sys.argv:
        sources["agent/planted.c"] = 'about_health(t, SPOOL_WARNING,\n    "new-loss", "text; more", 0);'
        _, wrong = check(sources)
        print("\n".join(wrong))
        return 0 if len(wrong) == 1 and wrong[0].startswith("new-loss") else 1
    known, wrong = check(sources)
    print("\n".join(wrong) or f"health codes: {len(known)}, each with its meaning")
    return 1 if wrong or len(known) < 40 else 0


sys.exit(main())
