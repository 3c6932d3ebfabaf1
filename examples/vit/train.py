"""A vision transformer from timm, trained from scratch on pictures that are already arrays (as CIFAR or a preprocessed set)."""
import argparse

import timm
import torch
from timm.loss import LabelSmoothingCrossEntropy
from timm.scheduler import CosineLRScheduler
from timm.utils import AverageMeter, accuracy
from torch.utils.data import DataLoader, Dataset


class Arrays(Dataset):
    """Normalized pictures in memory, as a preprocessed data set has them."""

    def __init__(self, count):
        self.images = torch.randn(64, 3, 224, 224)
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.images[index % 64], index % 100


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--model", default="vit_small_patch16_224")
    options = parser.parse_args()

    model = timm.create_model(options.model, num_classes=100, drop_path_rate=0.1).cuda()
    loader = DataLoader(Arrays(options.steps * options.batch), batch_size=options.batch, shuffle=True, num_workers=1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.05)
    scheduler = CosineLRScheduler(optimizer, t_initial=options.steps, warmup_t=5, t_in_epochs=False)
    criterion = LabelSmoothingCrossEntropy(0.1)
    losses, top1 = AverageMeter(), AverageMeter()

    model.train()
    for step, (images, labels) in enumerate(loader):
        images, labels = images.cuda(), labels.cuda()
        output = model(images)
        loss = criterion(output, labels)
        losses.update(loss.item(), len(images))
        top1.update(accuracy(output, labels)[0].item(), len(images))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step_update(step)
        if step % 10 == 9:
            print(f"step {step + 1} loss {losses.avg:.3f} top-1 {top1.avg:.1f}", flush=True)


if __name__ == "__main__":
    main()
