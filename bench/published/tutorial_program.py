"""ResNet-50 as PyTorch's profiler tutorial trains it: batches of 32 pictures of 224 x 224, FP32, SGD with momentum, and the
profiler around it, with shapes and stacks. The pictures are random; a batch takes LOAD_MS to make, as it took where it was recorded.

usage: tutorial_program.py WORKERS LOAD_MS STEPS
"""
import sys
import time

import torch
import torchvision
from torch.profiler import ProfilerActivity, profile, schedule

WORKERS, LOAD_MS, STEPS = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
BATCH = 32


class Batches(torch.utils.data.Dataset):
    """Each item is a batch, so that making it costs what it shall and no more."""

    def __init__(self):
        self.pictures, self.classes = torch.zeros(BATCH, 3, 224, 224), torch.zeros(BATCH, dtype=torch.long)

    def __len__(self):
        return STEPS

    def __getitem__(self, _):
        time.sleep(LOAD_MS / 1e3)
        return self.pictures, self.classes


def main():
    loader = torch.utils.data.DataLoader(Batches(), batch_size=None, shuffle=True, num_workers=WORKERS)
    device = torch.device("cuda:0")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    model = torchvision.models.resnet50().cuda(device)
    loss_of = torch.nn.CrossEntropyLoss().cuda(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9, foreach=False)
    model.train()
    profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True, with_stack=True,
                       schedule=schedule(wait=2, warmup=2, active=STEPS - 6, repeat=1))
    profiler.start()
    for pictures, classes in loader:
        pictures, classes = pictures.to(device), classes.to(device)
        loss = loss_of(model(pictures), classes)
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
        profiler.step()
    profiler.stop()


main()
