"""Runs a program under torch.profiler, with stacks and shapes, without an edit of it: profiled.py TRACE SCRIPT [ARGUMENT ...]

Each step of an optimizer ends a step of the profiler, as users call prof.step() at the end of a loop. A program that has no
optimizer is recorded as a whole.
"""
import atexit
import os
import runpy
import sys
import warnings

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.profiler import profile, schedule

WAIT, WARM_UP, ACTIVE = 6, 2, 20

warnings.filterwarnings("ignore", module="torch.profiler")
trace, script = sys.argv[1:3]
written = []


def write(p):
    written.append(p)
    p.export_chrome_trace(trace)


def main():
    whole = "optim" not in open(script, encoding="utf-8").read()
    how = {} if whole else {"schedule": schedule(wait=WAIT, warmup=WARM_UP, active=ACTIVE, repeat=1), "on_trace_ready": write}
    first = []

    def step(optimizer, *_):
        first.append(id(optimizer))
        if first[0] == id(optimizer): # of several optimizers the first one counts the steps
            recorder.step()
        del first[1:]

    recorder = profile(with_stack=True, record_shapes=True, **how)
    if not whole:
        register_optimizer_step_post_hook(step)
    sys.argv = [script, *sys.argv[3:]]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    recorder.start()

    def end():
        if not written:
            recorder.stop()
            if not written:
                write(recorder)

    atexit.register(end)
    runpy.run_path(script, run_name="__main__")
    end()


main()
