"""ResNet-50 on photographs, the way most first scripts are written: torchvision's model, its transforms, a DataLoader."""
import argparse
import io
import time

import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms
from torchvision.models import resnet50


class Photographs(Dataset):
    """JPEG files as a camera writes them, kept in memory: random pixels stand for the pictures."""

    def __init__(self, count, transform):
        self.count, self.transform = count, transform
        self.files = []
        for _ in range(16):
            pixels = (torch.rand(12, 16, 3) * 255).to(torch.uint8).numpy()
            file = io.BytesIO()
            Image.fromarray(pixels).resize((400, 300)).save(file, "JPEG", quality=90)
            self.files.append(file.getvalue())

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        image = Image.open(io.BytesIO(self.files[index % len(self.files)])).convert("RGB")
        return self.transform(image), index % 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=32)
    options = parser.parse_args()

    transform = transforms.Compose([
        transforms.RandomResizedCrop(224),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
    ])
    data = Photographs(options.steps * options.batch, transform)
    loader = DataLoader(data, batch_size=options.batch, shuffle=True)
    device = torch.device("cuda")
    model = resnet50(num_classes=1000).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)

    model.train()
    began, running = time.time(), 0.0
    for step, (images, labels) in enumerate(loader):
        images, labels = images.to(device), labels.to(device)
        loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
        if step % 10 == 9:
            print(f"step {step + 1} loss {running / 10:.3f} {10 * options.batch / (time.time() - began):.0f} images/s", flush=True)
            began, running = time.time(), 0.0


if __name__ == "__main__":
    main()
