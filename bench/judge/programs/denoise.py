"""A small network that takes noise out of pictures, with an average of its weights."""
import copy

import torch
from torch import nn
from torch.nn import functional as F

torch.backends.cudnn.benchmark = True
STEPS, BATCH = 60, 16


class Block(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(8, width), nn.GroupNorm(8, width)
        self.conv1, self.conv2 = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return x + self.conv2(F.silu(self.norm2(self.conv1(F.silu(self.norm1(x))))))


def update_average(average, model):
    with torch.no_grad():
        torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 0.001)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 96, 3, padding=1), *[Block() for _ in range(6)], nn.Conv2d(96, 3, 3, padding=1)).to("cuda")
    average = copy.deepcopy(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    pictures = torch.rand(BATCH, 3, 64, 64).to("cuda")
    kept = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000), dim=0).to("cuda")
    losses = []
    for step in range(STEPS):
        level = kept[step * 10].view(1, 1, 1, 1)
        noise = torch.randn(BATCH, 3, 64, 64, device="cuda")
        noisy = level.sqrt() * pictures + (1 - level).sqrt() * noise
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.mse_loss(model(noisy), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update_average(average, model)
        losses.append(loss.detach())
        if step % 30 == 29:
            torch.save(model.state_dict(), "/dev/null")
    print("loss", float(torch.stack(losses).mean()))


if __name__ == "__main__":
    main()
