#!/usr/bin/env python3
"""Models as users train them, eager or with torch.compile; `vgpu/bench/published/compiled.py` runs them on the virtual GPU.

usage: compiled_programs.py [MODEL eager|compiled STEPS]

Without arguments it prints the names of the models. Weights and data are random; the precision is bfloat16 by autocast unless the
name ends in `-fp32`; the optimizer is fused AdamW. Transformers have fewer layers than published, which does not change how the
time of a layer is divided.
"""
import sys

import torch
from torch import nn


class Loss(nn.Module):
    """A model and its loss in one module, so that they are compiled together."""

    def __init__(self, model, of):
        super().__init__()
        self.model, self.of = model, of

    def forward(self, *batch):
        return self.of(self.model, *batch)


def pictures(name, batch, **options):
    import timm
    loss = nn.CrossEntropyLoss()
    model = timm.create_model(name, num_classes=1000, **options).cuda()
    images, labels = torch.randn(batch, 3, 224, 224).cuda(), torch.zeros(batch, dtype=torch.long).cuda()
    return Loss(model, lambda m, x, y: loss(m(x), y)), (images, labels)


def text(kind, config, batch, length, attention, **options):
    import transformers
    config = getattr(transformers, config)(**options)
    config._attn_implementation = attention
    model = getattr(transformers, kind)(config).cuda().train()
    tokens = torch.randint(0, config.vocab_size, (batch, length)).cuda()
    return Loss(model, lambda m, x: m(input_ids=x, labels=x).loss), (tokens,)


def layers():
    def block():
        return nn.Sequential(nn.Linear(2048, 2048), nn.LayerNorm(2048), nn.SiLU(), nn.Dropout(0.1))
    model = nn.Sequential(*(block() for _ in range(8))).cuda()
    return Loss(model, lambda m, x: m(x).square().mean()), (torch.randn(16384, 2048).cuda(),)


def denoiser():
    from diffusers import UNet2DModel
    down, up = ["DownBlock2D"] * 4, ["UpBlock2D"] * 4
    down[2], up[1] = "AttnDownBlock2D", "AttnUpBlock2D"
    model = UNet2DModel(sample_size=64, in_channels=3, out_channels=3, layers_per_block=2, block_out_channels=(128, 128, 256, 512),
                        down_block_types=down, up_block_types=up).cuda()
    images, times = torch.randn(32, 3, 64, 64).cuda(), torch.zeros(32, dtype=torch.long).cuda()
    return Loss(model, lambda m, x, t: (m(x, t).sample - x).square().mean()), (images, times)


LARGE = {"num_hidden_layers": 4, "hidden_size": 1024, "num_attention_heads": 16}
BERT = ("BertForMaskedLM", "BertConfig", 32, 256)
MODELS = {
    "mlp": layers,
    "vit-small": lambda: pictures("vit_small_patch16_224", 128, depth=6),
    "convnext-tiny": lambda: pictures("convnext_tiny", 64, depths=(2, 2, 4, 2)),
    "resnet50": lambda: pictures("resnet50", 64),
    "efficientnet-b0": lambda: pictures("efficientnet_b0", 128),
    "bert-written-out": lambda: text(*BERT, "eager", num_hidden_layers=4),
    "bert": lambda: text(*BERT, "sdpa", num_hidden_layers=4),
    "gpt2": lambda: text("GPT2LMHeadModel", "GPT2Config", 8, 1024, "sdpa", n_layer=4),
    "llama": lambda: text("LlamaForCausalLM", "LlamaConfig", 8, 1024, "sdpa", intermediate_size=2816, **LARGE),
    "swin-tiny": lambda: pictures("swin_tiny_patch4_window7_224", 64, depths=(2, 2, 2, 2)),
    "mobilenetv3": lambda: pictures("mobilenetv3_large_100", 256),
    "deit3-small": lambda: pictures("deit3_small_patch16_224", 128, depth=6),
    "regnety": lambda: pictures("regnety_032", 64),
    "densenet121": lambda: pictures("densenet121", 64),
    "resnet18-fp32": lambda: pictures("resnet18", 128),
    "roberta-written-out": lambda: text("RobertaForMaskedLM", "RobertaConfig", 32, 256, "eager", num_hidden_layers=4),
    "distilbert": lambda: text("DistilBertForMaskedLM", "DistilBertConfig", 32, 256, "sdpa", n_layers=4),
    "gpt-neox": lambda: text("GPTNeoXForCausalLM", "GPTNeoXConfig", 8, 1024, "sdpa", intermediate_size=4096, **LARGE),
    "qwen2-written-out": lambda: text("Qwen2ForCausalLM", "Qwen2Config", 8, 1024, "eager", intermediate_size=2816,
                                      num_key_value_heads=4, vocab_size=32000, **LARGE),
    "unet": denoiser,
    "vit-small-fp32": lambda: pictures("vit_small_patch16_224", 64, depth=6),
    "bart": lambda: text("BartForConditionalGeneration", "BartConfig", 16, 512, "sdpa", encoder_layers=3, decoder_layers=3),
    "coatnet": lambda: pictures("coatnet_0_rw_224", 32),
}


def main():
    if len(sys.argv) == 1:
        print("\n".join(MODELS))
        return
    name, way, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
    torch.manual_seed(0)
    model, batch = MODELS[name]()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    run = torch.compile(model) if way == "compiled" else model
    for _ in range(steps):
        with torch.autocast("cuda", torch.bfloat16, enabled=not name.endswith("-fp32")):
            loss = run(*batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
