"""Starts processes in every way that Python has."""
import concurrent.futures
import multiprocessing
import os
import re
import subprocess
import sys
import warnings

# Python 3.12 warns of a fork in a process with several threads, by its number
warnings.simplefilter("always")
warnings.showwarning = lambda message, *rest: print(re.sub(r"pid=\d+", "pid", str(message)), file=sys.stderr)


def work(x):
    return x * x


def leave(status):
    print("leaving", status, flush=True)
    os._exit(status)


def raising():
    raise ValueError("in a child")


def main():
    pid = os.fork()  # with one thread
    if pid == 0:
        os._exit(1)
    print(os.waitpid(pid, 0)[1] >> 8, flush=True)
    for method in multiprocessing.get_all_start_methods():
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool:
            print(method, pool.map(work, range(5)), flush=True)
        child = context.Process(target=leave, args=(3,))
        child.start()
        child.join()
        print(child.exitcode, flush=True)
    child = multiprocessing.get_context("fork").Process(target=raising, name="raiser")
    child.start()
    child.join()
    print(child.exitcode, flush=True)
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        print(list(pool.map(work, range(4))), flush=True)
    pid = os.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", "import sys; print('executed', sys.path[0:1], flush=True); sys.exit(6)"])
    print(os.waitpid(pid, 0)[1] >> 8, flush=True)
    with subprocess.Popen([sys.executable, "-c", "print(input()[::-1])"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, universal_newlines=True) as child:
        print(child.communicate("backwards\n")[0], end="")
    print(subprocess.call("exit 9", shell=True), os.system("exit 2") >> 8)
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", "raise SystemExit(5)"], os.environ)
    print(os.waitpid(pid, 0)[1] >> 8)
    print(sys.stdin.read())


if __name__ == "__main__":
    main()
