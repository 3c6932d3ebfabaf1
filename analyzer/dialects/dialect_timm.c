/* Words for timm, whose create_loader() makes the loader. The settings are those of timm's
 * reference. */
#include "analyzer/dialects/dialect.h"

const struct dialect dialect_timm = {
    .id = "timm",
    .name = "timm",
    .base = &dialect_pytorch,
    .package = "timm",
    .loader = {"create_loader(...", "", "num_workers", ")", NULL},
};
