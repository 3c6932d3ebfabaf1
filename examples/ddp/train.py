"""ResNet-50 on several GPUs: DistributedDataParallel, and gradients added up over micro-batches.

torchrun --nproc_per_node 2 train.py
"""
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from torchvision.models import resnet50


class Arrays(Dataset):
    """Normalized pictures in memory, as a preprocessed data set has them."""

    def __init__(self, count):
        self.images, self.count = torch.randn(64, 3, 224, 224), count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.images[index % 64], index % 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--accumulate", type=int, default=4)
    options = parser.parse_args()

    dist.init_process_group("nccl")
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    data = Arrays(options.steps * options.accumulate * options.batch * dist.get_world_size())
    loader = DataLoader(data, batch_size=options.batch, sampler=DistributedSampler(data), pin_memory=True)
    model = DistributedDataParallel(resnet50().cuda(), device_ids=[rank])
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)

    for micro, (images, labels) in enumerate(loader):
        images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        loss = criterion(model(images), labels) / options.accumulate
        loss.backward()
        if (micro + 1) % options.accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
            step = (micro + 1) // options.accumulate
            mean = loss.detach().clone()
            dist.all_reduce(mean, op=dist.ReduceOp.AVG)
            if rank == 0 and step % 5 == 0:
                print(f"step {step} loss {mean.item():.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
