"""Hugging Face Accelerate: prepare, accumulation of gradients, clipping, a schedule, state saved and loaded."""
import os
import warnings

warnings.simplefilter("ignore")
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

import small

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
set_seed(3)
model = small.Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
model, optimizer, train, schedule = accelerator.prepare(model, optimizer, small.loader(shuffle=True), schedule)
for epoch in range(2):
    for x, y in train:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        accelerator.print(epoch, small.bits(loss), optimizer.step_was_skipped, schedule.get_last_lr())
    accelerator.save_state("state")
accelerator.load_state("state")
gathered = accelerator.gather(torch.ones(1))
print(gathered.tolist(), small.weights(accelerator.unwrap_model(model)), type(optimizer).__name__, type(train).__name__)
print(sorted(os.listdir("state")))
optimizer.train() if hasattr(optimizer, "train") and hasattr(optimizer.optimizer, "train") else None
accelerator.free_memory()
accelerator.end_training()
import shutil

shutil.rmtree("state")
