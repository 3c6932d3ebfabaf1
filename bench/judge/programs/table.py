"""A small network on rows of a table: the host has more to do than the GPU."""
import contextlib

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

STEPS, BATCH = 200, 2048


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    rows, wanted = rng.standard_normal((16384, 64)), rng.random((16384, 1))
    x = torch.from_numpy(rows).float().to("cuda")
    y = torch.from_numpy(wanted).float().to("cuda")
    layers = [m for _ in range(12) for m in (nn.Linear(256, 256), nn.LayerNorm(256), nn.SiLU())]
    model = nn.Sequential(nn.Linear(64, 256), *layers, nn.Linear(256, 1)).to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    model.compile(mode="reduce-overhead")
    errors = []
    with contextlib.nullcontext():
        for step in range(STEPS):
            rows_of = slice(step * BATCH % 16384, step * BATCH % 16384 + BATCH)
            out = model(x[rows_of])
            loss = F.mse_loss(out, y[rows_of])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            errors.append((out.detach() - y[rows_of]).abs().mean())
    print("error", float(torch.stack(errors).mean()))


if __name__ == "__main__":
    main()
