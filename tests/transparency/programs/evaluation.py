"""Inference: without gradients, in inference mode, with and without eval(), counting hits by .item()."""
import torch

import small

model = small.Net()
model.eval()


@torch.no_grad()
def accuracy(batches):
    """The share of hits."""
    hits = torch.zeros(())
    for x, y in batches:
        hits += (model(x).argmax(1) == y).float().sum()
    return hits.item()


@torch.inference_mode()
def scores(batches):
    return [row.tolist() for x, _ in batches for row in model(x).softmax(1)[:1]]


print(accuracy(small.loader()), accuracy.__name__, accuracy.__doc__, torch.is_grad_enabled())
print(scores(small.loader())[:2])
count = 0
for x, y in small.loader(drop_last=True):
    out = model(x)
    count += int((out.argmax(1) == y).sum())
    print(small.bits(out.sum()), out.requires_grad)
print(count, len(small.loader()), len(list(zip(small.loader(), small.loader()))))
batches = iter(small.loader())
print(next(batches)[1].tolist(), next(batches)[1].tolist())
del batches
for epoch in range(2):
    for i, (x, y) in enumerate(small.loader(shuffle=True, generator=torch.Generator().manual_seed(epoch))):
        if i == 2:
            break
    print(epoch, y.tolist())
try:
    it = iter(small.loader(n=4))
    next(it), next(it)
except StopIteration as end:
    print("ended", end.args)
