"""Subclasses of Tensor, Module, DataLoader, Sampler and Dataset with their own methods."""
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

import small

CALLS = []


class Logged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        CALLS.append((getattr(func, "__name__", str(func)), getattr(func, "__qualname__", ""), type(func).__name__))
        return super().__torch_function__(func, types, args, kwargs or {})


class Overriding(torch.Tensor):
    def item(self):
        return ("own item", super().item())

    def backward(self, *args, **kwargs):
        print("own backward")
        return super().backward(*args, **kwargs)


class Loader(DataLoader):
    def __init__(self, *args, own=1, **kwargs):
        super().__init__(*args, **kwargs)
        self.own = own

    def __iter__(self):
        for i, batch in enumerate(super().__iter__()):
            yield (i, batch)

    def __len__(self):
        return super().__len__() * self.own


class Backwards(Sampler):
    def __init__(self, data):
        self.data = data

    def __iter__(self):
        return iter(range(len(self.data) - 1, -1, -1))

    def __len__(self):
        return len(self.data)


class Rows(Dataset):
    def __getitem__(self, i):
        return {"x": torch.full((4,), float(i)), "i": i, "name": f"row {i}"}

    def __getitems__(self, many):
        return [self[i] for i in many]

    def __len__(self):
        return 8


class Training(small.Net):
    def train(self, mode=True):
        print("train", mode)
        return super().train(mode)

    def __call__(self, *args, **kwargs):
        return super().__call__(*args, **kwargs)

    def to(self, *args, **kwargs):
        print("to", args)
        return super().to(*args, **kwargs)


class Slotted(torch.optim.SGD):
    __slots__ = ("extra",)


model = Training().to("cpu").train()
model.eval()
for i, row in Loader(Rows(), batch_size=4, sampler=Backwards(range(8)), own=2):
    print(i, row["i"].tolist(), row["name"])
logged = torch.ones(3).as_subclass(Logged)
print(logged.item if False else logged.sum().item(), logged.tolist(), float(logged.sum()), bool(logged.sum()), logged.cpu().numpy())
print(logged.to("cpu").type(torch.float64).__class__.__name__, logged.nonzero().tolist(), CALLS)
own = torch.ones(1, requires_grad=True).as_subclass(Overriding)
print(own.detach().item(), torch.Tensor.item(own))
own.sum().backward()
optimizer = Slotted(model.parameters(), lr=0.1)
optimizer.extra = 1
for x, y in small.loader():
    model(x).sum().backward()
    optimizer.step()
print(small.weights(model), isinstance(torch.nn.Parameter(torch.ones(1)).item(), float))
print([c.__name__ for c in Training.__mro__], [c.__name__ for c in Slotted.__mro__], Loader.__iter__.__qualname__)
iterator = iter(DataLoader(Rows(), batch_size=3))
print(type(iterator).__name__, next(iterator)["i"].tolist(), iterator.__next__.__name__, len(iterator), type(iterator).__next__ is not None)
