"""torch.profiler inside the script, around a few steps; prints how many kernels it saw."""
import json
import os
import sys
import tempfile

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(64, 256, device="cuda")
path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(tempfile.mkdtemp(), "trace.json")
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], schedule=schedule(wait=1, warmup=1, active=6),
             on_trace_ready=lambda p: p.export_chrome_trace(path)) as prof:
    for _ in range(12):
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        prof.step()
events = json.load(open(path))["traceEvents"]
print("kernels", sum(e.get("cat") == "kernel" for e in events) > 0, "loss", loss.item())
