"""A training loop in plain PyTorch: losses to the last bit, a checkpoint, and a second life from it."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

import small


class Stream(IterableDataset):
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        return iter(self.rows)


def collate(rows):
    return torch.stack([x for x, _ in rows]), torch.stack([y for _, y in rows])


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--workers", type=int, default=0)
    ask.add_argument("--context")
    ask.add_argument("--persistent", action="store_true")
    ask.add_argument("--iterable", action="store_true")
    args = ask.parse_args()
    data = small.dataset()
    data = Stream([data[i] for i in range(len(data))]) if args.iterable else data
    loader = DataLoader(data, batch_size=4, shuffle=not args.iterable, num_workers=args.workers, collate_fn=collate,
                        multiprocessing_context=args.context, persistent_workers=args.persistent)
    model = small.Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            print(epoch, small.bits(loss), loss.item() == float(loss))
        schedule.step()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "model.pt")
    again = small.Net()
    again.load_state_dict(torch.load("model.pt")["model"])
    again.eval()
    with torch.no_grad():
        print(again(torch.ones(1, 4)).tolist(), small.weights(again))


if __name__ == "__main__":
    main()
