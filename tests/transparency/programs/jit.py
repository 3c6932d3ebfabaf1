"""torch.jit: scripted and traced functions and modules, their code, a file, and what they print."""
import io
from typing import List

import torch

import small


class Scripted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 2)

    def forward(self, x: torch.Tensor, n: int) -> torch.Tensor:
        for _ in range(n):
            x = x * self.linear(x).sum() + self.linear(x).sum().item()
        return x

    @torch.jit.export
    def listed(self, x: torch.Tensor) -> List[float]:
        out: List[float] = x.tolist()
        return out


@torch.jit.script
def stepped(x: torch.Tensor, n: int):
    y = x.to(torch.float64)
    for i in range(n):
        if bool(y.sum() > i):
            y = y - x.cpu()
    return y, float(y.sum()), int(y.numel())


scripted, traced = torch.jit.script(Scripted()), torch.jit.trace(small.Net(), torch.ones(1, 4))
print(scripted.code, scripted.listed.code, traced.code, traced.graph)
print(stepped.code, stepped(torch.ones(3), 4))
print(scripted(torch.ones(4), 2).tolist(), scripted.listed(torch.ones(2)))
optimizer = torch.optim.SGD(scripted.parameters(), lr=0.1)
scripted(torch.ones(4), 2).sum().backward()
traced(torch.ones(1, 4)).sum().backward()
optimizer.step()
file = io.BytesIO()
torch.jit.save(traced, file)
file.seek(0)
print(small.weights(torch.jit.load(file)), small.weights(scripted))
print(torch.jit.trace(lambda x: x.cpu().to(torch.int32), torch.ones(1)).code)
print(torch.jit.freeze(torch.jit.script(small.Net().eval())).code)
