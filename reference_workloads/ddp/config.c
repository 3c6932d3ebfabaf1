/* See config.h. The defaults are tuned, as train_conv's are; every defect undoes one thing. */
#include "reference_workloads/ddp/config.h"

#include "reference_workloads/common/check.h"
#include "reference_workloads/common/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW(name, kind, field, min, max, choices, help)                                            \
    {                                                                                              \
        name, kind, offsetof(struct ddp_config, field), min, max, choices, help                    \
    }

static const struct setting own[] = {
    ROW("ranks", SETTING_INT, ranks, 1, 16, NULL, "processes to start; under torchrun: its own"),
    ROW("mode", SETTING_CHOICE, mode, 0, 0, "ddp|dp",
        "one process per device, or one process that drives all of them"),
    ROW("bucket-mb", SETTING_FLOAT, bucket_mb, 0, 1e6, NULL,
        "MiB of gradients per all-reduce; 0: one for each tensor"),
    ROW("first-bucket-mb", SETTING_FLOAT, first_bucket_mb, 0, 1e6, NULL,
        "MiB of the first bucket, which is ready early in backward"),
    ROW("overlap", SETTING_BOOL, overlap, 0, 1, NULL,
        "all-reduce on a separate stream while backward continues, or after it"),
    ROW("accumulation", SETTING_INT, conv.accumulation, 1, 64, NULL,
        "parts of a batch; their gradients are summed before the update"),
    ROW("no-sync", SETTING_BOOL, no_sync, 0, 1, NULL,
        "all-reduce after the last part only, or after each"),
    ROW("broadcast-buffers", SETTING_BOOL, broadcast_buffers, 0, 1, NULL,
        "rank 0's running statistics to all ranks at the start of each step, or each its own"),
    ROW("slow-rank", SETTING_INT, slow_rank, 0, 15, NULL, "the slow rank"),
    ROW("slow", SETTING_CHOICE, slow, 0, 0, "none|host|batch|loader",
        "why it is slow: host work in each step, 50 % more pictures, or no loader threads"),
    ROW("slow-us", SETTING_INT, slow_us, 0, 1e6, NULL, "host work of the slow rank per step, us"),
};

/* Sizes: a small network on fixed data, so that ranks find room beside each other on a small
 * machine, and steps long enough for hosts that share its cores. */
#define SMALL    "data=fixed;depth=18;batch=64;"
#define EXCHANGE SMALL "image=128;precision=tf32;" /* gradients in FP32 */

static const struct defect defects[] = {
    {"straggler-host", "straggler", SMALL "slow=host;slow_rank=1;slow_us=8000", "slow=none",
     "rank 1 waits for its GPU in each step and does 8 ms of host work, for which the others wait"},
    {"straggler-batch", "straggler", SMALL "slow=batch;slow_rank=1", "slow=none",
     "rank 1 gets 50 % more pictures"},
    {"no-overlap", "exposed-communication", EXCHANGE "overlap=0", NULL,
     "all-reduces only after backward, on the same stream"},
    {"one-bucket", "bucket-size", EXCHANGE "bucket_mb=1000;first_bucket_mb=1000", NULL,
     "puts all gradients into one bucket, which is ready only after backward"},
    {"small-buckets", "bucket-size", SMALL "image=96;batch=32;bucket_mb=0;first_bucket_mb=0", NULL,
     "all-reduces each gradient tensor separately"},
    {"broadcast-buffers", "broadcast-buffers", SMALL "image=64;batch=32;broadcast_buffers=1", NULL,
     "sends running statistics from rank 0 to all ranks at the start of each step"},
    {"missing-no-sync", "no-sync", EXCHANGE "batch=128;accumulation=4;no_sync=0", NULL,
     "all-reduces after each of four parts of a batch"},
    {"dp", "dp-instead-of-ddp", SMALL "image=64;batch=32;mode=dp", NULL,
     "one process copies the weights to all devices, and drives one after another"},
};

enum { MOST_ROWS = 80 };

static struct settings settings(struct setting *rows, struct ddp_config *c)
{
    size_t n;
    const struct setting *base = config_rows(&n);
    memcpy(rows, base, n * sizeof *rows);
    memcpy(rows + n, own, sizeof own);
    return (struct settings){rows, n + sizeof own / sizeof *own, c};
}

static struct ddp_config defaults(void)
{
    struct ddp_config c = {.conv = config_defaults(),
                           .ranks = 2,
                           .bucket_mb = 25,
                           .first_bucket_mb = 1,
                           .overlap = 1,
                           .no_sync = 1,
                           .slow_us = 5000};
    return c;
}

void ddp_config_read(struct ddp_config *c, int argc, char **argv)
{
    struct setting rows[MOST_ROWS];
    *c = defaults();
    struct settings k = settings(rows, c);
    settings_read(&k, defects, sizeof defects / sizeof *defects, argc, argv,
                  "usage: train_ddp [--ranks N] [--defect NAME|list] [options]\n"
                  "Trains a ResNet on several GPUs. Starts its ranks itself, or is started by "
                  "torchrun.\nGPUPROF_APPLY=\"name=value;...\" changes settings, too.\n");
    config_check(&c->conv);
    const char *advice = getenv("GPUPROF_APPLY"); /* refused, where typed by hand it is an error */
    if (c->conv.cuda_graph && advice && strstr(advice, "cuda")) {
        fprintf(stderr,
                "train_ddp: cuda_graph is refused: train_ddp does not capture collectives\n");
        c->conv.cuda_graph = 0;
    }
    if (c->conv.cuda_graph)
        die(2, "cuda-graph does not go with several ranks here");
}

void ddp_config_print(const struct ddp_config *c)
{
    static const char *const always[] = {"ranks", "mode",      "depth",   "image",
                                         "batch", "precision", "overlap", "bucket-mb"};
    struct setting rows[MOST_ROWS];
    struct ddp_config now = *c, before = defaults();
    struct settings k = settings(rows, &now);
    settings_print(&k, &before, always, sizeof always / sizeof *always);
}
