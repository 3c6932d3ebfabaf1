"""The program uses torch.profiler itself: the names of its events and how often they occur, its schedule, its stacks."""
import json
import os

os.environ["KINETO_LOG_LEVEL"] = "99"  # its lines hold times
import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

import small

model = small.Net()
optimizer = torch.optim.Adam(model.parameters())
ready = []


def train(p=None):
    for x, y in small.loader():
        with record_function("own range"):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        loss.item()
        if p is not None:
            p.step()


def names(p):
    return sorted((e.key, e.count) for e in p.key_averages() if e.key != "[memory]")  # the allocator's own affair


with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True) as p:
    train()
print(names(p))
print(sorted((e.key, e.count, str(e.input_shapes)) for e in p.key_averages(group_by_input_shape=True) if e.key != "[memory]"))
with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=2),
             on_trace_ready=lambda p: ready.append(names(p)), with_stack=True) as p:
    train(p)
print(ready)
p.export_chrome_trace("trace.json")
with open("trace.json") as file:
    events = json.load(file)
events = events["traceEvents"] if isinstance(events, dict) else events
print(sorted({(e.get("name"), e.get("cat")) for e in events if e.get("ph") == "X" and "gpuprof" in str(e)}))
frames = {e.get("name").split(" at 0x")[0].split("0x")[0] for e in events if e.get("cat") == "python_function"}
print(sorted(f for f in frames if "profiler" not in f and "threading" not in f))
with torch.autograd.profiler.profile() as p:
    train()
print(names(p))
os.remove("trace.json")
