"""timm's parts put together as its training script does: a tiny model, optimizer, schedule, mixup, averaged weights."""
import logging
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.INFO)
import timm
import timm.optim
import timm.scheduler
import timm.utils
import torch
from timm.data import Mixup
from timm.loss import SoftTargetCrossEntropy

import small

timm.utils.random_seed(2, 0)
model = timm.create_model("resnet10t", num_classes=4, in_chans=3)
data = torch.utils.data.TensorDataset(torch.randn(8, 3, 32, 32), torch.randint(0, 4, (8,)))
loader = torch.utils.data.DataLoader(data, batch_size=4, shuffle=True)
optimizer = timm.optim.create_optimizer_v2(model, opt="lamb", lr=1e-3, weight_decay=0.05)
schedule, _ = timm.scheduler.create_scheduler_v2(optimizer, num_epochs=2, warmup_epochs=1)
averaged = timm.utils.ModelEmaV2(model, decay=0.9)
mixup, loss_of = Mixup(mixup_alpha=0.2, num_classes=4), SoftTargetCrossEntropy()
meter = timm.utils.AverageMeter()
scaler = timm.utils.NativeScaler()
for epoch in range(2):
    model.train()
    for i, (x, y) in enumerate(loader):
        x, target = mixup(x, y)
        loss = loss_of(model(x), target)
        optimizer.zero_grad()
        loss.backward(create_graph=False)
        timm.utils.dispatch_clip_grad(model.parameters(), 1.0, mode="agc")
        optimizer.step()
        averaged.update(model)
        meter.update(loss.item(), x.size(0))
        schedule.step_update(epoch * len(loader) + i)
        print(epoch, small.bits(loss), small.bits(meter.avg))
    schedule.step(epoch + 1)
model.eval()
with torch.no_grad():
    print([small.bits(a) for a in timm.utils.accuracy(model(data.tensors[0]), data.tensors[1], topk=(1, 2))])
saver = timm.utils.CheckpointSaver(model, optimizer, checkpoint_dir=".", recovery_dir=".", max_history=1)
print(saver.save_checkpoint(0, metric=1.0), sum(float(p.double().sum()) for p in averaged.module.parameters()).hex())
import glob
import os

for name in glob.glob("*.pth.tar"):
    os.remove(name)
