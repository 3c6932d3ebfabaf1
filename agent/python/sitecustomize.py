"""Brings gpuprof's hook into a Python process, and leaves no trace of how it came.

The interpreter imports this file at its start, before the program. The file removes its folder from
sys.path and PYTHONPATH, lets the user's own sitecustomize take its place, and asks the agent to
report when PyTorch has been imported. It imports only modules that the interpreter has already
loaded."""
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def _step_back():
    """Removes this folder from the paths. The agent adds it again for children."""
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


def _uncache():
    """If the user keeps bytecode in a folder of its own (PYTHONPYCACHEPREFIX), the interpreter has
    just written this file's bytecode there: removes it, and the folders that hold nothing else."""
    prefix, cached = sys.pycache_prefix, __spec__.cached
    if not prefix or not cached or not cached.startswith(prefix):
        return
    try:
        os.remove(cached)
        folder = os.path.dirname(cached)
        while len(folder) > len(prefix.rstrip(os.sep)):
            os.rmdir(folder)
            folder = os.path.dirname(folder)
    except OSError:
        pass  # it was not written, or other files lie beside it


def _agent():
    """The agent's own module, from the library that was loaded before the interpreter. It enters no
    table. Raises if the agent is not in this process."""
    import _imp

    flags = sys.getdlopenflags()
    sys.setdlopenflags(os.RTLD_NOW | os.RTLD_NOLOAD)
    try:
        path = os.path.join(os.path.dirname(_FOLDER), "libgpuprof_agent.so")
        return _imp.create_dynamic(type(sys.implementation)(name="gpuprof_agent", origin=path))
    finally:
        sys.setdlopenflags(flags)


def _cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0


_awaited = {}  # name of a module: called with the module once it has been executed


def _await(name, then):
    _awaited[name] = then
    _in_c.expect(name)


def _ready(name):
    module = sys.modules.get(name)
    return module and not getattr(getattr(module, "__spec__", None), "_initializing", False)


def _imported(name):
    """The agent calls this when the import of an awaited module has returned. Tracers do not see
    it."""
    if name not in _awaited or not _ready(name):
        return
    then = _awaited.pop(name)
    _in_c.arrived(name)
    try:
        then(sys.modules[name])
    except Exception as problem:
        _in_c.health(f"PyTorch hook: {problem!r}")


def _torch(torch):
    """Runs gpuprof_torch.py, which is on no path and not in sys.modules."""
    path = os.path.join(_FOLDER, "gpuprof_torch.py")
    with open(path, encoding="utf-8") as file:
        code = compile(file.read(), path, "exec")
    hook = type(sys)("gpuprof_torch")
    hook.__file__, hook.cores_given = path, _given
    exec(code, hook.__dict__)
    for name, then in hook.install(torch, hook).items():
        if _ready(name):
            then(sys.modules[name])
        else:
            _await(name, then)


def _chain():
    """Imports the user's own sitecustomize under its name. Without one, the error is the same as
    without gpuprof."""
    del sys.modules["sitecustomize"]
    import sitecustomize  # noqa: F401  the next one on the path, not this file


try:
    _given = _cores()
    _step_back()
    _uncache()
    if os.environ.get("GPUPROF_DIR"):
        _in_c = _agent()
        if _in_c.begin(_imported):
            _await("torch", _torch)
        else:
            _in_c.health("the PyTorch hook is off: it cannot watch this Python's imports")
except Exception:
    pass
_chain()
