"""Fine-tuning BERT for classification with the Transformers Trainer: its defaults, and a log line at every step."""
import argparse
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Sentences(Dataset):
    """Random token ids, padded to the longest length that the model takes, as `padding="max_length"` does."""

    def __init__(self, count, length, words):
        self.count, self.length, self.words = count, length, words

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        used = 20 + index * 7 % 60
        ids = torch.zeros(self.length, dtype=torch.long)
        ids[:used] = torch.randint(1000, self.words, (used,))
        return {"input_ids": ids, "attention_mask": (ids > 0).long(), "labels": torch.tensor(index % 2)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=16)
    options = parser.parse_args()

    torch.manual_seed(0)
    config = BertConfig(num_labels=2)  # BERT base, random weights
    model = BertForSequenceClassification(config)
    data = Sentences(options.steps * options.batch, 256, config.vocab_size)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            max_steps=options.steps,
            per_device_train_batch_size=options.batch,
            learning_rate=2e-5,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
        )
        result = Trainer(model=model, args=arguments, train_dataset=data).train()
    print("steps", result.global_step)


if __name__ == "__main__":
    main()
