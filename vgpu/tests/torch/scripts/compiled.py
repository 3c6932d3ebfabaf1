"""torch.compile of a small model: Triton's kernels through the driver."""
import sys

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(256, 512), nn.LayerNorm(512), nn.Linear(512, 10)

    def forward(self, x):
        return self.second(nn.functional.gelu(self.norm(self.first(x))))


model = Net().cuda()
fast = torch.compile(model, mode=sys.argv[1] if len(sys.argv) > 1 else "default")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(64, 256, device="cuda"), torch.randint(0, 10, (64,), device="cuda")
for _ in range(12):
    loss = nn.functional.cross_entropy(fast(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
