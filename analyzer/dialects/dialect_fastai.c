/* Words for fastai, whose dataloaders() makes the loader. The settings are those of fastai's
 * reference. */
#include "analyzer/dialects/dialect.h"

const struct dialect dialect_fastai = {
    .id = "fastai",
    .name = "fastai",
    .base = &dialect_pytorch,
    .package = "fastai",
    .loader = {"dataloaders(...", "", "num_workers", ")", "pin_memory"},
    .phrases = {{"autocast", "learn.to_bf16()"}},
};
