"""LSTM and GRU of several layers, forward and backward."""
import torch
from torch import nn


def train(layer, steps=12):
    head = nn.Linear(128, 10).cuda()
    layer = layer.cuda()
    optimizer = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
    x = torch.randn(20, 16, 32, device="cuda")
    for _ in range(steps):
        out, _ = layer(x)
        loss = head(out[-1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("loss", loss.item())


train(nn.LSTM(32, 64, num_layers=2, bidirectional=True, dropout=0.1))
train(nn.GRU(32, 128))
train(nn.LSTM(32, 256, proj_size=128).half().float())
