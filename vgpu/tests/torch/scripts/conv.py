"""A small convolutional network: NCHW in float32, then channels last in float16."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
                                  nn.Conv2d(64, 64, 3, padding=1, groups=64), nn.Conv2d(64, 128, 1), nn.ReLU())
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        return self.head(self.body(self.stem(x)).mean((2, 3)))


def train(memory_format, kind, steps=12):
    model = Net().cuda().to(memory_format=memory_format)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    images = torch.randn(16, 3, 64, 64, device="cuda").to(memory_format=memory_format)
    labels = torch.randint(0, 10, (16,), device="cuda")
    for _ in range(steps):
        with torch.autocast("cuda", dtype=torch.float16, enabled=kind is torch.float16):
            loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("loss", loss.item())


train(torch.contiguous_format, torch.float32)
train(torch.channels_last, torch.float16)
torch.backends.cudnn.benchmark = True
train(torch.channels_last, torch.float16)
