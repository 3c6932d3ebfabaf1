#!/usr/bin/env python3
"""Every callable that the hook observes answers as it does without gpuprof, whoever asks: inspect,
functools, pickle, copy, typing, unittest.mock, subclasses, torch.jit, torch.fx, torch.compile. And the
hook records after all that.

usage: identity.py BUILD     for each interpreter with PyTorch: support.pythons()
"""
import sys

from support import Test, health, pythons, query

ASK = r"""
import copy, functools, inspect, pickle, sys, typing, unittest.mock as mock, weakref, hashlib, types
import torch, torch.utils.data, torch.utils.checkpoint
from torch import nn
data = torch.utils.data
fetch, pin = data._utils.fetch, data._utils.pin_memory
opt, loader = torch.optim.Optimizer, torch.utils.data.dataloader
OWNED = [(torch.Tensor, n) for n in ("item tolist numpy cpu nonzero masked_select equal __bool__ __int__ "
         "__float__ __index__ __repr__ __format__ __array__ to cuda backward").split()]
OWNED += [(opt, n) for n in "zero_grad step _optimizer_step_code __init__ state_dict".split()]
OWNED += [(torch.optim.SGD, n) for n in "step zero_grad __init__".split()]
OWNED += [(nn.Module, n) for n in "train eval zero_grad __call__ forward".split()]
OWNED += [(loader.DataLoader, n) for n in "__init__ __iter__ __setattr__ __len__".split()]
OWNED += [(loader._BaseDataLoaderIter, n) for n in "__init__ __next__".split()]
OWNED += [(loader._DatasetKind, "create_fetcher"), (fetch._MapDatasetFetcher, "fetch"),
          (fetch._IterableDatasetFetcher, "fetch"), (pin, "pin_memory")]
OWNED += [(torch.autograd, "backward"), (torch.autograd, "grad"), (torch.amp.autocast_mode.autocast, "__enter__"),
          (torch.cuda.amp.GradScaler, "scale"), (torch.cuda, "synchronize"), (torch.cuda, "empty_cache"),
          (torch.autograd.profiler.record_function, "__enter__"), (type(torch.autograd.Variable._execution_engine), "run_backward")]
OWNED += [(nn.utils, n) for n in ("clip_grad_norm_", "clip_grad_value_")]
OWNED += [(nn.parallel.DistributedDataParallel, n) for n in ("__init__", "no_sync", "_ddp_init_helper")]
OWNED += [(torch.utils.checkpoint, n) for n in ("checkpoint", "check_backward_validity")]
OWNED += [(torch, "compile")] if hasattr(torch, "compile") else []
torch.manual_seed(0)
model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def said(f):
    # what a question is answered with, or how it is refused
    try: text = f()
    except BaseException as error: text = f"{type(error).__name__}: {error}"
    return text if isinstance(text, (bool, int, type(None))) else str(text).split(" at 0x")[0]

def digest(text): return hashlib.md5(str(text).encode()).hexdigest()[:8]

def patched(owner, name):
    was = vars(owner).get(name)
    with mock.patch.object(owner, name): mocked = isinstance(getattr(owner, name), mock.NonCallableMock)
    return mocked, vars(owner).get(name) is was

def put_back(owner, name):
    was, own = vars(owner).get(name), name in vars(owner)
    before = getattr(owner, name)
    setattr(owner, name, before)
    same = getattr(owner, name) is before
    if own: setattr(owner, name, was)
    else: delattr(owner, name)
    return same, vars(owner).get(name) is was

def questions(owner, name, f):
    ask = {n: functools.partial(getattr, f, n) for n in
           "__name__ __qualname__ __module__ __wrapped__ __self__ __text_signature__ __defaults__ __kwdefaults__".split()}
    ask.update({"is" + n: functools.partial(getattr(inspect, "is" + n), f) for n in
                "function method methoddescriptor builtin routine datadescriptor generatorfunction coroutinefunction".split()})
    ask.update(
        doc=lambda: digest(f.__doc__), signature=lambda: inspect.signature(f), type=lambda: type(f).__name__,
        klass=lambda: (f.__class__.__name__, f.__class__ is types.FunctionType), repr=lambda: repr(f).split(" at 0x")[0],
        source=lambda: digest(inspect.getsource(f)), file=lambda: inspect.getsourcefile(f), unwrap=lambda: inspect.unwrap(f) is f,
        pickle=lambda: pickle.loads(pickle.dumps(f)) is f, slow_pickle=lambda: pickle.loads(pickle._dumps(f)) is f,
        copy=lambda: (copy.copy(f) is f, copy.deepcopy(f) is f, copy.deepcopy([f])[0] is f),
        hints=lambda: sorted(typing.get_type_hints(f)), code=lambda: (f.__code__.co_name, f.__code__.co_firstlineno),
        closure=lambda: f.__closure__ and len(f.__closure__), dict=lambda: sorted(vars(f)), dir=lambda: digest(dir(f)),
        hash=lambda: hash(f) == hash(f), equal=lambda: f == getattr(owner, name), isinstance=lambda: isinstance(f, types.FunctionType),
        isdescriptor=lambda: (hasattr(type(f), "__get__"), hasattr(f, "__get__")),
        wraps=lambda: (lambda w: (w.__name__, w.__doc__ == f.__doc__, w.__wrapped__ is f, str(inspect.signature(w))))(
            functools.wraps(f)(lambda *a, **k: f(*a, **k))),
        partial=lambda: inspect.signature(functools.partial(f, 1)), partialmethod=lambda: type(functools.partialmethod(f).__get__(1, int)).__name__,
        dispatch=lambda: functools.singledispatch(f).__name__, spec=lambda: inspect.signature(mock.create_autospec(f)),
        patch=lambda: patched(owner, name), put_back=lambda: put_back(owner, name), weak=lambda: weakref.ref(f)() is f,
        static=lambda: type(inspect.getattr_static(owner, name)).__name__, owned=lambda: name in vars(owner),
        fullargs=lambda: inspect.getfullargspec(f), bound=lambda: type(getattr(f, "__get__")(model, nn.Module)).__name__,
        weakrefs=lambda: weakref.getweakrefcount(f))
    return ask

if __name__ == "__main__":
    for owner, name in OWNED:
        f = getattr(owner, name, None)
        for what, ask in sorted(questions(owner, name, f).items()): print(owner.__name__, name, what, said(ask))
    for bound in (optimizer.zero_grad, optimizer.step, model.train, torch.ones(1).item, torch.ones(1).to):
        print(bound.__name__, said(lambda: inspect.signature(bound)), type(bound).__name__, said(lambda: digest(bound.__doc__)),
              said(lambda: inspect.signature(functools.partial(bound))), said(lambda: bound.__func__.__qualname__))
    seen = []
    class Own(torch.optim.SGD):
        def __init_subclass__(cls, **k): seen.append((cls.__name__, k))
        def zero_grad(self, *a, **k): seen.append("mine"); return super().zero_grad(*a, **k)
        @torch.no_grad()
        def step(self, closure=None): return super().step(closure)
    class Owner(Own, tag=1): pass
    class Quiet(nn.Linear):
        def train(self, mode=True): seen.append(mode); return super().train(mode)
    class Loader(data.DataLoader):
        def __iter__(self): seen.append("iter"); return super().__iter__()
    quiet, rows = Quiet(2, 2), Loader(data.TensorDataset(torch.ones(4, 2)), batch_size=2)
    own = Owner(quiet.parameters(), lr=0.1)
    for x, in rows:
        quiet.train(); own.zero_grad(); quiet(x).sum().backward(); own.step()
    quiet.eval(); print(seen, [p.tolist() for p in quiet.parameters()][1])
    print(sys.getrefcount(torch.Tensor.item) < 9, len(sys.meta_path), sorted(n for n in sys.modules if "gpuprof" in n))
    import copyreg; print(len(copyreg.dispatch_table), [str(n) for n in sys.path if "gpuprof" in n and "/lib/" in n])
    with torch.no_grad():
        print(said(lambda: torch.jit.script(quiet).code), said(lambda: torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2)).graph is not None))
        print(said(lambda: torch.fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU())).code))
    @torch.jit.script
    def scripted(x: torch.Tensor) -> float: return float(x.item()) + 1
    print(scripted(torch.ones(1)), scripted.code)
"""
COMPILED = r"""
import logging, sys, torch
logging.disable(logging.WARNING)  # its lines have the time in them
from torch import nn
def graphs(what, f, *args):
    torch._dynamo.reset()
    explained = torch._dynamo.utils.counters
    explained.clear()
    made = torch.compile(f, backend=BACKEND)
    for _ in range(2): result = made(*args)
    print(what, explained["stats"]["unique_graphs"], explained["stats"]["calls_captured"], sum(explained["graph_break"].values()),
          sorted(str(k).splitlines()[0][:90] for k in explained["graph_break"]), result if isinstance(result, float) else "")
import torch._dynamo
for BACKEND in ("eager", "aot_eager"):
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.ones(3, 4)
    def train(x):
        opt.zero_grad(); loss = model(x).sum(); loss.backward(); opt.step(); return loss.detach()
    def read(x): return x.sum().item() + 1.0
    def modes(x): model.train(); y = model(x); model.eval(); return y
    def clip(x):
        model(x).sum().backward(); nn.utils.clip_grad_norm_(model.parameters(), 1.0); return x
    with torch.autocast("cpu", enabled=False): graphs("model", model, x)
    for what in (read, modes, train, clip): graphs(what.__name__, what, x)
    graphs("step", lambda: opt.step())
    graphs("to", lambda x: x.to(torch.float64).cpu() + 1, x)
if hasattr(torch, "export"):
    print(str(torch.export.export(model, (x,)).graph)[:400])
"""
TRAIN = ASK.replace('if __name__ == "__main__":', "if True:") + """
    del seen[:]
    optimizer = torch.optim.Adam(model.parameters())
    for x, in data.DataLoader(data.TensorDataset(torch.ones(20, 2)), batch_size=2):
        optimizer.zero_grad(); loss = model(x).sum(); loss.backward(); optimizer.step(); loss.item()
"""


