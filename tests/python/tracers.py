#!/usr/bin/env python3
"""Under a tracer, a profiler, coverage, sys.monitoring and tracemalloc the program's picture of itself is
the one that it has without gpuprof: every call, every line, every function in C.

usage: tracers.py BUILD     for each interpreter with PyTorch: support.pythons()
"""
import sys

from support import Test, pythons, query

HEAD = r"""
import collections, sys, threading
seen, paths = collections.Counter(), set()
def of_us(path):
    return "gpuprof" in path.replace(__file__, "") and "/lib/python/" in path
def note(frame, event, arg):
    code = frame.f_code
    if of_us(code.co_filename): print("seen:", event, code.co_filename, code.co_name)
    what = getattr(arg, "__qualname__", "") if event.startswith("c_") else frame.f_lineno if event == "line" else ""
    seen[event, code.co_filename.rsplit("/", 1)[-1], code.co_name, what] += 1
    return note
def train():
    import torch
    from torch.utils.data import DataLoader, TensorDataset
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    def loop():
        for epoch in range(2):
            model.train()
            for x, in DataLoader(TensorDataset(torch.ones(8, 2)), batch_size=2):
                opt.zero_grad(); loss = model(x).sum(); loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step(); loss.item()
        print(loss)
    return loop
def show(begin, end):
    # twice: what PyTorch imports or makes at its first step is not compared, but must not show us
    loop = train()
    for n in range(2):
        seen.clear(); begin(); loop(); end()
    for what, times in sorted(seen.items(), key=str): print(*what, times)
"""
WAYS = {
    "settrace": "show(lambda: sys.settrace(note), lambda: sys.settrace(None))",
    "setprofile": "show(lambda: sys.setprofile(note), lambda: sys.setprofile(None))",
    "threading": "threading.settrace(note); threading.setprofile(note)\nloop = train(); loop()\n"
                 "t = threading.Thread(target=loop); t.start(); t.join()\n"
                 "for what, times in sorted(seen.items(), key=str): print(*what, times)",
    "traced import": "sys.settrace(note); sys.setprofile(note); loop = train(); loop(); sys.settrace(None)\n"
                     "sys.setprofile(None); print('imported')",
    "cProfile": "import cProfile, pstats\nloop = train(); loop(); p = cProfile.Profile(); p.enable(); loop(); p.disable()\n"
                "for (path, line, name), (calls, *_) in sorted(pstats.Stats(p).stats.items()):\n"
                "  if of_us(path): print('seen:', path)\n"
                "  print(path.rsplit('/', 1)[-1], line, name.split(' at 0x')[0], calls)",
    "trace module": "import trace\nloop = train(); loop(); t = trace.Trace(count=1, trace=0); t.runfunc(loop)\n"
                    "for (path, line), n in sorted(t.results().counts.items()):\n"
                    "  if of_us(path): print('seen:', path)\n"
                    "  print(path.rsplit('/', 1)[-1], line, n)",
    "monitoring": "loop = train(); loop()\nm = sys.monitoring; E = m.events; m.use_tool_id(3, 'mine')\n"
                  "def event(name):\n"
                  "  def heard(code, *a):\n"
                  "    if of_us(code.co_filename): print('seen:', code)\n"
                  "    seen[name, code.co_filename.rsplit('/', 1)[-1], code.co_name, code.co_firstlineno] += 1\n"
                  "  return heard\n"
                  "for name in ('PY_START', 'PY_RETURN', 'LINE', 'CALL', 'RAISE', 'PY_UNWIND'):\n"
                  "  m.register_callback(3, getattr(E, name), event(name))\n"
                  "m.set_events(3, E.PY_START | E.PY_RETURN | E.LINE | E.CALL | E.RAISE | E.PY_UNWIND)\n"
                  "loop(); m.set_events(3, 0)\n"
                  "for what, times in sorted(seen.items(), key=str): print(*what, times)",
    "tracemalloc": "import tracemalloc\nloop = train(); loop(); tracemalloc.start(5); loop()\n"
                   "ours = sum(s.size for s in tracemalloc.take_snapshot().statistics('filename')\n"
                   "           if of_us(s.traceback[0].filename))\n"
                   "print('a fact of the new loop' if ours < 2000 else f'seen: {ours} bytes')",
    "warnings and threads": "import warnings, atexit\nbefore = list(warnings.filters)\n"
                            "loop = train(); loop()\nprint(threading.active_count(), len(sys.meta_path), "
                            "atexit._ncallbacks() if 'torch' not in sys.modules else '', "
                            "sys.gettrace(), sys.getprofile(), sorted(k for k in sys.modules if 'gpuprof' in k or k == 'sitecustomize'))",
    "failing import": "import traceback\nsys.settrace(note)\ntry: import no_such_module_at_all\nexcept ImportError: traceback.print_exc()\n"
                      "try: import torch.no_such_module\nexcept ImportError: traceback.print_exc()\nsys.settrace(None)",
}


def main():
    test, found = Test(sys.argv[1]), pythons()
    if not found:
        print("no PyTorch for any interpreter")
        sys.exit(77)
    for python, version, torch in found:
        for way, code in WAYS.items():
            if way == "monitoring" and tuple(map(int, version.split(".")[:2])) < (3, 12):
                continue
            what = f"Python {version}, PyTorch {torch}, {way}"
            profile = test.same(what, [python, "-W", "ignore", test.write("traced.py", HEAD + code + "\n")])
            test.check("seen:" not in test.last.stdout and not test.plain.returncode, f"{what}: nothing of gpuprof",
                       (test.last.stdout + test.plain.stderr)[-700:])
            steps = query(profile, "SELECT count(*) FROM range r JOIN string s ON s.id = r.name "
                                   "WHERE s.text = 'gpuprof.step'")[0][0] if "import" not in way else 7
            test.check(steps >= 7, f"{what}: the hook records meanwhile", steps)
    test.done()


if __name__ == "__main__":
    main()
