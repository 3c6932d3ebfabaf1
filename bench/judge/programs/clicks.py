"""Will somebody click: tables of embeddings, and a network on top."""
import torch
from torch import nn
from torch.nn import functional as F

STEPS, BATCH, TABLES = 300, 1024, 12


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(TABLES * 20000, 32)
        self.register_buffer("first", torch.arange(TABLES) * 20000)
        self.top = nn.Sequential(nn.Linear(TABLES * 32 + 13, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1))

    def forward(self, dense, ids):
        x = self.table(ids + self.first).flatten(1)
        return self.top(torch.cat([dense, x], dim=1)).squeeze(1)


def batch_of(step, dense, ids, clicks):
    rows = slice(step * BATCH % 8192, step * BATCH % 8192 + BATCH)
    return dense[rows], ids[rows], clicks[rows]


def main():
    torch.manual_seed(0)
    dense, ids, clicks = torch.rand(8192, 13), torch.randint(0, 20000, (8192, TABLES)), torch.randint(0, 2, (8192,)).float()
    dense, ids, clicks = dense.to("cuda"), ids.to("cuda"), clicks.to("cuda")
    model = Model().to("cuda")
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01, foreach=True)
    total = torch.zeros((), device="cuda")
    for step in range(STEPS):
        x, i, y = batch_of(step, dense, ids, clicks)
        out = model(x, i)
        loss = F.binary_cross_entropy_with_logits(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    print("loss", float(total) / STEPS)


if __name__ == "__main__":
    main()
