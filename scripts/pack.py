#!/usr/bin/env python3
"""Packs what is built into files for other machines: pack.py OUT wheel|archive|deb BUILD, or release BUILD...: all of them for each
build, the sources, what is inside (SPDX) and checksums. Packed twice, they are the same to the byte: their times are
SOURCE_DATE_EPOCH, or that of the last commit."""
import base64
import gzip
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NAME = "gpuprof-cuda"  # of the distribution: `gpuprof` is another project's on Python's package index
SUMMARY = "Why is my training loop slow, and what do I change first? A profiler for CUDA training loops"
# Another distribution may bring a command `gpuprof`, too, and replace this one: the program itself has a name of its own.
COMMAND = '#!/bin/sh\nexec "$(dirname "$(readlink -f "$0")")/%s" "$@"\n' % NAME


def output(*command):
    return subprocess.check_output(command, cwd=TOP, text=True).strip()


def moment():
    told = os.environ.get("SOURCE_DATE_EPOCH")
    return int(told if told else output("git", "log", "-1", "--format=%ct"))


def setting(build, key):
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as f:
        return re.search(rf"^{key}:[A-Z]+=(.*)$", f.read(), re.M).group(1)


def files(folder):
    """(Name in the folder, path) of all files, sorted; what is a link has the contents of its target."""
    found = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
    return sorted((os.path.relpath(path, folder), path) for path in found)


def machine_of(program):
    with open(program, "rb") as f:
        return {62: "x86_64", 183: "aarch64"}[int.from_bytes(f.read(20)[18:], "little")]


def needs_glibc(folder):
    """The newest version of the C library that a file names, as (2, 27)."""
    newest = (2, 17)
    for _, path in files(folder):
        with open(path, "rb") as f:
            if f.read(4) != b"\x7fELF":
                continue
        for version in re.findall(r"GLIBC_(\d+)\.(\d+)", output("readelf", "-V", path)):
            newest = max(newest, tuple(map(int, version)))
    return newest


