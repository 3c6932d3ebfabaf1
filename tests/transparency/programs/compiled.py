"""torch.compile with the backend that is named: results, counters, graphs; a compiled function that takes a step."""
import logging
import os
import shutil
import sys
import tempfile
import warnings

cache = tempfile.mkdtemp()
os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.environ["TRITON_CACHE_DIR"] = cache
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)  # they hold times
import torch

import small

backend, graphs = sys.argv[1], []
if backend == "inductor":
    import torch._inductor.config as inductor

    if hasattr(inductor, "cpp_cache_precompile_headers"):
        inductor.cpp_cache_precompile_headers = False  # they lie in the temporary folder, and are never the same twice


def counting(module, inputs):
    graphs.append(module.code)
    return module.forward


model = small.Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
compiled = torch.compile(model, backend=backend)
for x, y in small.loader():
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(compiled(x), y)
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
print(type(compiled).__name__, len(list(compiled.parameters())), torch.compile.__name__, torch.compile.__module__)


def train_step(x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def reads(x):
    if x.sum().item() > 0:
        return x.tolist()
    return x.numpy()


if backend != "inductor":
    for function, arguments in ((train_step, next(iter(small.loader()))), (reads, (torch.ones(2),))):
        out = torch.compile(function, backend=counting)(*arguments)
        print(function.__name__, out if isinstance(out, list) else small.bits(out), len(graphs))
    for code in graphs:
        print(code)
    import torch._dynamo

    print({k: dict(v) for k, v in torch._dynamo.utils.counters.items() if k in ("frames", "graph_break", "stats")})
    explained = torch._dynamo.explain(train_step)(*next(iter(small.loader())))
    print(explained.graph_count, explained.graph_break_count)
shutil.rmtree(cache, ignore_errors=True)
