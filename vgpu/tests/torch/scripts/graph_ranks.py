"""A CUDA graph that contains an all-reduce, and products on another stream beside it; two ranks replay it, one of them late."""
import os
import time

import torch
import torch.distributed as dist

REPLAYS = 10
rank = int(os.environ["RANK"])
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl", device_id=device)
model, x = torch.nn.Linear(1024, 1024, device=device), torch.ones(512, 1024, device=device)
gradients, count = torch.zeros(1 << 20, device=device), torch.ones(1, dtype=torch.int64, device=device)
side = torch.cuda.Stream()
for _ in range(2):
    dist.all_reduce(gradients)
    model(x)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = model(x)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        dist.all_reduce(gradients)
        dist.all_reduce(count)
    y = model(y)
    torch.cuda.current_stream().wait_stream(side)
    y = model(y)
for _ in range(REPLAYS):
    graph.replay()
    time.sleep(0.005 * rank)
torch.cuda.synchronize()
print(f"rank {rank} count {count.item()}", flush=True)
dist.destroy_process_group()
