"""Brings gpuprof's hook into a Python process, and takes every trace of it off again.

The interpreter imports this at its start, before the program. It undoes what led here (the entry on
the path, the variable), lets the user's own sitecustomize take this module's place, and leaves one
import finder behind that waits for PyTorch. It imports nothing that the interpreter has not loaded.
"""
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def _step_back():
    """As if this folder had never been on the path. Children get it anew from the agent."""
    for at, entry in enumerate(sys.path):
        if entry == _FOLDER:
            del sys.path[at]
            break
    sys.path_importer_cache.pop(_FOLDER, None)
    first, _, rest = os.environ.get("PYTHONPATH", "").partition(os.pathsep)
    if first == _FOLDER:
        if rest:
            os.environ["PYTHONPATH"] = rest
        else:
            del os.environ["PYTHONPATH"]


class _Finder:
    """First on sys.meta_path while something is awaited; finds nothing itself."""

    def __init__(self):
        self.awaited = {"torch": self._torch}  # module: called with it once it has been executed
        self.inside = False

    def find_spec(self, name, path=None, target=None):
        if name not in self.awaited or self.inside:
            return None
        self.inside = True
        try:
            return self._find(name, path, target)
        except Exception:
            return None  # the finders behind this one are asked again, and say what is wrong
        finally:
            self.inside = False

    def _find(self, name, path, target):
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                if spec.loader is not None and spec.origin:
                    self._arm(spec.loader, self.awaited.pop(name))
                return spec
        return None

    def _arm(self, loader, then):
        """The module is executed as ever, then it is hooked. The loader is as it was by then. In C,
        so that no frame of ours is around the module: tracebacks and warnings stay as they are."""
        import ctypes

        library, execute = ctypes.PyDLL(None), loader.exec_module

        def done(module):
            try:
                del loader.exec_module
                then(module)
                if not self.awaited:
                    sys.meta_path.remove(self)
            except Exception as problem:
                library.gpuprof_hook_health(b"python-hook", f"PyTorch hook: {problem!r}".encode())

        wrap = library.gpuprof_hook_wrap
        wrap.restype = ctypes.py_object
        wrap.argtypes = [ctypes.py_object, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p,
                         ctypes.c_int, ctypes.c_void_p]
        made = wrap(execute, 1, b"exec_module", b"", 0, id(done))
        if made is execute:
            library.gpuprof_hook_health(b"python-hook", b"PyTorch is not hooked: this Python is "
                                                        b"older than 3.9")
        else:
            loader.exec_module = made

    def _torch(self, torch):
        """Runs gpuprof_torch.py, which is on no path and stays out of sys.modules."""
        path = os.path.join(_FOLDER, "gpuprof_torch.py")
        with open(path, encoding="utf-8") as file:
            code = compile(file.read(), path, "exec")
        hook = type(sys)("gpuprof_torch")
        hook.__file__ = path
        exec(code, hook.__dict__)
        for name, then in hook.install(torch, hook).items():
            if name in sys.modules:
                then(sys.modules[name])
            else:
                self.awaited[name] = then


def _chain():
    """The user's own sitecustomize, under its own name; without one, the same as without us."""
    del sys.modules["sitecustomize"]
    import sitecustomize  # noqa: F401  the next one on the path, not this file


try:
    _step_back()
    if os.environ.get("GPUPROF_DIR"):
        sys.meta_path.insert(0, _Finder())
except Exception:
    pass
_chain()
