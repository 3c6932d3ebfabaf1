#!/usr/bin/env python3
"""Training loops of the usual frameworks print the same with and without gpuprof, and their steps and data
loading are recorded. A framework that an interpreter lacks is left out.

usage: frameworks.py BUILD     for each interpreter with PyTorch: support.pythons()
"""
import re
import sys

from support import Test, pythons, query

HEAD = """
import tempfile, warnings
warnings.simplefilter("ignore")
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset
torch.manual_seed(0)
rows = TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,)))
model, loss_of = torch.nn.Linear(4, 2), torch.nn.functional.cross_entropy
"""
PROGRAMS = {
    "accelerate": """
from accelerate import Accelerator
a = Accelerator(cpu=True)
opt = torch.optim.AdamW(model.parameters(), lr=0.01)
loader, sched = DataLoader(rows, batch_size=8, shuffle=True), torch.optim.lr_scheduler.StepLR(opt, 4)
model, opt, loader, sched = a.prepare(model, opt, loader, sched)
for epoch in range(2):
    model.train()
    for x, y in loader:
        with a.accumulate(model):
            opt.zero_grad(); loss = loss_of(model(x), y); a.backward(loss)
            a.clip_grad_norm_(model.parameters(), 1.0); opt.step(); sched.step()
    print(epoch, loss.item())
""",
    "lightning.fabric": """
from lightning.fabric import Fabric
fabric = Fabric(accelerator="cpu"); fabric.launch()
model, opt = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=0.01))
loader = fabric.setup_dataloaders(DataLoader(rows, batch_size=8, shuffle=True))
for epoch in range(2):
    for x, y in loader:
        opt.zero_grad(); loss = loss_of(model(x), y); fabric.backward(loss)
        fabric.clip_gradients(model, opt, max_norm=1.0); opt.step()
    print(epoch, loss.item())
""",
    "lightning": """
import lightning
class Module(lightning.LightningModule):
    def __init__(self): super().__init__(); self.inner = model
    def training_step(self, batch, i): loss = loss_of(self.inner(batch[0]), batch[1]); self.log("loss", loss); return loss
    def validation_step(self, batch, i): self.log("seen", loss_of(self.inner(batch[0]), batch[1]))
    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), lr=0.1)
with tempfile.TemporaryDirectory() as folder:
    trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", enable_progress_bar=False, logger=False, default_root_dir=folder)
    trainer.fit(Module(), DataLoader(rows, batch_size=8), DataLoader(rows, batch_size=16))
    print({k: float(v) for k, v in trainer.callback_metrics.items()})
""",
    "transformers": """
import transformers as t
class Words(Dataset):
    def __len__(self): return 32
    def __getitem__(self, i): return {"input_ids": torch.arange(i, i + 8), "labels": torch.tensor(i % 2)}
t.set_seed(0)
bert = t.BertForSequenceClassification(t.BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                                                    intermediate_size=16, max_position_embeddings=16))
with tempfile.TemporaryDirectory() as folder:
    trainer = t.Trainer(bert, t.TrainingArguments(folder, num_train_epochs=2, per_device_train_batch_size=4, report_to=[],
                        disable_tqdm=True, use_cpu=True, logging_strategy="no", save_strategy="no"), train_dataset=Words())
    print(round(trainer.train().training_loss, 6))
""",
}


def untimed(done):
    """Without the times that some print."""
    for name in ("stdout", "stderr"):
        setattr(done, name, re.sub(r"[\d.]+(s|it/s|it/sec)\b|_(runtime|per_second)': [^,}]*", "", getattr(done, name)))
    return done


def train(test, what, python, name):
    if test.run([python, "-c", f"import {name}"]).returncode:
        print(f"        {what} is not there: left out")
        return
    command = [python, "-W", "ignore", test.write("train.py", HEAD + PROGRAMS[name])]
    plain = untimed(test.run(command))
    traced, profile = test.traced(command)
    untimed(traced)
    test.check(plain.returncode == 0 and plain.stdout, f"{what}: it works without gpuprof", plain.stderr[-900:])
    test.check(traced.returncode == plain.returncode and traced.stdout == plain.stdout, f"{what}: the same output and status",
               traced.stderr[-900:])
    steps = query(profile, "SELECT count(*) FROM range r JOIN string s ON s.id = r.name WHERE s.text = 'gpuprof.step'")[0][0]
    spans = dict(query(profile, "SELECT what, count(*) FROM loader_span GROUP BY what"))
    loaders = query(profile, "SELECT s.text FROM meta m JOIN string s ON s.id = m.value WHERE s.text LIKE 'DataLoader(%'")
    by = query(profile, "SELECT v.text FROM meta m JOIN string k ON k.id = m.key JOIN string v ON v.id = m.value "
                        "WHERE k.text = 'torch.trained_by'")
    trains = by[0][0].split() if by else []
    test.check((name in trains) == (name != "lightning.fabric"), f"{what}: who calls the optimizer", trains)
    size = 4 if name == "transformers" else 8
    test.check(any(f"batch_size={size}," in text for text, in loaders), f"{what}: the size of a batch", loaders)
    test.check(steps == 15 and spans.get(1, 0) >= 16 and spans.get(0, 0) >= 16, f"{what}: steps and data loading", (steps, spans))


def main():
    test, found = Test(sys.argv[1]), pythons()
    for python, version, torch in found:
        for name in PROGRAMS:
            train(test, f"Python {version}, PyTorch {torch}, {name}", python, name)
    if not test.passed + test.failed:
        print("no interpreter with any of the frameworks")
        sys.exit(77)
    test.done()


if __name__ == "__main__":
    main()
