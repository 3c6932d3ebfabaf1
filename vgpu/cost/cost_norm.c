/* cuDNN's batch normalisation of half types in NCHW. One block handles one channel. If the channel
 * fits into shared memory, the block reads it once, otherwise once for each pass, element by
 * element. Fitted to a recording of train_conv (ResNet-50, batch 64, BF16 in NCHW) on an H200. */
#include "core/core.h"

#include <math.h>

int64_t vg_cost_norm_half_nchw(const struct vg_profile *p, double channels, double each,
                               bool backward)
{
    double elements = channels * each, bytes = elements * 2 * (backward ? 3 : 2);
    if (each * 2 * (backward ? 2 : 1) <= 100 << 10) {
        double share = backward ? 0.425 : 0.5;
        if (fmod(each, 4) != 0) /* such as 7 x 7: elements cannot be read in pairs */
            share *= 0.35;
        return (int64_t)(bytes / (p->memory_bytes_per_s * share) * 1e9 + p->kernel_min_ns);
    }
    double clocks = backward ? p->bn_half_bwd_clocks : p->bn_half_fwd_clocks;
    double blocks = fmin(channels, 3.0 * p->sm_count); /* blocks that run at the same time */
    return (int64_t)(elements / blocks * clocks / p->clock_mhz * 1e3 + p->kernel_min_ns);
}
