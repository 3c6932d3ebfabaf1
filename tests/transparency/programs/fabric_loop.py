"""Lightning Fabric: setup, backward, clipping, a checkpoint."""
import logging
import warnings

warnings.simplefilter("ignore")
logging.getLogger("lightning.fabric").setLevel(logging.ERROR)
import torch
from lightning.fabric import Fabric, seed_everything

import small

seed_everything(5)
fabric = Fabric(accelerator="cpu", devices=1)
fabric.launch()
model = small.Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
model, optimizer = fabric.setup(model, optimizer)
loader = fabric.setup_dataloaders(small.loader(shuffle=True))
for epoch in range(2):
    for i, (x, y) in enumerate(loader):
        with fabric.no_backward_sync(model, enabled=i % 2 == 0):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            fabric.backward(loss)
        if i % 2:
            fabric.clip_gradients(model, optimizer, max_norm=1.0)
            optimizer.step()
            optimizer.zero_grad()
        print(epoch, small.bits(loss))
fabric.save("fabric.ckpt", {"model": model, "optimizer": optimizer, "epoch": epoch})
print(sorted(fabric.load("fabric.ckpt")), small.weights(model), type(optimizer).__name__, type(model).__name__)
print(optimizer.step.__name__, optimizer.zero_grad.__name__, type(optimizer).__mro__[1].__name__, repr(optimizer).splitlines()[0])
