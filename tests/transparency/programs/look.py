"""Prints what a program can find out about its interpreter, without and with PyTorch."""
import sys

BEFORE = sorted(sys.modules)  # what the interpreter has imported by itself
import atexit
import copyreg
import gc
import os
import signal
import site
import threading
import warnings

if "torch" in sys.argv[1:]:
    import torch

    loader = torch.utils.data.DataLoader(list(range(4)), batch_size=2)
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for batch in loader:
        (weight.sum() * batch.sum()).backward()
        optimizer.step()
        optimizer.zero_grad()


def show(what, value):
    print(what + ":", value)


for module in BEFORE:
    show("module at the start", module)
for module in sorted(sys.modules):
    show("module now", module)
show("argv", sys.argv)
show("orig_argv", getattr(sys, "orig_argv", None))
show("path", sys.path)
show("flags", sys.flags)
show("options", sorted(sys._xoptions.items()))
show("warnoptions", sys.warnoptions)
show("filters", [(f[0], str(f[1]), f[2], str(f[3]), f[4]) for f in warnings.filters])
show("meta_path", [getattr(f, "__name__", type(f).__name__) for f in sys.meta_path])
show("path_hooks", [getattr(f, "__qualname__", repr(f)) for f in sys.path_hooks])
show("importer cache", sorted(p for p in sys.path_importer_cache))
show("gc callbacks", [getattr(c, "__qualname__", repr(c)) for c in gc.callbacks])
show("gc", (gc.isenabled(), gc.get_threshold(), gc.get_debug()))
show("copyreg", sorted(str(k) for k in copyreg.dispatch_table))
show("threads", [t.name for t in threading.enumerate()])
show("tracing", (sys.gettrace(), sys.getprofile(), sys.getswitchinterval(), sys.getrecursionlimit()))
show("sitecustomize's loader", type(getattr(sys.modules.get("sitecustomize"), "__loader__", None)).__name__)
show("excepthook", (sys.excepthook is sys.__excepthook__, sys.unraisablehook is sys.__unraisablehook__,
                    sys.displayhook is sys.__displayhook__, sys.breakpointhook is sys.__breakpointhook__))
if sys.version_info >= (3, 12):
    show("monitoring", [sys.monitoring.get_tool(i) for i in range(6)])
show("signals", [(s.name, str(signal.getsignal(s)).split(" at ")[0]) for s in sorted(signal.Signals)])
show("blocked", sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
show("descriptors", sorted(int(d) for d in os.listdir("/proc/self/fd"))[:-1])
show("cwd", os.getcwd())
show("site", (site.ENABLE_USER_SITE, site.getusersitepackages(), site.PREFIXES))
show("prefix", (sys.prefix, sys.base_prefix, sys.executable))
show("atexit", getattr(atexit, "_ncallbacks", lambda: None)())
show("encoding", (sys.stdin.encoding, sys.stdout.encoding, sys.stderr.errors, sys.getfilesystemencoding()))
for item in sorted(os.environ.items()):
    if item[0] != "_":  # bash says there what it has started
        show("environment", "%s=%s" % item)
for name in ("sitecustomize", "usercustomize"):
    module = sys.modules.get(name)
    show(name, (getattr(module, "__file__", None), getattr(module, "SEEN", None), getattr(getattr(module, "__spec__", None), "origin", None)))
for name in ("builtins", "os", "sys", "threading", "signal", "gc"):
    show(name, sorted(n for n in dir(sys.modules.get(name) or __import__(name))))
