"""Lightning's Trainer: fit with validation and a checkpoint, then test and predict. With `bar` its progress bar is on."""
import logging
import re
import sys
import warnings

warnings.simplefilter("ignore")
for name in ("lightning.pytorch", "lightning.fabric", "pytorch_lightning"):
    logging.getLogger(name).setLevel(logging.ERROR)
import lightning as L
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint, TQDMProgressBar

import small


class Plain(TQDMProgressBar):
    """A bar without rates and times."""

    def init_train_tqdm(self):
        bar = super().init_train_tqdm()
        bar.bar_format = "{desc} {n_fmt}/{total_fmt} {postfix}"
        bar.mininterval = bar.maxinterval = 0
        return bar

    def init_validation_tqdm(self):
        bar = super().init_validation_tqdm()
        bar.bar_format = "{desc} {n_fmt}/{total_fmt}"
        return bar

    init_sanity_tqdm = init_predict_tqdm = init_test_tqdm = init_validation_tqdm


class Order(Callback):
    seen = []

    def __getattribute__(self, name):
        if name.startswith("on_") and "exception" not in name:
            Order.seen.append(name)
        return super().__getattribute__(name)


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = small.Net()

    def training_step(self, batch, i):
        loss = torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.log("loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, i):
        self.log("val", torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1]))

    test_step = validation_step

    def predict_step(self, batch, i):
        return self.net(batch[0]).sum().item()

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]


def main(bar):
    torch.manual_seed(7)
    model = Net()
    saved = ModelCheckpoint(dirpath="saved", filename="last-{epoch}", monitor="val")
    trainer = L.Trainer(max_epochs=2, accelerator="cpu", devices=1, logger=False, enable_model_summary=False, gradient_clip_val=1.0,
                        enable_progress_bar=bar, callbacks=[saved, Order()] + [Plain()] * bar, accumulate_grad_batches=2)
    trainer.fit(model, small.loader(shuffle=True), small.loader())
    print(small.weights(model), trainer.global_step, saved.best_model_path[-20:], sorted(trainer.callback_metrics))
    print({k: small.bits(v) for k, v in trainer.callback_metrics.items()}, len(Order.seen), Order.seen[-6:])
    print(trainer.test(model, small.loader(), verbose=False) == trainer.validate(model, small.loader(), verbose=False) or "as it is")
    print(trainer.predict(model, small.loader()))
    kept = torch.load(saved.best_model_path, weights_only=False)
    print(sorted(kept), kept["global_step"], re.sub(r"0x\w+", "", str(kept["optimizer_states"][0]["param_groups"])))
    import shutil

    shutil.rmtree("saved")


main(sys.argv[1:] == ["bar"])
