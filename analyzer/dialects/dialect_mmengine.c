/* Words for MMEngine, whose Runner makes loader and loop from its configuration. The settings are
 * those of MMEngine's reference. */
#include "analyzer/dialects/dialect.h"

const struct dialect dialect_mmengine = {
    .id = "mmengine",
    .name = "MMEngine",
    .base = &dialect_pytorch,
    .package = "mmengine",
    .loader = {"train_dataloader=dict(...", "", "num_workers", ")", NULL},
    .phrases = {{"autocast", "optim_wrapper=dict(type='AmpOptimWrapper', dtype='bfloat16')"},
                {"compile", "compile=True in the configuration"}},
};
