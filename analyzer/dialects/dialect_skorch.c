/* Words for skorch, whose NeuralNet makes the loader. The settings are those of skorch's
 * reference. */
#include "analyzer/dialects/dialect.h"

const struct dialect dialect_skorch = {
    .id = "skorch",
    .name = "skorch",
    .base = &dialect_pytorch,
    .package = "skorch",
    .loader = {"NeuralNet(...", "iterator_train__", "num_workers", ")", NULL},
};
