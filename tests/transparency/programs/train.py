"""A few steps at the top of a file, without functions."""
import torch

weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.5)
for step in range(3):
    optimizer.zero_grad()
    loss = (weight * weight).sum()
    loss.backward()
    optimizer.step()
    print(step, loss.item(), weight.tolist())
