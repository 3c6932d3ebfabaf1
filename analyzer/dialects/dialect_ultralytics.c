/* Words for Ultralytics, whose train() makes loader and loop. The settings are those of its
 * reference. */
#include "analyzer/dialects/dialect.h"

const struct dialect dialect_ultralytics = {
    .id = "ultralytics",
    .name = "Ultralytics",
    .base = &dialect_pytorch,
    .package = "ultralytics",
    .no_workers_on_cpu = true,
    .loader = {"train(...", "", "workers", ")", ""},
    .phrases = {{"autocast", "train(..., amp=True)"},
                {"compile", "train(..., compile=True)"},
                {"compile_to_graphs", "train(..., compile='reduce-overhead')"}},
};
