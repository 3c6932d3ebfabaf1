#!/usr/bin/env python3
"""Makes the folder DIR in which the C library is an old one, so that what is built with it runs on old systems, too: sysroot.py
DIR. The library, of Ubuntu 18.04 (glibc 2.27), is fetched, 5 MB, from the mirror of Ubuntu that GPUPROF_UBUNTU names
(http://HOST/ubuntu); the headers of Linux, cJSON, SQLite, zlib and libdw and the static libraries are this machine's. cmake/sysroot.cmake builds with it. Does nothing where DIR is complete."""
import glob
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import urllib.request

MIRROR = os.environ.get("GPUPROF_UBUNTU")
PACKAGES = {"libc6_2.27-3ubuntu1_amd64.deb": "1e1eb86fd646aa68f7144ec692b837b6b352d215880c6a2d0c92c19d36938427",
            "libc6-dev_2.27-3ubuntu1_amd64.deb": "e426c70a940a7d0c5c95823a5fd01f26bd8bcb08d109df2f8c96c439da8dc440"}
HEADERS = ("linux", "asm-generic", "cjson", "sqlite3.h", "zlib.h", "elfutils", "libelf.h", "gelf.h", "dwarf.h")
THERE = ("asm", "zconf.h", "bits/syscall.h")  # in the folder of the machine
STATIC = ("libsqlite3.a", "libz.a")


def unpack(package, folder):
    """A .deb is an ar archive: a line of 60 bytes, then the data, for each of its files."""
    at = 8
    while at < len(package):
        name, size = package[at:at + 16].decode().strip(" /"), int(package[at + 48:at + 58])
        if name.startswith("data.tar"):
            with tarfile.open(fileobj=io.BytesIO(package[at + 60:at + 60 + size])) as tar:
                tar.extractall(folder)
        at += 60 + size + size % 2


def main():
    folder = os.path.abspath(sys.argv[1])
    machine = subprocess.check_output(["cc", "-dumpmachine"], text=True).strip()
    if os.path.exists(os.path.join(folder, "complete")):
        return
    if machine != "x86_64-linux-gnu":
        sys.exit(f"sysroot: no old C library is known for {machine}")
    if not MIRROR:
        sys.exit("sysroot: GPUPROF_UBUNTU=http://HOST/ubuntu names the mirror that has the old C library; make SYSROOT= builds with "
                 "this machine's")
    shutil.rmtree(folder, ignore_errors=True)
    for name, wanted in PACKAGES.items():
        print(f"sysroot: fetching {name}")
        try:
            with urllib.request.urlopen(f"{MIRROR}/pool/main/g/glibc/{name}", timeout=60) as answer:
                package = answer.read()
        except (OSError, ValueError) as e:
            sys.exit(f"sysroot: {name} is not to be had from GPUPROF_UBUNTU={MIRROR}: {e}")
        if hashlib.sha256(package).hexdigest() != wanted:
            sys.exit(f"sysroot: {name} is not the file that it should be")
        unpack(package, folder)
    for link in glob.glob(f"{folder}/**/*", recursive=True):
        if os.path.islink(link) and os.readlink(link).startswith("/"):
            to = folder + os.readlink(link)
            os.unlink(link)
            os.symlink(to, link)
    into = os.path.join(folder, "usr/include")
    places = ["/usr/include", f"/usr/include/{machine}"]
    for name in HEADERS + THERE:
        found = [p for p in (os.path.join(place, name) for place in places) if os.path.exists(p)]
        if found and os.path.isdir(found[0]):
            shutil.copytree(found[0], os.path.join(into, name), dirs_exist_ok=True)
        elif found:
            shutil.copy(found[0], os.path.join(into, machine if "bits/" in name else "", name))
    for name in STATIC:
        shutil.copy(os.path.join("/usr/lib", machine, name), os.path.join(folder, "usr/lib", machine))
    open(os.path.join(folder, "complete"), "w", encoding="utf-8").close()


if __name__ == "__main__":
    main()
