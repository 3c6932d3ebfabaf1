"""FSDP2 (fully_shard) over NCCL: run by torchrun."""
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
model = nn.Sequential(*(nn.Sequential(nn.Linear(256, 256), nn.ReLU()) for _ in range(3))).cuda()
for block in model:
    fully_shard(block)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
x = torch.randn(64, 256, device="cuda")
for _ in range(12):
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
sys.stdout.write(f"rank {rank} loss {loss.item()}\n")
dist.destroy_process_group()
