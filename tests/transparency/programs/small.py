"""What the PyTorch programs share: a seed, a model, data, and numbers printed to the last bit."""
import random

import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
torch.set_num_threads(1)


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.first, self.last = nn.Linear(4, width), nn.Linear(width, 2)

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))


def dataset(n=24):
    return torch.utils.data.TensorDataset(torch.randn(n, 4), torch.randint(0, 2, (n,)))


def loader(n=24, **settings):
    return torch.utils.data.DataLoader(dataset(n), batch_size=4, **settings)


def bits(value):
    return float(value.detach() if hasattr(value, "detach") else value).hex()


def weights(model):
    return [bits(p.double().sum()) for p in model.parameters()]
