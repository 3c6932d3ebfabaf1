/* Words for SpeechBrain, whose fit() makes the loader. The settings are those of SpeechBrain's
 * reference. */
#include "analyzer/dialects/dialect.h"

const struct dialect dialect_speechbrain = {
    .id = "speechbrain",
    .name = "SpeechBrain",
    .base = &dialect_pytorch,
    .package = "speechbrain",
    .loader = {"fit(..., train_loader_kwargs=dict(...", "", "num_workers", "))", NULL},
};
