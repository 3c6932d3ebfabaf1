/* The words of skorch, whose NeuralNet makes the loader: settings as its
 * reference documents them. */
#include "analyzer/dialects/dialect.h"

const struct dialect dialect_skorch = {
    .id = "skorch",
    .name = "skorch",
    .base = &dialect_pytorch,
    .package = "skorch",
    .loader = {"NeuralNet(...", "iterator_train__", "num_workers", ")", NULL},
};
