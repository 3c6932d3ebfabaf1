"""Starts another Python program in the way that the first argument names, and ends as that did."""
import multiprocessing
import os
import runpy
import subprocess
import sys


def run(script, arguments):
    sys.argv = [script] + arguments
    runpy.run_path(script, run_name="__main__")


def main(how, script, *arguments):
    command = [sys.executable, script] + list(arguments)
    if how == "subprocess":
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        sys.stdout.buffer.write(done.stdout)
        return done.returncode
    if how == "execv":
        os.execv(sys.executable, command)
    if how == "posix_spawn":
        return os.WEXITSTATUS(os.waitpid(os.posix_spawn(sys.executable, command, os.environ), 0)[1])
    if how == "emptied":
        return subprocess.call(command, env={"HOME": os.environ["HOME"], "PATH": "/usr/bin:/bin"})
    if how == "fork":
        pid = os.fork()
        if pid == 0:
            run(script, list(arguments))
            sys.stdout.flush()
            os._exit(0)
        return os.WEXITSTATUS(os.waitpid(pid, 0)[1])
    child = multiprocessing.get_context(how.replace("_context", "")).Process(target=run, args=(script, list(arguments)))
    child.start()
    child.join()
    return child.exitcode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
