"""KeyboardInterrupt in the middle of a loop over a loader, in the dataset and in a worker's parent; then the end by it."""
import os
import signal
import traceback

import torch

import small


class Interrupting(torch.utils.data.Dataset):
    def __getitem__(self, i):
        if i == 3:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000000):
                pass
        return i

    def __len__(self):
        return 6


def tried(call):
    try:
        call()
    except KeyboardInterrupt:
        lines = traceback.format_exc().splitlines()
        print(len(lines), [line.strip() for line in lines if line.startswith("  File")][:12], lines[-1])


def middle():
    for i, (x, y) in enumerate(small.loader()):
        if i == 2:
            signal.raise_signal(signal.SIGINT)


def step():
    optimizer = torch.optim.SGD(small.Net().parameters(), lr=0.1)
    optimizer.step(lambda: signal.raise_signal(signal.SIGINT))


tried(lambda: list(torch.utils.data.DataLoader(Interrupting(), batch_size=2)))
tried(middle)
tried(step)
signal.signal(signal.SIGTERM, lambda n, f: print("TERM in", f.f_code.co_name))
for x, y in small.loader():
    signal.raise_signal(signal.SIGTERM)
middle()
