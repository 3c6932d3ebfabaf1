/* The words of Keras on PyTorch: fit() takes a DataLoader in place of arrays: settings as its
 * reference documents them. */
#include "analyzer/dialects/dialect.h"

const struct dialect dialect_keras = {
    .id = "keras",
    .name = "Keras",
    .base = &dialect_pytorch,
    .package = "keras",
    .loader = {"fit(DataLoader(...", "", "num_workers", "))", NULL},
};
