#!/usr/bin/env python3
"""The Python hook in programs without PyTorch: they cannot tell that it is there.

usage: plain.py BUILD
"""
import os
import shutil
import sys

from support import PYTHON, Test, health, query

STATE = """
import os, sys
print(sys.path[1:], sys.flags, sorted(sys.modules), sys.argv)
print(os.environ.get('PYTHONPATH'), sys.exc_info(), 'sitecustomize' in sys.modules)
print(sorted(sys.path_importer_cache))
"""
CHILDREN = """
import os, subprocess, sys
code = "import os, sys; print(os.environ.get('PYTHONPATH'), sys.path[1:])"
for options in ([], ['-I'], ['-E'], ['-S'], ['-sE'], ['-W', 'ignore'], ['-Werror'], ['-X', 'dev']):
    print(options, subprocess.run([sys.executable, *options, '-c', code], capture_output=True).stdout)
print(subprocess.run('echo path=$PYTHONPATH; env | grep -c PYTHONPATH', shell=True,
                     capture_output=True).stdout)
"""
SPAWN = """
import multiprocessing as mp, os, sys
def work(q, i):
    q.put((i, os.environ.get('PYTHONPATH'), len(sys.path)))
if __name__ == '__main__':
    for method in ('fork', 'spawn', 'forkserver'):
        ctx = mp.get_context(method)
        q = ctx.Queue()
        ps = [ctx.Process(target=work, args=(q, i)) for i in range(2)]
        [p.start() for p in ps]
        print(method, sorted(q.get() for _ in ps))
        [p.join() for p in ps]
        print([p.exitcode for p in ps])
"""
MANY = """
import subprocess, sys, threading
done = []
def work():
    for _ in range(5):
        done.append(subprocess.run(['/bin/true']).returncode)
threads = [threading.Thread(target=work) for _ in range(64)]
[t.start() for t in threads]; [t.join() for t in threads]
for _ in range(180):
    done.append(subprocess.run(['/bin/true']).returncode)
print(len(done), sum(done))
"""


def main():
    test = Test(sys.argv[1])
    python = PYTHON if os.path.exists(PYTHON) else sys.executable
    state = test.write("state.py", STATE)
    for options in ([], ["-I"], ["-E"], ["-S"], ["-s"], ["-B"], ["-W", "ignore"], ["-sIB"],
                    ["-X", "utf8"]):
        test.same(f"state, options {options}", [python, *options, state, "-E", "x"])
    test.same("-c", [python, "-c", STATE])
    test.same("user's PYTHONPATH", [python, state], PYTHONPATH="/tmp:/usr")
    test.same("children", [python, "-c", CHILDREN])
    test.same("children, PYTHONPATH", [python, "-c", CHILDREN], PYTHONPATH="/opt")
    test.same("fork and spawn", [python, test.write("spawn.py", SPAWN)])
    test.same("64 threads, 500 children", [python, "-c", MANY])

    ours = test.path("own")
    test.write("own/sitecustomize.py", "import sys\nprint('mine', __name__, __file__, "
               "sys.modules[__name__].__spec__.name)\nvalue = 3\n")
    test.write("own/usercustomize.py", "print('user')\n")
    test.same("own sitecustomize", [python, "-c", STATE + "import sitecustomize\n"
                                    "print(sitecustomize.value)"], PYTHONPATH=ours)
    test.write("bad/sitecustomize.py", "raise ValueError('on purpose')\n")
    test.same("failing sitecustomize", [python, "-c", STATE], PYTHONPATH=test.path("bad"))
    test.write("none/sitecustomize.py", "import no_such_module\n")
    test.same("sitecustomize that misses a module", [python, "-c", "print(1)"],
              PYTHONPATH=test.path("none"))

    test.same("traceback", [python, "-c", "import json\ndef f(): json.loads('{')\nf()"])
    test.same("missing module", [python, "-c", "import torch_that_is_not_there"])
    test.same("broken torch", [python, "-c", "import torch"],
              PYTHONPATH=os.path.dirname(test.write("fake/torch.py", "1 / 0\n")))
    fake = os.path.dirname(test.write("fake2/torch.py", "x = 1\n"))
    profile = test.same("a torch that is another", [
        python, "-c", "import torch; print(torch.x, type(torch.__loader__), vars(torch.__loader__))"],
        PYTHONPATH=fake)
    codes = [c for (c,) in query(profile, "SELECT s.text FROM health h JOIN string s "
                                          "ON s.id = h.code")]
    test.check("python-hook" in codes, "what the hook could not do is in the health table", codes)
    for option in ("-I", "-E", "-S"):
        command = [python, option, "-c", "import sys, ctypes; sys.argv.append('x'); ctypes.CDLL(sys.argv[1])"]
        library = test.path("libtorch_python.so")  # as if PyTorch were loaded: its library is what counts
        shutil.copy(os.path.join(os.path.dirname(test.gpuprof), "..", "lib", "libgpuprof_agent.so"), library)
        text = [t for _, t in health(test.same(f"PyTorch, {option}", [*command, library]))]
        test.check(any(f"ran with {option}:" in t for t in text), f"{option}: it is said that the hook was off", text)
        profile = test.same(f"no PyTorch, {option}", [python, option, "-c", "print(1)"])
        test.check(not health(profile), f"{option}: nothing is said without PyTorch", health(profile))
    test.same("os._exit", [python, "-c", "import os; print('x', flush=True); os._exit(9)"])
    test.same("SIGKILL", [python, "-c", "import os; print('x', flush=True); os.kill(os.getpid(), 9)"])
    test.same("own LD_PRELOAD", [python, "-c", "print(1)"], LD_PRELOAD="libm.so.6")
    test.same("pdb", [python, "-m", "pdb", "-c", "continue", state])
    venv = test.path("venv")
    if test.run([python, "-m", "venv", "--without-pip", venv]).returncode == 0:
        test.same("venv", [venv + "/bin/python", state])
    test.done()


if __name__ == "__main__":
    main()
