"""Mixed precision on the CPU: autocast as context and decorator, scaled gradients, accumulation."""
import torch

import small

model = small.Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
try:
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
except (AttributeError, TypeError):
    scaler = torch.cuda.amp.GradScaler(enabled=False)


@torch.autocast("cpu", dtype=torch.bfloat16)
def decorated(x):
    return model(x)


print(decorated.__name__, decorated(torch.ones(1, 4)).dtype, torch.is_autocast_enabled())
for i, (x, y) in enumerate(small.loader()):
    with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(model(x).float(), y) / 2
    scaler.scale(loss).backward()
    if i % 2:
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        print(small.bits(norm), scaler.get_scale())
    print(i, small.bits(loss))
print(small.weights(model), sorted(scaler.state_dict().items()), repr(torch.autocast("cpu"))[:24])