def ranges(profile):
    return dict(query(profile, "SELECT s.text, count(*) FROM range r JOIN string s ON s.id = r.name GROUP BY s.text"))


def recorded(test, what, profile):
    marks = ranges(profile)
    test.check(marks.get("zero_grad", 0) >= 12 and marks.get("backward", 0) >= 12 and marks.get("optimizer.step", 0) >= 12
               and marks.get("gpuprof.step", 0) >= 3 and any(n.startswith("read .item()") for n in marks),
               f"{what}: the hook still records", marks)
    spans = dict(query(profile, "SELECT what, count(*) FROM loader_span GROUP BY what"))
    test.check(spans.get(0, 0) >= 12 and spans.get(1, 0) >= 12 and spans.get(2, 0) >= 12, f"{what}: data loading", spans)
    test.check(not health(profile), f"{what}: nothing in the health table", health(profile))


def main():
    test, found = Test(sys.argv[1]), pythons()
    if not found:
        print("no PyTorch for any interpreter")
        sys.exit(77)
    for python, version, torch in found:
        what = f"Python {version}, PyTorch {torch}"
        recorded(test, what, test.same(what, [python, "-W", "ignore", test.write("ask.py", TRAIN)]))
        if test.plain.returncode:
            test.check(False, f"{what}: the program runs without gpuprof", test.plain.stderr[-900:])
        if int(torch.split(".")[0]) >= 2:
            test.same(f"{what}: compiled", [python, "-W", "ignore", test.write("compiled.py", COMPILED)])
    test.done()


if __name__ == "__main__":
    main()
