#!/usr/bin/env python3
"""Makes what a program for other machines is built with: sysroot.py DIR MACHINE (x86_64 or aarch64). DIR/MACHINE gets the headers
and link libraries of glibc 2.28, so that the program runs on old systems, too; SQLite, zlib, cJSON and libdw come as this system's
packages for MACHINE. The C library is that of Python's package ziglang, 101 MB, fetched into DIR after one question, which
GPUPROF_SETUP=yes or no answers for scripts. DIR/MACHINE/run has a C library to run such a program with here. cmake/sysroot.cmake
builds with it. Does nothing where all is there."""
import glob
import os
import re
import shutil
import subprocess
import sys

ZIG, GLIBC = "ziglang==0.17.1", "2.28"
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
PACKAGES = ("libsqlite3-dev", "zlib1g-dev", "libcjson-dev", "libcjson1", "libdw-dev", "libelf-dev", "libc6")


def may_fetch():
    answer = os.environ.get("GPUPROF_SETUP")
    if not answer and sys.stdin.isatty():
        answer = input("sysroot: fetch an old C library, 101 MB, as Python's package ziglang? [Y/n] ").lower() or "yes"
    return (answer or "no").startswith("y")


def zig(folder):
    """The compiler of the package, whose C library can be as old as one asks for."""
    program = os.path.join(folder, "zig/ziglang/zig")
    if not os.path.exists(program):
        if not may_fetch():
            sys.exit("sysroot: an old C library was not fetched: GPUPROF_SETUP=yes fetches it, make SYSROOT= builds with this machine's")
        print(f"sysroot: fetching {ZIG}, 101 MB", flush=True)
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--target",
                        os.path.join(folder, "zig"), ZIG], check=True)
    return program


def c_library(program, place, machine):
    """What that compiler reads and links for an empty program, in the order in which it looks."""
    empty = os.path.join(place, "empty")
    with open(empty + ".c", "w", encoding="utf-8") as f:
        f.write("int main(void) { return 0; }\n")
    said = subprocess.run([program, "cc", "-v", "-target", f"{machine}-linux-gnu.{GLIBC}", "-fPIE", "-pie", empty + ".c", "-o", empty],
                          env={**os.environ, "ZIG_GLOBAL_CACHE_DIR": os.path.join(os.path.dirname(place), "cache")}, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=place).stdout
    searched = re.search(r"<\.\.\.> search starts here:\n(.*?)End of search list", said, re.S).group(1).split()
    for headers in reversed(searched[1:]):  # the first is the compiler's own
        shutil.copytree(os.path.join(place, headers), os.path.join(place, "usr/include"), dirs_exist_ok=True)
    libraries = os.path.join(place, "usr/lib", machine + "-linux-gnu")
    os.makedirs(libraries)
    for file in set(re.findall(r"\S+/(?:\w+\.so\.\d+|Scrt1\.o|libc_nonshared\.a)(?= )", said)):
        name = os.path.basename(file)
        shutil.copy(os.path.join(place, file), os.path.join(libraries, name))
        if ".so." in name and name != "libc.so.6":
            os.symlink(name, os.path.join(libraries, name.split(".so")[0] + ".so"))
    with open(libraries + "/libc.so", "w", encoding="utf-8") as f:
        f.write("GROUP ( libc.so.6 libc_nonshared.a AS_NEEDED ( libld.so.2 ) )\n")


def packages(place, machine):
    """By the apt of this system, with lists of its own: it installs nothing, and changes nothing."""
    apt = os.path.join(place, "apt")
    os.makedirs(apt + "/lists/partial")
    settings = [word for setting in (f"APT::Architecture={DEBIAN[machine]}", f"APT::Architectures={DEBIAN[machine]}", f"Dir::Cache={apt}",
                                     f"Dir::State::Lists={apt}/lists", "Dir::State::Status=/dev/null", "APT::Sandbox::User=")
                for word in ("-o", setting)]
    for command in (["update", "-qq"], ["download", "-qq", *PACKAGES]):
        subprocess.run(["apt-get", *settings, *command], cwd=apt, check=True)
    for package in glob.glob(apt + "/*.deb"):
        into = place + "/run" if os.path.basename(package).startswith("libc6_") else place
        subprocess.run(["dpkg-deb", "-x", package, into], check=True)
    shutil.rmtree(apt)


def main():
    folder, machine = os.path.abspath(sys.argv[1]), sys.argv[2]
    place = os.path.join(folder, machine)
    if os.path.exists(place + "/complete"):
        return
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    try:
        c_library(zig(folder), place, machine)
        print(f"sysroot: fetching {', '.join(PACKAGES)} for {machine}", flush=True)
        packages(place, machine)
    except (OSError, subprocess.CalledProcessError) as e:
        sys.exit(f"sysroot: not made: {e}")
    open(place + "/complete", "w", encoding="utf-8").close()


if __name__ == "__main__":
    main()
