"""A small residual network on pictures that a loader makes of bytes."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

torch.backends.cudnn.benchmark = True
STEPS, BATCH = 60, 64


class Pictures(Dataset):
    def __init__(self):
        self.files = np.random.default_rng(0).integers(0, 255, (64, 3, 64, 64), dtype=np.uint8)

    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, i):
        picture = self.files[i % 64].astype(np.float32) / 255
        return torch.from_numpy(picture), i % 10


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.b = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.n, self.m = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x):
        return F.relu(x + self.m(self.b(F.relu(self.n(self.a(x))))))


def main():
    torch.manual_seed(0)
    loader = DataLoader(Pictures(), batch_size=BATCH, num_workers=2, persistent_workers=True, pin_memory=True, drop_last=True)
    net = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), *[Block(64) for _ in range(3)], nn.Conv2d(64, 128, 3, stride=2),
                        *[Block(128) for _ in range(3)], nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))
    net = net.to("cuda", memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, fused=True)
    total = torch.zeros((), device="cuda")
    right = torch.zeros((), device="cuda")
    for step, (x, y) in enumerate(loader):
        x = x.to("cuda", memory_format=torch.channels_last, non_blocking=True)
        y = y.to("cuda", non_blocking=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            out = net(x)
            loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
        right += (out.argmax(1) == y).sum()
    print("loss", float(total) / STEPS, "right", float(right) / STEPS / BATCH)


if __name__ == "__main__":
    main()
