"""Denoising diffusion (DDPM) with a small U-Net and an exponential moving average of its weights."""
import argparse
import copy
import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Residual(nn.Module):
    def __init__(self, inputs, outputs, embedding):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.time = nn.Linear(embedding, outputs)
        self.norm2, self.conv2 = nn.GroupNorm(8, outputs), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x, t):
        h = self.conv1(F.silu(self.norm1(x))) + self.time(t)[:, :, None, None]
        return self.conv2(F.silu(self.norm2(h))) + self.skip(x)


class Attention(nn.Module):
    def __init__(self, channels, heads=4):
        super().__init__()
        self.heads, self.norm = heads, nn.GroupNorm(8, channels)
        self.qkv, self.out = nn.Conv2d(channels, 3 * channels, 1), nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, 3, self.heads, c // self.heads, h * w).transpose(3, 4).unbind(1)
        y = F.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(2, 3).reshape(b, c, h, w))


class UNet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        time = 4 * width
        self.width = width
        self.time = nn.Sequential(nn.Linear(width, time), nn.SiLU(), nn.Linear(time, time))
        self.first = nn.Conv2d(3, width, 3, padding=1)
        sizes = [width, 2 * width, 4 * width]
        self.down = nn.ModuleList(Residual(a, b, time) for a, b in zip([width, *sizes], sizes))
        self.shrink = nn.ModuleList(nn.Conv2d(c, c, 3, stride=2, padding=1) for c in sizes[:-1])
        self.middle1, self.attention = Residual(sizes[-1], sizes[-1], time), Attention(sizes[-1])
        self.middle2 = Residual(sizes[-1], sizes[-1], time)
        self.up = nn.ModuleList(Residual(a + b, b, time) for a, b in zip([4 * width, 4 * width, 2 * width], sizes[::-1]))
        self.norm, self.last = nn.GroupNorm(8, width), nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x, t):
        frequencies = torch.exp(-math.log(10000) * torch.arange(self.width // 2, device=x.device) / (self.width // 2))
        angles = t[:, None] * frequencies[None]
        t = self.time(torch.cat([angles.sin(), angles.cos()], dim=1))
        x, kept = self.first(x), []
        for i, block in enumerate(self.down):
            x = block(x, t)
            kept.append(x)
            if i < len(self.shrink):
                x = self.shrink[i](x)
        x = self.middle2(self.attention(self.middle1(x, t)), t)
        for i, block in enumerate(self.up):
            x = block(torch.cat([x, kept.pop()], dim=1), t)
            if i + 1 < len(self.up):
                x = F.interpolate(x, scale_factor=2.0, mode="nearest")
        return self.last(F.silu(self.norm(x)))


@torch.no_grad()
def update_average(average, model, decay=0.9999):
    for kept, new in zip(average.parameters(), model.parameters()):
        kept.mul_(decay).add_(new, alpha=1 - decay)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=16)
    options = parser.parse_args()

    images = TensorDataset(torch.randn(512, 3, 64, 64).clamp(-1, 1))
    loader = DataLoader(images, batch_size=options.batch, shuffle=True, drop_last=True)
    model = UNet().cuda()
    average = copy.deepcopy(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    steps = 1000
    kept = torch.cumprod(1 - torch.linspace(1e-4, 0.02, steps), dim=0)
    step = 0
    while step < options.steps:
        for (x,) in loader:
            x = x.cuda()
            t = torch.randint(0, steps, (x.shape[0],))
            scale = kept[t].view(-1, 1, 1, 1).cuda()
            noise = torch.randn_like(x)
            noisy = scale.sqrt() * x + (1 - scale).sqrt() * noise
            loss = F.mse_loss(model(noisy, t.cuda()), noise)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            update_average(average, model)
            step += 1
            if step % 10 == 0:
                print(f"step {step} loss {loss.item():.4f}", flush=True)
            if step >= options.steps:
                break


if __name__ == "__main__":
    main()
