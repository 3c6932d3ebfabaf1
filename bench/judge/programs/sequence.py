"""A classifier of sentences of different lengths with a recurrent layer."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

STEPS, BATCH, LONGEST = 40, 64, 400


class Sentences(Dataset):
    def __init__(self):
        g = torch.Generator().manual_seed(0)
        self.lengths = torch.randint(20, 80, (STEPS * BATCH,), generator=g).tolist()
        self.words = torch.randint(1, 5000, (LONGEST,), generator=g)

    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, i):
        words = self.words[:self.lengths[i]].clone()
        return words, i % 5


def collate(samples):
    ids = torch.zeros(len(samples), 80, dtype=torch.long)
    for row, (words, _) in enumerate(samples):
        ids[row, :len(words)] = words
    return ids, torch.tensor([label for _, label in samples])


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.out = nn.Embedding(5000, 256), nn.Linear(256, 5)
        self.layer = nn.GRU(256, 256, batch_first=True)

    def forward(self, ids):
        x, _ = self.layer(self.words(ids))
        return self.out(x.mean(1))


def main():
    torch.manual_seed(0)
    loader = DataLoader(Sentences(), batch_size=BATCH, collate_fn=collate, num_workers=1, persistent_workers=True, pin_memory=True)
    model = Model().to("cuda")
    weights = torch.tensor([1.0, 2.0, 1.0, 1.0, 1.0], device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    total = torch.zeros((), device="cuda")
    for step, (ids, labels) in enumerate(loader):
        ids, labels = ids.to("cuda", non_blocking=True), labels.to("cuda", non_blocking=True)
        out = model(ids)
        loss = F.cross_entropy(out, labels, weight=weights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    print("loss", float(total) / STEPS)


if __name__ == "__main__":
    main()
