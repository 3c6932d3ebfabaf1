#!/usr/bin/env python3
"""The lists of calls in vgpu/docs/virtual-gpu.md, made from the libraries of the virtual GPU: what is defined there is modelled,
what is only a weak symbol ends the program. Without --write, fails if the page differs. A library that this build
lacks keeps its lists.

usage: calls.py BUILD [--write]
"""
import glob
import os
import re
import subprocess
import sys
import textwrap

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../docs/virtual-gpu.md")
START, END = "<!-- made from the libraries by vgpu/tests/calls.py BUILD --write -->\n", "<!-- end -->"
OURS = ("libvgpu-core.so", "libvgpu-reach.so")


def calls(library):
    """The modelled and the missing ones, in alphabetical order, without the forms of a listed one."""
    modelled, missing = set(), set()
    listing = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        kind, name = line.split()[-2:]
        name = name.split("@")[0]
        if re.match(r"_*p?(cuda|cublas|cudnn|cufft|curand|cusparse|cusolver|cupti|cu|nccl|nvml)[A-Z]", name) and kind in "TtWw":
            (missing if kind in "Ww" else modelled).add(name)
    modelled -= {n for n in modelled if n.endswith("_64") and n[:-3] in missing}
    plain = lambda names: sorted(n for n in names if re.sub(r"(_ptsz|_ptds|_64)+$", "", n) not in names - {n})  # noqa: E731
    return plain(modelled), plain(missing)


def section(library, known):
    """`known` keeps what libraries have: one that has the same as another of its kind names that one."""
    name = os.path.basename(library)
    modelled, missing = calls(library)
    twin = known.setdefault((name.split(".so")[0], tuple(modelled), tuple(missing)), name)
    if twin != name:
        return name, f"\n### {name}: {len(modelled)} calls, {len(missing)} missing\n\nThe same as `{twin}`.\n"
    text = f"\n### {name}: {len(modelled)} calls, {len(missing)} missing\n"
    for title, names in (("Modelled", modelled), ("Missing", missing)):
        if names:
            text += f"\n{title}:\n" + textwrap.fill(", ".join(f"`{n}`" for n in names), 118, break_long_words=False,
                                                    break_on_hyphens=False) + "\n"
    return name, text


def main():
    folder = os.path.join(sys.argv[1], "lib/vgpu")
    built = [f for f in sorted(glob.glob(os.path.join(folder, "lib*.so*")))
             if not os.path.islink(f) and os.path.basename(f) not in OURS]
    if not built:
        print("no virtual GPU in this build")
        return 77
    with open(PAGE, encoding="utf-8") as f:
        page = f.read()
    head, rest = page.split(START)
    old, tail = rest.split(END)
    sections = {m.group(1): m.group(0) for m in re.finditer(r"\n### (\S+): .*?(?=\n### |\Z)", old, re.S)}
    known = {}
    for library in reversed(built):  # the newest first
        name, text = section(library, known)
        sections[name] = text
    new = head + START + "".join(sections[name] for name in sorted(sections)) + END + tail
    if "--write" in sys.argv:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(new)
    elif new != page:
        print("vgpu/docs/virtual-gpu.md is stale: vgpu/tests/calls.py BUILD --write")
        return 1
    print(f"{len(built)} libraries listed")
    return 0


sys.exit(main())
