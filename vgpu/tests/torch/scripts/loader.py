"""A loader with workers and pinned memory, a second stream, events and a timed loop."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __len__(self):
        return 640

    def __getitem__(self, i):
        return torch.full((3, 32, 32), float(i)), i % 10


def main():
    loader = DataLoader(Images(), batch_size=32, num_workers=2, pin_memory=True, persistent_workers=True)
    model = nn.Sequential(nn.Flatten(), nn.Linear(3072, 256), nn.ReLU(), nn.Linear(256, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    side = torch.cuda.Stream()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for images, labels in loader:
        images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            kept = loss.detach() * 2
        torch.cuda.current_stream().wait_stream(side)
    end.record()
    torch.cuda.synchronize()
    print("loss", kept.item(), "time", begin.elapsed_time(end) > 0)


if __name__ == "__main__":
    main()
