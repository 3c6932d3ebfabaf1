/* PyTorch's own batch normalisation of channels-last tensors (ATen's Normalization.cuh): four
 * kernels that walk over rows in few blocks, so that threads do not tell the size; the arguments
 * do. */
#include "reference_workloads/vgpu/cost/cost_torch.h"

#include <string.h>

/* Shares of the memory's rate in ResNet-50 (PyTorch 2.11, bf16, batch 32) on an H200, means over
 * its 53 layers. Statistics read once and keep few loads in flight. */
static const struct kernel {
    const char *part;
    int sizes; /* the argument that says how many rows; how many channels: the next */
    double passes, share;
} kernels[] = {
    {"batch_norm_collect_statistics_channels_last_kernel", 5, 1, 0.107},
    {"batch_norm_transform_input_channels_last_kernel", 7, 2, 0.52},
    {"batch_norm_backward_reduce_channels_last_kernel", 10, 2, 0.285},
    {"batch_norm_backward_elemt_channels_last_kernel", 9, 3, 0.60},
};

/* What follows the launch's arguments is read only where a name promises it. */
double torch_channels_last_norm(const struct torch_launch *l)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const struct kernel *k = &kernels[i];
        if (!strstr(l->name, k->part))
            continue;
        int rows = 0, channels = 0;
        if (l->args && l->args[k->sizes] && l->args[k->sizes + 1]) {
            memcpy(&rows, l->args[k->sizes], sizeof rows);
            memcpy(&channels, l->args[k->sizes + 1], sizeof channels);
        }
        if (rows < 1 || channels < 1)
            break;
        double each = strstr(l->name, "BFloat16") || strstr(l->name, "c104Half") ? 2 : 4;
        return (double)vg_cost_norm(l->p, each * rows * channels, k->passes, k->share);
    }
    return -1; /* in a graph, or another form: by kernels.ini */
}
