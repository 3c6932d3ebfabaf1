"""Prints the environment as Python, the C library and children see it."""
import os
import subprocess
import sys

LISTED = "import os, sys; print(*map('='.join, sorted(os.environ.items())), sep='\\n'); print(sys.path)"
print(*map("=".join, sorted(os.environ.items())), sep="\n")
with open("/proc/self/environ", "rb") as file:
    print(*sorted(file.read().decode().split("\0")), sep="\n")
sys.stdout.flush()
subprocess.run(["sh", "-c", "env | grep -v ^_= | sort"])
subprocess.run([sys.executable, "-c", LISTED])
subprocess.run([sys.executable, "-S", "-c", LISTED])
subprocess.run([sys.executable, "-c", LISTED], env={"ONLY": "this"})
