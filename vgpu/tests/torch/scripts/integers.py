"""Integers and masks that the GPU computes and the host reads, in memory that held other numbers before: they decide about lengths,
numbers of graphs, labels and tokens. The CPU computes the same; a difference ends the program."""
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.manual_seed(0)
N = 3000
graph = torch.arange(N) // 10
edges = torch.stack([torch.randint(0, N, (20000,)), torch.randint(0, N, (20000,))])
mask = torch.rand(N) < 0.3
labels = torch.randint(-1, 7, (N,))
lengths = torch.tensor([3, 7, 2, 5])
tokens = torch.randint(0, 50, (4, 8))

QUESTIONS = {
    "graphs": lambda at: graph.to(at).max() + 1, "edges": lambda at: edges.to(at)[:, edges.to(at)[0] <= edges.to(at)[1]],
    "mask": lambda at: mask.to(at).nonzero(), "in mask": lambda at: labels.to(at)[mask.to(at)],
    "count": lambda at: (labels.to(at) != -1).sum(), "both": lambda at: ((labels.to(at) >= 0) & ~mask.to(at)).sum(),
    "sizes": lambda at: torch.zeros(N // 10, dtype=torch.long, device=at).scatter_add_(0, graph.to(at), torch.ones_like(graph.to(at))),
    "starts": lambda at: torch.cat([torch.zeros(1, dtype=torch.long, device=at), lengths.to(at).cumsum(0)]),
    "repeat": lambda at: torch.repeat_interleave(torch.arange(4, device=at), lengths.to(at)),
    "next token": lambda at: torch.cat([tokens.to(at), torch.zeros(4, 1, dtype=torch.long, device=at)], 1),
    "positions": lambda at: torch.arange(N, device=at) - graph.to(at) * 10, "turned": lambda at: tokens.to(at).t().contiguous(),
    "order": lambda at: tokens.to(at).gather(1, torch.arange(7, -1, -1, device=at).expand(4, 8)),
    "words": lambda at: (tokens.to(at) > 9).sum(-1), "halves": lambda at: (lengths.to(at) - 3) // 2,
    "filled": lambda at: labels.to(at).masked_fill(labels.to(at) == -1, 0), "chosen": lambda at: torch.where(mask.to(at), labels.to(at), 0),
    "unfinished": lambda at: torch.ones(N, dtype=torch.long, device=at) & ~mask.to(at), "longest": lambda at: tokens.to(at).amax(1),
    "bins": lambda at: torch.tensor(torch.bincount(graph.to(at)).shape),
}

leftovers = [torch.randn(n, device="cpu").cuda() for n in (8, 64, 1024, 8192, 65536) for _ in range(40)]
del leftovers
for name, question in QUESTIONS.items():
    there, here = question("cuda").cpu(), question("cpu")
    assert torch.equal(there, here), f"{name}: {there} is not {here}"
    print(name, tuple(there.shape))

drawn, order = torch.randint(3, 9, (1000,), device="cuda").cpu(), torch.randperm(3000, device="cuda").cpu()
best = torch.rand(50, 30, device="cuda").topk(4).indices.cpu()
assert drawn.unique().tolist() == [3, 4, 5, 6, 7, 8] and torch.equal(order.sort().values, torch.arange(3000)) and 0 <= best.min() <= best.max() < 30
print("drawn in range")

model = nn.LSTM(8, 16, batch_first=True).cuda()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(8):
    packed = pack_padded_sequence(torch.randn(4, 7, 8, device="cuda"), lengths, batch_first=True, enforce_sorted=False)
    out, read = pad_packed_sequence(model(packed)[0], batch_first=True)
    out.sum().backward()
    optimizer.step()
    optimizer.zero_grad()
print("packed", read.tolist())
