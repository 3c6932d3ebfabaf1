"""Warnings with their places, logging with stacks, and what PyTorch itself warns of."""
import logging
import sys
import warnings

import torch

import small

logging.basicConfig(format="%(levelname)s %(filename)s:%(lineno)d %(funcName)s %(message)s", stream=sys.stderr)
model = small.Net()


class Warning_(torch.optim.SGD):
    def step(self, closure=None):
        for level in (1, 2, 3, 4):
            warnings.warn(f"from a step, {level}", stacklevel=level)
        logging.warning("in a step", stack_info=True)
        return super().step(closure)


class Rows(torch.utils.data.Dataset):
    def __getitem__(self, i):
        for level in (1, 2, 3):
            warnings.warn(f"from a row, {level}", stacklevel=level)
        if i == 0:
            logging.error("in a row", stack_info=True)
        return torch.ones(1)

    def __len__(self):
        return 4


class Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        warnings.warn("from forward", stacklevel=2)
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        warnings.warn("from backward", stacklevel=2)
        logging.warning("in backward", stack_info=True)
        return gradient


def hook(module, args, out):
    warnings.warn("from a hook", stacklevel=3)
    logging.warning("in a hook", stack_info=True)


model.register_forward_hook(hook)
optimizer = Warning_(model.parameters(), lr=0.1)
for row in torch.utils.data.DataLoader(Rows(), batch_size=2):
    Backward.apply(model(torch.ones(1, 4))).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
torch.optim.lr_scheduler.StepLR(torch.optim.SGD(model.parameters(), lr=0.1), 1).step()
out = model(torch.ones(1, 4))
out.grad
torch.optim.lr_scheduler.StepLR(optimizer, 1).step(3)
try:
    torch.autocast("cpu", dtype=torch.float32).__enter__()
except RuntimeError as problem:
    print(problem)
torch.tensor(torch.ones(1))
with warnings.catch_warnings():
    warnings.simplefilter("error")
    try:
        torch.cuda.amp.GradScaler()
    except UserWarning as problem:
        print("raised", str(problem)[:60])
    except FutureWarning as problem:
        print("raised", str(problem)[:40])
