"""GPT-2 (124M) in one file, in the style of nanoGPT: tokens from a memory map, AdamW with decay groups, micro-batches.

Attention is written out, as in the first versions of such files; bfloat16 comes from autocast.
"""
import argparse
import math
import os
import tempfile
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("mask", torch.tril(torch.ones(context, context)).view(1, 1, context, context))

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = self.c_attn(x).split(c, dim=2)
        q, k, v = (z.view(b, t, self.heads, c // self.heads).transpose(1, 2) for z in (q, k, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(b, t, c))


class NewGELU(nn.Module):
    """The activation of GPT-2, by its formula."""

    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class Block(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(width), Attention(width, heads, context)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), NewGELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary, width, heads, layers, context):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.h = nn.ModuleList(Block(width, heads, context) for _ in range(layers))
        self.ln_f, self.lm_head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.size(1), device=tokens.device))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


def random_tokens(folder, vocabulary):
    path = os.path.join(folder, "train.bin")
    np.random.default_rng(0).integers(0, vocabulary, 1_000_000).astype(np.uint16).tofile(path)
    return path


def get_batch(path, batch, context):
    data = np.memmap(path, dtype=np.uint16, mode="r")
    starts = torch.randint(len(data) - context, (batch,))
    x = torch.stack([torch.from_numpy(data[i:i + context].astype(np.int64)) for i in starts])
    y = torch.stack([torch.from_numpy(data[i + 1:i + 1 + context].astype(np.int64)) for i in starts])
    return x.to("cuda"), y.to("cuda")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--accumulate", type=int, default=2)
    parser.add_argument("--context", type=int, default=1024)
    options = parser.parse_args()

    vocabulary = 50257
    model = GPT(vocabulary, width=768, heads=12, layers=12, context=options.context).cuda()
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
                                  lr=6e-4, betas=(0.9, 0.95))
    with tempfile.TemporaryDirectory() as folder:
        tokens = random_tokens(folder, vocabulary)
        for step in range(options.steps):
            began, total = time.time(), 0.0
            for _ in range(options.accumulate):
                x, y = get_batch(tokens, options.batch, options.context)
                with torch.autocast("cuda", dtype=torch.bfloat16):
                    loss = model(x, y) / options.accumulate
                loss.backward()
                total += loss.item()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            if step % 10 == 9:
                print(f"iter {step + 1}: loss {total:.4f}, time {(time.time() - began) * 1000:.1f}ms", flush=True)


if __name__ == "__main__":
    main()