def write_wheel(stage, out, version, machine):
    major, minor = needs_glibc(stage)
    tag = f"py3-none-manylinux_{major}_{minor}_{machine}"
    base = f"{NAME.replace('-', '_')}-{version}"
    inside = []  # name, contents, executable
    for name, path in files(stage):
        with open(path, "rb") as f:
            inside.append((f"{base}.data/data/{name}", f.read(), os.access(path, os.X_OK)))
        if name == "bin/gpuprof":
            inside[-1:] = [(f"{base}.data/scripts/gpuprof", COMMAND.encode(), True),
                           (f"{base}.data/data/bin/{NAME}", inside[-1][1], True)]  # it finds its library from there
    with open(os.path.join(TOP, "README.md"), encoding="utf-8") as f:
        about = (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version}\nSummary: {SUMMARY}\nLicense: Apache-2.0\n"
                 f"Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n{f.read()}")
    wheel = f"Wheel-Version: 1.0\nGenerator: gpuprof\nRoot-Is-Purelib: false\nTag: {tag}\n"
    with open(os.path.join(TOP, "LICENSE"), encoding="utf-8") as f:
        texts = {"METADATA": about, "WHEEL": wheel, "LICENSE": f.read()}
    inside += [(f"{base}.dist-info/{name}", text.encode(), False) for name, text in texts.items()]
    record = "".join("{},sha256={},{}\n".format(name, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("="),
                                                len(data)) for name, data, _ in inside)
    inside.append((f"{base}.dist-info/RECORD", (record + f"{base}.dist-info/RECORD,,\n").encode(), False))
    path = os.path.join(out, f"{base}-{tag}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data, runs in inside:
            entry = zipfile.ZipInfo(name, time.gmtime(moment())[:6])
            entry.external_attr = (stat.S_IFREG | (0o755 if runs else 0o644)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return path


def archive(path, prefix, named):
    """NAMED files, (name, path), under PREFIX in the .tar.gz PATH."""
    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = moment()
        entry.mode = 0o755 if entry.mode & 0o100 else 0o644
        return entry

    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, moment()) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for name, file in named:
            tar.add(file, f"{prefix}/{name}", filter=plain)
    return path


def write_archive(stage, out, version, machine):
    base = f"gpuprof-{version}-linux-{machine}"
    return archive(os.path.join(out, base + ".tar.gz"), base, files(stage))


def write_source(out, version):
    base = f"gpuprof-{version}"
    tracked = output("git", "ls-files").splitlines()
    return archive(os.path.join(out, base + ".tar.gz"), base, [(name, os.path.join(TOP, name)) for name in sorted(tracked)])


def write_deb(stage, out, version, machine):
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[machine]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(stage, folder + "/root/usr", symlinks=True)
        os.mkdir(folder + "/root/DEBIAN")
        with open(folder + "/root/DEBIAN/control", "w", encoding="utf-8") as f:
            f.write(f"Package: gpuprof\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: the gpuprof authors <gpuprof@example.org>\n"
                    f"Depends: libc6 (>= {'.'.join(map(str, needs_glibc(stage)))})\nRecommends: libdw1\nSection: devel\nPriority: optional\n"
                    f"Description: {SUMMARY}\n")
        for at, names, more in os.walk(folder + "/root"):
            os.chmod(at, 0o755)
            for name in names + more:
                os.utime(os.path.join(at, name), (moment(), moment()), follow_symlinks=False)
        path = os.path.join(out, f"gpuprof_{version}_{architecture}.deb")
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", folder + "/root", path], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "SOURCE_DATE_EPOCH": str(moment())})
    return path


def linked(folder, header, *macros):
    """The version of a library, from the header that the build used: in one macro, or one for each number."""
    with open(os.path.join(folder, header), encoding="utf-8") as f:
        text = f.read()
    return ".".join(re.search(rf'#define {macro}\s+"?([0-9.]+)', text).group(1) for macro in macros)


def write_sbom(build, out, version):
    """What is in the packages: SPDX 2.3."""
    def part(name, of, licence, **more):
        return {"SPDXID": f"SPDXRef-{name}", "name": name, "versionInfo": of, "licenseDeclared": licence, "licenseConcluded": licence,
                "copyrightText": "NOASSERTION", "downloadLocation": "NOASSERTION", "filesAnalyzed": False, **more}

    parts = [part("gpuprof", version, "Apache-2.0"),
             part("sqlite", linked(setting(build, "SQLite3_INCLUDE_DIR"), "sqlite3.h", "SQLITE_VERSION"), "blessing"),
             part("zlib", linked(setting(build, "ZLIB_INCLUDE_DIR"), "zlib.h", "ZLIB_VERSION"), "Zlib"),
             part("cjson", linked(setting(build, "CJSON_INCLUDE"), "cjson/cJSON.h", *(f"CJSON_VERSION_{m}" for m in ("MAJOR", "MINOR", "PATCH"))), "MIT")]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", parts[0]["SPDXID"])] + [
        (p["SPDXID"], "DYNAMIC_LINK" if p["name"] == "cjson" else "STATIC_LINK", parts[0]["SPDXID"]) for p in parts[1:]]
    document = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"gpuprof-{version}",
                "documentNamespace": f"https://example.org/spdx/gpuprof-{version}-{output('git', 'rev-parse', 'HEAD')}",
                "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment())), "creators": ["Tool: gpuprof-pack"]},
                "packages": parts,
                "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in relations]}
    path = os.path.join(out, f"gpuprof-{version}.spdx.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(document, f, indent=1)
        f.write("\n")
    return path


def write_sums(out):
    path = os.path.join(out, "SHA256SUMS")
    with open(path, "w", encoding="utf-8") as sums:
        for name in sorted(set(os.listdir(out)) - {"SHA256SUMS"}):
            with open(os.path.join(out, name), "rb") as f:
                sums.write(f"{hashlib.sha256(f.read()).hexdigest()}  {name}\n")
    return path


KINDS = {"wheel": write_wheel, "archive": write_archive, "deb": write_deb}


def pack(build, out, version, kinds):
    with tempfile.TemporaryDirectory() as stage:
        for component in ("gpuprof", "gpuprof-dev"):
            subprocess.run(["cmake", "--install", build, "--prefix", stage, "--component", component, "--strip"], check=True, stdout=subprocess.DEVNULL)
        machine = machine_of(stage + "/bin/gpuprof")
        print(f"for {machine}, glibc {'.'.join(map(str, needs_glibc(stage)))} or newer")
        return [KINDS[kind](stage, out, version, machine) for kind in kinds]


def main():
    out, kind, *builds = sys.argv[1:]
    release = kind == "release"
    os.makedirs(out, exist_ok=True)
    if release and (os.listdir(out) or output("git", "status", "--porcelain")):
        sys.exit("release: it needs an empty folder, and a tree in which all is committed")
    version = setting(builds[0], "CMAKE_PROJECT_VERSION")
    made = [path for build in builds for path in pack(build, out, version, KINDS if release else [kind])]
    if release:
        made += [write_source(out, version), write_sbom(builds[0], out, version), write_sums(out)]
    for path in made:
        print(f"{path}  {os.path.getsize(path) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
