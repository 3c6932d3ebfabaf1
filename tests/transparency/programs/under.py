"""Runs a program under a tracer of Python's own, and prints which functions and files the tracer saw, without times."""
import os
import re
import runpy
import sys
import threading
import traceback

SEEN = set()


def place(code):
    return (os.path.relpath(code.co_filename) if not code.co_filename.startswith("<") else code.co_filename, code.co_name)


def note(frame, event, arg):
    if event.startswith("c_"):
        SEEN.add((event, getattr(arg, "__module__", None) or "", getattr(arg, "__qualname__", repr(type(arg)))))
    else:
        SEEN.add((event,) + place(frame.f_code))
        line = frame.f_back
        if line is not None:
            SEEN.add(("caller",) + place(line.f_code))
    return None


def report():
    for row in sorted(SEEN):
        print("seen", *row)


def cprofile(go):
    import cProfile
    import pstats

    profile = cProfile.Profile()
    profile.runcall(go)
    for (file, line, name), row in pstats.Stats(profile).stats.items():
        if " at 0x" in name:
            name = name.split(" at 0x")[0]
        SEEN.add(("calls", file, line, name, row[0] if file.startswith(os.getcwd()) else ""))


def tracemalloced(go):
    import tracemalloc

    tracemalloc.start(3)
    go()
    snapshot = tracemalloc.take_snapshot()
    tracemalloc.stop()
    SEEN.update(("allocates", s.traceback[0].filename) for s in snapshot.statistics("filename")
                if "site-packages" in s.traceback[0].filename or "gpuprof" in str(s.traceback))


def monitored(go):
    events = sys.monitoring.events
    sys.monitoring.use_tool_id(sys.monitoring.PROFILER_ID, "own")
    for event, name in ((events.PY_START, "start"), (events.PY_RETURN, "return"), (events.CALL, "call"),
                        (events.RAISE, "raise")):
        def callback(code, *rest, name=name):
            what = rest[1] if name == "call" else None
            SEEN.add((name,) + place(code) + (getattr(what, "__qualname__", type(what).__name__),))
        sys.monitoring.register_callback(sys.monitoring.PROFILER_ID, event, callback)
    sys.monitoring.set_events(sys.monitoring.PROFILER_ID, events.PY_START | events.PY_RETURN | events.CALL | events.RAISE)
    try:
        go()
    finally:
        sys.monitoring.set_events(sys.monitoring.PROFILER_ID, 0)


def traced(go):
    import trace

    tracer = trace.Trace(count=1, trace=0, countfuncs=0)
    tracer.runfunc(go)
    SEEN.update(("line", file, line) for (file, line) in tracer.results().counts if "torch" not in file or "gpuprof" in file)


def frames(go):
    """Every frame of every thread, from a second thread, as a sampling profiler looks."""
    stop = threading.Event()

    def sampler():
        while not stop.wait(0.001):
            for frame in sys._current_frames().values():
                while frame is not None:
                    if "gpuprof" in frame.f_code.co_filename:
                        SEEN.add(("frame",) + place(frame.f_code))
                    frame = frame.f_back
    thread = threading.Thread(target=sampler)
    thread.start()
    go()
    stop.set()
    thread.join()


def audited(go):
    def hook(event, arguments):
        if event in ("open", "import", "exec", "compile", "ctypes.dlopen", "ctypes.dlsym", "os.putenv", "sys._getframe"):
            what = arguments[0]
            said = re.sub(r"\.pyc\.\d+", ".pyc", str(what)).split(" at 0x")[0] if isinstance(what, (str, bytes)) else type(what).__name__
            SEEN.add((event, getattr(what, "co_filename", said)))
    sys.addaudithook(hook)
    go()


def faulted(go):
    import faulthandler

    go()
    faulthandler.dump_traceback(file=sys.stderr, all_threads=False)


def called(set_one, set_all):
    def under(go):
        if set_all:
            set_all(note)
        set_one(note)
        go()
        set_one(None)
        if set_all:
            set_all(None)
    return under


MODES = {"cprofile": cprofile, "tracemalloc": tracemalloced, "monitoring": monitored, "trace": traced, "frames": frames,
         "audit": audited, "faulthandler": faulted, "settrace": called(sys.settrace, None),
         "setprofile": called(sys.setprofile, None), "threads": called(sys.settrace, threading.settrace)}


def main(mode, script, *arguments):
    sys.argv = [script] + list(arguments)
    sys.path[0] = os.getcwd()

    def go():
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as end:
            print("ended with", end.code)
        except Exception:
            traceback.print_exc()
    if "loop" in script or "torch" in script:
        import torch  # noqa: F401  seen by nobody, so that the list is the training's
        import torch.utils.data
    MODES[mode](go)
    sys.stdout.flush()
    report()


main(*sys.argv[1:])
