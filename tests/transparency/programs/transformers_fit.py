"""The Transformers trainer: a tiny model of random weights, a data set in memory, checkpoints, evaluation."""
import os
import warnings

warnings.simplefilter("ignore")
import torch
import transformers

import small

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
transformers.set_seed(11)
config = transformers.BertConfig(vocab_size=32, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
                                 max_position_embeddings=16, num_labels=2)
model = transformers.BertForSequenceClassification(config)


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, i):
        return {"input_ids": torch.full((8,), i % 32), "attention_mask": torch.ones(8, dtype=torch.long), "labels": torch.tensor(i % 2)}


class Lines(transformers.TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        print(state.global_step, {k: repr(v) for k, v in sorted(logs.items()) if not k.endswith(("runtime", "per_second"))})


settings = dict(output_dir="out", per_device_train_batch_size=4, num_train_epochs=2, logging_steps=1, save_steps=4, report_to=[], use_cpu=True,
                disable_tqdm=True, gradient_accumulation_steps=2, max_grad_norm=0.5, lr_scheduler_type="cosine", seed=1)
trainer = transformers.Trainer(model=model, args=transformers.TrainingArguments(**settings), train_dataset=Rows(), eval_dataset=Rows(), callbacks=[Lines()])
trainer.remove_callback(transformers.PrinterCallback)
done = trainer.train()
print(done.global_step, repr(done.training_loss), small.weights(model)[:4], repr(trainer.evaluate()["eval_loss"]))
print(sorted(os.listdir("out")), sorted(os.listdir("out/checkpoint-4")), type(trainer.optimizer).__name__)
import shutil

shutil.rmtree("out")
