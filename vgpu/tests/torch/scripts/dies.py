"""DistributedDataParallel; rank 1 ends in step 5 in the way that the first argument names: exit, kill, raise."""
import os
import signal
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

ENDS = {"exit": lambda: os._exit(3), "kill": lambda: os.kill(os.getpid(), signal.SIGKILL)}

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
model = DistributedDataParallel(nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).cuda(), device_ids=[rank])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(64, 256, device="cuda"), torch.randint(0, 10, (64,), device="cuda")
for step in range(12):
    if step == 5 and rank == 1 and sys.argv[1:]:
        if sys.argv[1] == "raise":
            raise RuntimeError("rank 1 has no batch")
        ENDS[sys.argv[1]]()
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    sys.stdout.write(f"rank {rank} step {step} loss {loss.item()}\n")
    sys.stdout.flush()
dist.destroy_process_group()
