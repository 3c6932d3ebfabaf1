"""ResNet-50 as PyTorch's profiler tutorial trains it: batches of 32 pictures of 224 x 224, FP32, SGD with momentum, with the profiler
around it recording shapes and stacks. Each batch transforms PICTURES pictures as the tutorial does (small pictures in random
colours), which keeps a core busy. With PICTURES 0 it transforms as many as it can in LOAD_MS, and prints at the end how many.

OPERATOR_WORK is a number of turns of an empty loop that each operator does in its thread, to imitate a host that launches more slowly.

usage: tutorial_program.py WORKERS LOAD_MS STEPS PICTURES OPERATOR_WORK
"""
import contextlib
import os
import statistics
import sys
import time

import torch
import torchvision
from PIL import Image
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils._python_dispatch import TorchDispatchMode

WORKERS, LOAD_MS, STEPS, PICTURES, OPERATOR_WORK = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
BATCH = 32
TRANSFORM = torchvision.transforms.Compose([torchvision.transforms.Resize(224), torchvision.transforms.ToTensor(),
                                            torchvision.transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))])


class Batches(torch.utils.data.Dataset):
    """Each item of the data set is a whole batch, so that making one costs exactly the wanted time."""

    def __init__(self):
        self.small, self.made = Image.frombytes("RGB", (32, 32), os.urandom(32 * 32 * 3)), []

    def __len__(self):
        return STEPS

    def __getitem__(self, _):
        began, made = time.perf_counter(), 0
        pictures, classes = torch.empty(BATCH, 3, 224, 224), torch.zeros(BATCH, dtype=torch.long)
        while made < PICTURES or (PICTURES == 0 and time.perf_counter() - began < LOAD_MS / 1e3):
            pictures[made % BATCH] = TRANSFORM(self.small)
            made += 1
        self.made.append(made)
        return pictures, classes


class SlowOperators(TorchDispatchMode):
    """Operators of both threads, also those of the backward pass, do OPERATOR_WORK before they launch."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        for _ in range(OPERATOR_WORK):
            pass
        return function(*args, **(kwargs or {}))


def main():
    batches = Batches()
    loader = torch.utils.data.DataLoader(batches, batch_size=None, shuffle=True, num_workers=WORKERS)
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
        with SlowOperators() if OPERATOR_WORK else contextlib.nullcontext():
            pictures, classes = pictures.to(device), classes.to(device)
            loss = loss_of(model(pictures), classes)
            optimizer.zero_grad(set_to_none=False)
            loss.backward()
            optimizer.step()
        profiler.step()
    profiler.stop()
    if PICTURES == 0:
        print("pictures", round(statistics.median(batches.made)))


main()
