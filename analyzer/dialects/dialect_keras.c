/* Words for Keras on PyTorch, whose fit() accepts a DataLoader instead of arrays. The settings are
 * those of Keras's reference. */
#include "analyzer/dialects/dialect.h"

const struct dialect dialect_keras = {
    .id = "keras",
    .name = "Keras",
    .base = &dialect_pytorch,
    .package = "keras",
    .loader = {"fit(DataLoader(...", "", "num_workers", "))", NULL},
};
