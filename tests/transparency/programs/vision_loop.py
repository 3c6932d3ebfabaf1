"""torchvision as in its reference script for classification: transforms, a model, labels smoothed, an epoch's validation."""
import warnings

warnings.simplefilter("ignore")
import torch
import torchvision
from torchvision import transforms

import small

steps = transforms.Compose([transforms.ToPILImage(), transforms.RandomHorizontalFlip(), transforms.RandomResizedCrop(32, antialias=True),
                            transforms.ToTensor(), transforms.Normalize((0.5,) * 3, (0.2,) * 3)])
data = torchvision.datasets.FakeData(size=8, image_size=(3, 40, 40), num_classes=4, transform=transforms.Compose([transforms.PILToTensor(), steps]))
sampler = torch.utils.data.RandomSampler(data)
loader = torch.utils.data.DataLoader(data, batch_size=4, sampler=sampler, num_workers=1, multiprocessing_context="fork")
model = torchvision.models.squeezenet1_1(num_classes=4)
criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
schedule = torch.optim.lr_scheduler.SequentialLR(optimizer, [torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=1),
                                                            torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1)], [1])
for epoch in range(2):
    model.train()
    for image, target in loader:
        output = model(image)
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        print(epoch, small.bits(loss), output.argmax(1).tolist())
    schedule.step()
    model.eval()
    with torch.inference_mode():
        print("hits", sum(int((model(image).argmax(1) == target).sum()) for image, target in loader))
print(small.bits(torchvision.ops.box_iou(torch.tensor([[0.0, 0, 2, 2]]), torch.tensor([[1.0, 1, 3, 3]]))[0, 0]))
torch.save(model.state_dict(), "model.pth")
