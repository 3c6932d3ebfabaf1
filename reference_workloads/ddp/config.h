/* What train_ddp can be told beyond train_conv's settings. */
#ifndef DDP_CONFIG_H
#define DDP_CONFIG_H

#include "reference_workloads/conv/config.h"

enum mode { MODE_DDP, MODE_DP };
enum slow { SLOW_NONE, SLOW_HOST, SLOW_BATCH, SLOW_LOADER };

struct ddp_config {
    struct config conv; /* first: its rows are used as they are */
    int ranks, mode;
    float bucket_mb, first_bucket_mb;
    int overlap, no_sync, broadcast_buffers;
    int slow_rank, slow, slow_us;
};

void ddp_config_read(struct ddp_config *c, int argc, char **argv);
void ddp_config_print(const struct ddp_config *c);

#endif
