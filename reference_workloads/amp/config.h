/* What train_amp can be told beyond train_conv's settings. */
#ifndef AMP_CONFIG_H
#define AMP_CONFIG_H

#include "reference_workloads/conv/config.h"

enum scaler { SCALER_FUSED, SCALER_PER_TENSOR, SCALER_SYNC };

struct amp_config {
    struct config conv; /* first: its rows are used as they are */
    int scaler, weight_casts, growth_interval, overflow_every;
    float initial_scale;
};

void amp_config_read(struct amp_config *c, int argc, char **argv);
void amp_config_print(const struct amp_config *c);

#endif
