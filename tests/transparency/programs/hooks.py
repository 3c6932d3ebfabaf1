"""Hooks on modules, tensors and gradients; checkpointed activations; own functions; anomaly detection."""
import torch
from torch.utils.checkpoint import checkpoint

import small


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        print("backward of Double", tuple(ctx.saved_tensors[0].shape))
        return gradient * 2


model, seen = small.Net(), []
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model.register_forward_pre_hook(lambda m, a: seen.append("pre"))
model.first.register_forward_hook(lambda m, a, out: seen.append(("out", tuple(out.shape))))
model.last.register_full_backward_hook(lambda m, i, o: seen.append(("back", tuple(o[0].shape))))
model.last.weight.register_hook(lambda g: g * 0.5)
order = []
if hasattr(model.last.weight, "register_post_accumulate_grad_hook"):
    model.last.weight.register_post_accumulate_grad_hook(lambda p: order.append("accumulated"))
for x, y in small.loader():
    out = checkpoint(model, x.requires_grad_(), use_reentrant=False)
    loss = torch.nn.functional.cross_entropy(Double.apply(out), y)
    loss.register_hook(lambda g: seen.append("loss"))
    loss.backward(retain_graph=True)
    first = torch.autograd.grad(loss, model.first.weight, create_graph=True)[0]
    first.pow(2).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    print(small.bits(loss), small.bits(first.sum()))
print(len(seen), seen[:8], order)
with torch.autograd.detect_anomaly(check_nan=True):
    try:
        bad = torch.zeros(1, requires_grad=True)
        (bad / bad).sum().backward()
    except RuntimeError as problem:
        print(str(problem)[:60])
with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append("packed") or t, lambda t: t):
    model(torch.ones(1, 4)).sum().backward()
print(seen.count("packed"), small.weights(model))
print([type(model.train()).__name__, model.training, model.eval().training, model.apply(lambda m: seen.append(type(m).__name__)) is model])
print(torch.autograd.gradcheck(Double.apply, (torch.ones(2, dtype=torch.double, requires_grad=True),)))
