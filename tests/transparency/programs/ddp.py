"""Two ranks on gloo: under torchrun, or with `spawn` by mp.spawn. Rank 0 prints; each rank leaves a file."""
import os
import socket
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

import small


def train(rank, size):
    dist.init_process_group("gloo", rank=rank, world_size=size)
    data = small.dataset()
    sampler = DistributedSampler(data, size, rank, shuffle=True)
    model = DDP(small.Net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    lines = []
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for i, (x, y) in enumerate(DataLoader(data, batch_size=4, sampler=sampler)):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            if i == 0:
                with model.no_sync():
                    loss.backward(retain_graph=True)
            loss.backward()
            optimizer.step()
            total = loss.detach().clone()
            dist.all_reduce(total)
            lines.append(f"{epoch} {small.bits(loss)} {small.bits(total)}")
    with open(f"rank{rank}.txt", "w") as file:
        file.write("\n".join(lines + small.weights(model)))
    dist.barrier()
    if rank == 0:
        print("\n".join(lines))
    dist.destroy_process_group()


def spawned(rank, size, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    train(rank, size)


if __name__ == "__main__":
    if sys.argv[1:] == ["spawn"]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        mp.spawn(spawned, args=(2, port), nprocs=2)
    else:
        train(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
