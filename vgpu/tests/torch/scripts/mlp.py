"""A perceptron with two optimizers; prints what a program sees of the device."""
import torch
from torch import nn

print("available", torch.cuda.is_available(), "devices", torch.cuda.device_count())
print("name", torch.cuda.get_device_name(0))
print("memory", torch.cuda.get_device_properties(0).total_memory > 0, torch.cuda.mem_get_info()[1] > 0)


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(256, 512)
        self.second = nn.Linear(512, 10)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def train(optimizer_of, steps=12):
    model = Perceptron().cuda()
    optimizer = optimizer_of(model.parameters())
    x = torch.randn(128, 256, device="cuda")
    y = torch.randint(0, 10, (128,), device="cuda")
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


print("loss", train(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)))
print("loss", train(lambda p: torch.optim.Adam(p, lr=1e-3)))
print("loss", train(lambda p: torch.optim.AdamW(p, lr=1e-3, fused=True)))
print("allocated", torch.cuda.max_memory_allocated() > 0, torch.cuda.memory_stats()["allocation.all.peak"] > 0)
try:
    torch.empty(2 * torch.cuda.get_device_properties(0).total_memory, dtype=torch.uint8, device="cuda")
except torch.cuda.OutOfMemoryError:
    print("out of memory as on a card")
