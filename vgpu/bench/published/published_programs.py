#!/usr/bin/env python3
"""Training loops whose throughput was published; `vgpu/bench/published/published.py` runs them on the virtual GPU.

usage: published_programs.py PROGRAM [--batch N] [--precision fp32|tf32|amp|bf16] [--steps N] ...

Prints the samples per second over the last steps, as the published programs measure them.
"""
import argparse
import math
import time

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.heads, self.flash = 12, o.flash
        self.qkv, self.out, self.drop = nn.Linear(768, 3 * 768), nn.Linear(768, 768), nn.Dropout(o.dropout)
        self.register_buffer("mask", torch.tril(torch.ones(o.length, o.length)).view(1, 1, o.length, o.length))

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = (z.view(b, t, self.heads, c // self.heads).transpose(1, 2) for z in self.qkv(x).split(c, dim=2))
        if self.flash:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
            y = self.drop(F.softmax(scores, dim=-1)) @ v
        return self.drop(self.out(y.transpose(1, 2).contiguous().view(b, t, c)))


class Block(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.first, self.attention, self.second = nn.LayerNorm(768), Attention(o), nn.LayerNorm(768)
        self.mlp = nn.Sequential(nn.Linear(768, 3072), nn.GELU(approximate="tanh"), nn.Linear(3072, 768), nn.Dropout(o.dropout))

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.mlp(self.second(x))


class GPT(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.tokens, self.places = nn.Embedding(o.vocabulary, 768), nn.Embedding(o.length, 768)
        self.blocks = nn.Sequential(*(Block(o) for _ in range(12)))
        self.norm, self.head = nn.LayerNorm(768), nn.Linear(768, o.vocabulary, bias=False)
        self.tokens.weight = self.head.weight

    def forward(self, x, y):
        z = self.tokens(x) + self.places(torch.arange(x.size(1), device=x.device))
        logits = self.head(self.norm(self.blocks(z)))
        return F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1))


def gpt2(o):
    model = GPT(o).cuda()
    rows = torch.randint(0, o.vocabulary, (o.batch, o.length + 1))
    return model, lambda: (rows[:, :-1].cuda(), rows[:, 1:].cuda()), model.parameters()


class Classifier(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model, self.loss = model, nn.CrossEntropyLoss(label_smoothing=0.1)

    def forward(self, images, labels):
        return self.loss(self.model(images), labels)


def pictures(model, o):
    images, labels = torch.randn(o.batch, 3, 224, 224), torch.randint(0, 1000, (o.batch,)).cuda()
    images = images.cuda().half() if o.half else images.cuda()
    if o.channels_last:
        model, images = model.to(memory_format=torch.channels_last), images.contiguous(memory_format=torch.channels_last)
    model = Classifier(model.cuda())
    return model, lambda: (images, labels), model.parameters()


def resnet50(o):
    from torchvision.models import resnet50 as build
    return pictures(build(), o)


def resnext101(o):
    from torchvision.models.resnet import Bottleneck, ResNet
    return pictures(ResNet(Bottleneck, [3, 4, 23, 3], groups=32, width_per_group=4), o)


def seresnext101(o):
    import timm
    return pictures(timm.create_model("seresnext101_32x4d"), o)


def named(o):
    """Returns the torchvision model that --name names."""
    import torchvision
    return pictures(getattr(torchvision.models, o.name)(), o)


class Pretraining(nn.Module):
    """BERT-large with both of its losses; words are predicted only at the masked places, as in the published program."""

    def __init__(self):
        super().__init__()
        from transformers import BertConfig, BertForPreTraining
        self.model = BertForPreTraining(BertConfig(vocab_size=30528, hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
                                                   intermediate_size=4096, attn_implementation="eager"))

    def forward(self, tokens, places, words, order):
        out = self.model.bert(input_ids=tokens, attention_mask=torch.ones_like(tokens))
        masked = out.last_hidden_state.flatten(0, 1).index_select(0, places)
        guesses, pairs = self.model.cls(masked, out.pooler_output)
        return F.cross_entropy(guesses, words) + F.cross_entropy(pairs, order)


def bert(o):
    model, masked = Pretraining().cuda(), o.batch * {128: 20, 512: 80}[o.length]
    tokens = torch.randint(0, 30000, (o.batch, o.length)).cuda()
    batch = (tokens, torch.arange(masked).cuda(), torch.zeros(masked, dtype=torch.long).cuda(), torch.zeros(o.batch, dtype=torch.long).cuda())
    return model, lambda: batch, model.parameters()


def optimizer_of(o, parameters):
    if o.program in ("resnet50", "resnext101", "seresnext101", "named"):
        return torch.optim.SGD(parameters, lr=0.1, momentum=0.875, weight_decay=3e-5)
    return torch.optim.AdamW(parameters, lr=3e-4, fused=o.fused or None)


def train(o):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = o.precision != "fp32"
    torch.backends.cudnn.benchmark = True
    model, batch, parameters = PROGRAMS[o.program](o)
    run = torch.compile(model) if o.compile else model
    optimizer = optimizer_of(o, parameters)
    half = {"amp": torch.float16, "bf16": torch.bfloat16}.get(o.precision)
    if o.half:  # as apex's O2 does: no operand needs a cast
        model.half()
    scaler = torch.amp.GradScaler(enabled=o.precision == "amp")
    for step in range(o.steps + o.warmup):
        if step == o.warmup:
            torch.cuda.synchronize()
            began = time.perf_counter()
        with torch.autocast("cuda", dtype=half or torch.bfloat16, enabled=half is not None and not o.half):
            loss = run(*batch())
        scaler.scale(loss).backward()
        if not o.micro:  # of many micro-batches before the optimizer's step
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        torch.cuda.synchronize()
    print(f"samples_per_s {o.batch * o.steps / (time.perf_counter() - began):.1f}")


PROGRAMS = {f.__name__: f for f in (gpt2, resnet50, resnext101, seresnext101, named, bert)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--precision", choices=["fp32", "tf32", "amp", "bf16"], required=True)
    parser.add_argument("--name", default="resnet18")
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--vocabulary", type=int, default=50257)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--warmup", type=int, default=4)
    for flag in ("compile", "flash", "channels_last", "micro", "half", "fused"):
        parser.add_argument("--" + flag.replace("_", "-"), action="store_true")
    train(parser.parse_args())


main()
