"""torch.profiler around six of twelve steps of a loop whose pace the GPU sets: profiled.py TRACE [BACKEND].

BACKEND: cupti_monitor, PyTorch's profiler by CUPTI's second interface. It writes TRACE.gz, and needs NVIDIA's cupti-python.
"""
import sys

import torch
from torch import nn
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile, schedule

WIDTH = 4096
model = nn.Sequential(*(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(8))).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
x = torch.randn(2048, WIDTH).pin_memory()
backend = {"experimental_config": _ExperimentalConfig(custom_profiler_config=sys.argv[2])} if sys.argv[2:] else {}
with profile(**backend, activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], schedule=schedule(wait=2, warmup=2, active=6, repeat=1),
             on_trace_ready=lambda p: p.export_chrome_trace(sys.argv[1])) as prof:
    for _ in range(12):
        loss = model(x.cuda(non_blocking=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        prof.step()
print("loss", loss.item())
