#!/usr/bin/env python3
"""interfaces.py CC BUILD INCLUDE...: what interfaces/ declares of cuBLAS, cuDNN, NCCL and CUDA's profiler calls is what their own headers declare.

Their headers are looked for in the folders INCLUDE and in CUDA's Python wheels; a library whose header is nowhere is
skipped. Enumerators and the layout of structures are printed by one program, compiled once with each; of functions, types and
macros the two declarations are put into one file, which a C compiler takes only where they agree. `interfaces.py selftest CC
BUILD INCLUDE...` plants a wrong value, a wrong type and a wrong member in a copy, and wants each to be found.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interfaces")
LIBRARIES = {
    "cuBLAS": ["cublas_v2.h", "cublasLt.h", "cublasXt.h"],
    "cuDNN": ["cudnn.h", "cudnn_graph.h", "cudnn_ops.h", "cudnn_cnn.h", "cudnn_adv.h"],
    "NCCL": ["nccl.h"],
    "CUDA's profiler calls": ["cuda_profiler_api.h"],
}


def code(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def take_apart(header):
    """(enumerators, structures with members as (type's name, member), everything else) of one of our headers."""
    text = code(header).replace("\\\n", " ")
    enums, structs = [], []

    def enum(m):
        enums.extend(re.findall(r"(\w+) *=", m.group(1)))
        return ""

    def struct(m):
        members = re.findall(r"(\w+)(?:\[\w*\])? *;", m.group(2))
        structs.append((m.group(3), members))
        return ""

    text = re.sub(r"typedef enum \w*\s*\{(.*?)\} *\w+;", enum, text, flags=re.S)
    text = re.sub(r"typedef struct (\w*)\s*\{(.*?)\} *(\w+);", struct, text, flags=re.S)
    lines = [l for l in text.splitlines() if not re.match(r"#\s*(include|ifndef|ifdef|endif)|#define INTERFACES_|extern \"C\"|\}$", l)]
    # a macro that expands to more than a name has its own spelling on each side
    lines = [l for l in lines if not re.match(r"#define (\w+_VER_\w+|\w+_(MAJOR|MINOR|PATCH|LEVEL)|\w+VERSION\w*)\b", l)]
    return enums, structs, "\n".join(lines)


def compile_(cc, source, program, folders):
    command = [cc, "-std=gnu11", "-w", *["-I" + f for f in folders], "-x", "c", "-"]
    command += ["-o", program] if program else ["-fsyntax-only"]
    return subprocess.run(command, input=source, capture_output=True, text=True)


def printer(name, enums, structs):
    rows = ["    printf(\"%s %%lld\\n\", (long long)%s);" % (e, e) for e in enums]
    for of, members in structs:
        rows.append("    printf(\"%s %%zu\\n\", sizeof(%s));" % (of, of))
        rows += ["    printf(\"%s.%s %%zu %%zu\\n\", offsetof(%s, %s), sizeof(((%s *)0)->%s));" % (of, m, of, m, of, m)
                 for m in members]
    return "#include <stddef.h>\n#include <stdio.h>\n#include <%s>\nint main(void)\n{\n%s\n}\n" % (name, "\n".join(rows))


def check(ours, name, theirs, cuda, cc, work):
    """What differs between ours/name and the header in the folder `theirs`."""
    enums, structs, rest = take_apart(open(os.path.join(ours, name)).read())
    said = []
    for folder in (ours, theirs):
        program = os.path.join(work, "print")
        done = compile_(cc, printer(name, enums, structs), program, [folder, *cuda])
        if done.returncode:
            return "%s: %s" % (name, done.stderr.strip()[:600])
        said.append(subprocess.run([program], capture_output=True, text=True).stdout.splitlines())
    differ = [a + " here, there " + b for a, b in zip(*said) if a != b]
    both = compile_(cc, "#include <%s>\n%s\n" % (name, rest), None, [theirs, *cuda])
    if both.returncode:
        differ.append(both.stderr.strip()[:600])
    return "\n".join("%s: %s" % (name, d) for d in differ)


def folder_of(header, folders):
    for f in folders:
        if os.path.exists(os.path.join(f, header)) and os.path.realpath(f) != os.path.realpath(HERE):
            return f
    return None


def compare(ours, cc, folders, work):
    wrong, skipped = [], []
    cuda = [f for f in folders if os.path.realpath(f) != os.path.realpath(HERE)]
    for library, headers in LIBRARIES.items():
        theirs = folder_of(headers[0], folders)
        if not theirs:
            skipped.append(library)
            continue
        wrong += [w for w in (check(ours, h, theirs, cuda, cc, work) for h in headers if os.path.exists(os.path.join(theirs, h))) if w]
    return wrong, skipped


def selftest(cc, folders, work):
    plants = {"nccl.h": [("ncclInvalidUsage = 5", "ncclInvalidUsage = 6"), ("int cgaClusterSize;\n", "long cgaClusterSize;\n"),
                         ("ncclResult_t ncclMemFree(void *);", "ncclResult_t ncclMemFree(int *);")]}
    if not folder_of("nccl.h", folders):
        print("skipped: no header of NCCL")
        return 77
    for name, changes in plants.items():
        for before, after in changes:
            copy = os.path.join(work, "copy")
            shutil.copytree(HERE, copy, dirs_exist_ok=True)
            text = open(os.path.join(copy, name)).read()
            assert before in text, before
            open(os.path.join(copy, name), "w").write(text.replace(before, after))
            if not compare(copy, cc, folders, work)[0]:
                print("not found: " + after)
                return 1
    print("interfaces: every planted fault was found")
    return 0


def main(arguments):
    planted = arguments[0] == "selftest"
    cc, build, *folders = arguments[planted:]
    folders = [f for folder in folders for f in (folder, os.path.join(folder, "include")) if os.path.isdir(f)]
    with tempfile.TemporaryDirectory(dir=build) as work:
        if planted:
            return selftest(cc, folders, work)
        wrong, skipped = compare(HERE, cc, folders, work)
    print("\n".join(wrong))
    if not wrong and len(skipped) == len(LIBRARIES):
        print("skipped: no header of cuBLAS, cuDNN or NCCL")
        return 77
    print("interfaces: %s%s" % ("wrong" if wrong else "ok", "; not compared: " + ", ".join(skipped) if skipped else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
