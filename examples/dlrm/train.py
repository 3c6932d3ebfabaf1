"""A DLRM: 13 dense and 26 categorical features, one embedding bag each, pairwise interactions, a click as the label."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

TABLES = [40000, 39060, 17295, 7424, 20265, 3, 7122, 1543, 63, 40000, 40000, 10000, 405000, 10, 2209, 11938, 155, 4, 976, 14,
          40000, 40000, 40000, 40000, 12973, 108]


class Clicks(Dataset):
    def __init__(self, count):
        self.count = count
        self.dense = torch.rand(8192, 13)
        self.sparse = torch.stack([torch.randint(0, n, (8192,)) for n in TABLES], dim=1)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        index %= 8192
        return self.dense[index], self.sparse[index], float(index % 2)


def mlp(sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return layers


class DLRM(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.bottom = nn.Sequential(*mlp([13, 512, 256, width]))
        self.tables = nn.ModuleList(nn.EmbeddingBag(n, width, mode="sum") for n in TABLES)
        pairs = (len(TABLES) + 1) * len(TABLES) // 2
        self.top = nn.Sequential(*mlp([width + pairs, 512, 256]), nn.Linear(256, 1))
        self.register_buffer("lower", torch.tril_indices(len(TABLES) + 1, len(TABLES) + 1, -1))

    def forward(self, dense, sparse, offsets):
        x = self.bottom(dense)
        rows = [x] + [table(indices, offsets) for table, indices in zip(self.tables, sparse)]
        stacked = torch.stack(rows, dim=1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        return self.top(torch.cat([x, products[:, self.lower[0], self.lower[1]]], dim=1)).squeeze(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=2048)
    options = parser.parse_args()

    device = "cuda"
    model = DLRM().to(device)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)
    criterion = nn.BCEWithLogitsLoss()
    loader = DataLoader(Clicks(options.steps * options.batch), batch_size=options.batch, shuffle=True)
    offsets = torch.arange(options.batch, device=device)
    total = 0.0
    for step, (dense, sparse, clicks) in enumerate(loader):
        dense, clicks = dense.to(device), clicks.float().to(device)
        sparse = [sparse[:, i].contiguous().to(device) for i in range(sparse.shape[1])]
        loss = criterion(model(dense, sparse, offsets), clicks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        if step % 20 == 19:
            print(f"step {step + 1} loss {total / 20:.4f}", flush=True)
            total = 0.0


if __name__ == "__main__":
    main()
