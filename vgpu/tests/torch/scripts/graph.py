"""A step captured as a CUDA graph and replayed."""
import torch
from torch import nn

model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, capturable=True)
x, y = torch.randn(64, 256, device="cuda"), torch.randint(0, 10, (64,), device="cuda")


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    static = step()
for _ in range(20):
    x.copy_(torch.randn(64, 256))
    graph.replay()
torch.cuda.synchronize()
print("loss", static.item())
