/* PyTorch's own batch normalisation (ATen's Normalization.cuh). For channels-last, four kernels go
 * through the rows in few blocks; for NCHW, a block has one channel. So the arguments show the
 * size, and the number of threads does not. */
#include "cost/cost_torch.h"

#include <math.h>
#include <string.h>

/* Shares of the memory's rate in ResNet-50 (PyTorch 2.11, bf16, batch 32) on an H200, as means over
 * its 53 layers. Statistics read once and have few loads in flight: a thread with many rows waits
 * for each (`row_ns`, and 4 us; fitted to the same network with batch 8). */
static const struct kernel {
    const char *part;
    /* Index of the argument with the number of rows; the next one has the number of channels. */
    int sizes;
    double passes, share, row_ns;
} kernels[] = {
    {"batch_norm_collect_statistics_channels_last_kernel", 5, 1, 0.107, 230},
    {"batch_norm_transform_input_channels_last_kernel", 7, 2, 0.52, 0},
    {"batch_norm_backward_reduce_channels_last_kernel", 10, 2, 0.285, 155},
    {"batch_norm_backward_elemt_channels_last_kernel", 9, 3, 0.60, 0},
};

/* Waits of a thread for its rows. A block covers as many rows as it has threads in y. */
static double waits(const struct torch_launch *l, const struct kernel *k, int rows)
{
    double own = ceil(rows / ((double)l->block[1] * l->grid[1]));
    return k->row_ns > 0 ? 4e3 + own * k->row_ns : 0;
}

/* Reads arguments only if the name shows that they exist. */
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
        return fmax((double)vg_cost_norm(l->p, each * rows * channels, k->passes, k->share),
                    waits(l, k, rows));
    }
    return -1; /* in a graph, or in another form: use kernels.ini */
}

/* The first argument is a tensor with its sizes: images, channels, places. They have 32 bits each
 * if the name ends so, else 64. */
static double size_of(const struct torch_launch *l, int i)
{
    const char *tensor = l->args && l->args[0] ? l->args[0] : NULL;
    const char *end = strstr(l->name, "EEvN");
    int narrow = 0;
    int64_t wide = 0;
    if (!tensor || !end)
        return 0;
    if (end[-1] == 'i') {
        memcpy(&narrow, tensor + 8 + 4 * i, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, tensor + 8 + 8 * i, sizeof wide);
    return (double)wide;
}

/* Elements per second of a multiprocessor: with one block, and with more, up to `most`. Fitted to
 * ResNet-50 (PyTorch 2.11, bf16, batch 32) on an H200; each layer as the mean of those with as many
 * channels. */
static const struct by_channel {
    const char *part;
    double one, most;
} by_channel[] = {{"batch_norm_collect_statistics_kernel", 1.4e9, 3e9},
                  {"batch_norm_backward_kernel", 0.57e9, 1.05e9}};

double torch_norm(const struct torch_launch *l)
{
    double channels = size_of(l, 1), elements = size_of(l, 0) * channels * size_of(l, 2);
    if (elements <= 0)
        return -1;
    for (size_t i = 0; i < sizeof by_channel / sizeof *by_channel; i++) {
        if (!strstr(l->name, by_channel[i].part))
            continue;
        double blocks = channels / l->p->sm_count; /* per multiprocessor */
        double rate = blocks < 1 ? blocks * by_channel[i].one
                                 : fmin(by_channel[i].one * sqrt(blocks), by_channel[i].most);
        return elements / (rate * l->p->sm_count) * 1e9 + l->p->kernel_min_ns;
    }
    if (!strstr(l->name, "batch_norm_transform_input_kernel"))
        return -1;
    double each = strstr(l->name, "BFloat16") || strstr(l->name, "c104Half") ? 2 : 4;
    return (double)vg_cost_norm(l->p, each * elements, 2, 0.35) + l->blocks * l->p->block_start_ns;
}
