"""Products in FP8 (torch._scaled_mm), and attention by each of its implementations, in a training loop."""
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel


class Float8Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        one = torch.ones((), device=x.device)
        ctx.save_for_backward(x, weight)
        a, b = x.to(torch.float8_e4m3fn), weight.to(torch.float8_e4m3fn)
        return torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight, grad.t() @ x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Parameter(torch.randn(3 * 512, 512, device="cuda", dtype=torch.bfloat16))
        self.out = nn.Parameter(torch.randn(512, 512, device="cuda", dtype=torch.bfloat16))

    def forward(self, x):
        q, k, v = (z.view(4, 128, 8, 64).transpose(1, 2) for z in Float8Linear.apply(x, self.qkv).split(512, dim=1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return Float8Linear.apply(y.transpose(1, 2).reshape(512, 512), self.out)


net = Net()
optimizer = torch.optim.AdamW(net.parameters())
x = torch.randn(512, 512, device="cuda", dtype=torch.bfloat16)
for kind in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION):
    with sdpa_kernel(kind):
        for _ in range(6):
            loss = net(x).float().square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(kind.name, "loss", loss.item())
